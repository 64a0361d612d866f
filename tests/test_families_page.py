"""Every type of model that classifies texts: what their page says works is right, and the rest is refused."""

import re

import pytest
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES as MAPPING

from families_page import FILE, LEFT_OUT, TYPES, families_page, row_of, row_on_page

PAGE = FILE.read_text(encoding="utf-8")
of_this_version = f"with transformers {transformers.__version__}." in PAGE


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", sorted(TYPES.keys() & MAPPING.keys()))
def test_a_type_works_as_its_page_says(kind):
    """Other versions of transformers may refuse other things, but end in no fault either."""
    found = row_of(kind)
    assert not of_this_version or found == row_on_page(kind, PAGE)


def test_the_page_has_every_type_with_its_cells():
    rows = {kind: row_on_page(kind, PAGE) for kind in sorted(TYPES)}
    version = re.search(r"with transformers (\S+)\.\n", PAGE).group(1)
    assert families_page(rows, version) == PAGE


@pytest.mark.skipif(not of_this_version, reason="other versions have other types")
def test_every_other_type_is_left_out_for_a_reason():
    left_out = [kind for kinds in LEFT_OUT.values() for kind in kinds.split()]
    assert sorted([*TYPES, *left_out]) == sorted(MAPPING)
