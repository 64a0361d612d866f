"""The file of thresholds beside a checkpoint: what it decides, and one line for whatever is wrong with it."""

import json

import numpy as np
import pytest

from salience.classify.abstaining import Thresholds, read_thresholds
from salience.errors import InputError
from salience.runs.folder import ABSTENTION

LABELS = ["joy", "fear"]


def test_a_text_is_decided_above_the_threshold_of_its_label(tmp_path):
    written = Thresholds({"joy": 0.6, "fear": 1.0}, 0.9, 0.95)
    (tmp_path / ABSTENTION).write_text(json.dumps(written.as_json()))
    assert read_thresholds(tmp_path, LABELS) == written
    probabilities = np.array([[0.6, 0.4], [0.61, 0.39], [0.0, 1.0], [np.nan, np.nan]])
    assert written.decided(probabilities, LABELS).tolist() == [False, True, False, False]
    assert read_thresholds(tmp_path / "none", LABELS) is None


@pytest.mark.parametrize(
    "content",
    [
        "", "[" * 100_000, "[]", '{"thresholds": 3}', '{"thresholds": {"joy": 0.5}}',
        '{"thresholds": {"joy": 0.5, "fear": "high"}}', '{"thresholds": {"joy": 0.5, "fear": 2}}',
        '{"thresholds": {"joy": 0.5, "fear": 0}, "certainty": "all"}',
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_file_is_one_line(content, tmp_path):
    (tmp_path / ABSTENTION).write_text(content)
    with pytest.raises(InputError, match=f"{ABSTENTION} is damaged: .*--no-abstain") as error:
        read_thresholds(tmp_path, LABELS)
    assert "\n" not in str(error.value)
