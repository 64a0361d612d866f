"""One rule for texts that are not valid Unicode, and one for values that are missing."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from salience.data.values import text_of, well_formed, well_formed_value
from salience.errors import InputError


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.float32("nan"), Decimal("nan"), pd.NA, pd.NaT, "", " "], ids=repr
)
def test_missing_values_are_no_texts(value):
    assert text_of(value) is None


@pytest.mark.parametrize(("value", "text"), [("nan", "nan"), (0, "0"), (1.5, "1.5"), (np.int64(7), "7")])
def test_numbers_are_texts(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("é 🙂 \ufeff", "é 🙂 \ufeff"),
        ("\ufeffé", "\ufeffé"),
        ("half \ud83d", "half \ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf\ufffd"),
    ],
)
def test_texts_become_valid_unicode(text, expected):
    assert well_formed(text) == expected
    assert well_formed(text).encode()


def test_texts_in_lists_and_objects_do_too():
    half, mended = "\ud83d", "\ufffd"
    assert well_formed_value({half: [half, 1, None, {"a": half}]}) == {mended: [mended, 1, None, {"a": mended}]}
    with pytest.raises(InputError, match="two names"):
        well_formed_value({half: 1, "\udfff": 2})
    with pytest.raises(InputError, match="100 levels"):
        well_formed_value([[]], depth=1)
