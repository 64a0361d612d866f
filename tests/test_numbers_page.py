"""The numbers of docs/concepts/numbers.md are what its program prints."""

import re
from math import sqrt

import pytest
from scipy.stats import norm

from documents import ROOT
from test_readme import python_of

PAGE = (ROOT / "docs" / "concepts" / "numbers.md").read_text(encoding="utf-8")


@pytest.mark.whole
def test_the_calibration_errors_of_calibrated_models(capsys):
    (program,) = python_of(PAGE)
    exec(program, {})
    printed = [re.findall(r"[\d.]+", line) for line in capsys.readouterr().out.splitlines()]
    rows = re.findall(r"^\| ([\d,]+) \| ([\d.]+) ± ([\d.]+) \| ([\d.]+) ± ([\d.]+) \|$", PAGE, re.M)
    assert len(rows) == len(printed) == 4
    for (count, *stated), (number, *found) in zip(rows, printed, strict=True):
        assert count.replace(",", "") == number
        order = [stated[0], stated[2], stated[1], stated[3]]
        assert list(map(float, order)) == pytest.approx(list(map(float, found)), abs=1e-9)


def test_the_intervals_of_an_accuracy():
    """Wilson's formula (1927), written out."""
    rows = re.findall(r"^\| ([\d,]+) \| ([\d.]+) to ([\d.]+) \|$", PAGE, re.M)
    assert len(rows) == 5
    z = norm.ppf(0.975)
    for count, *bounds in rows:
        n, p = int(count.replace(",", "")), 0.8
        middle, half = p + z * z / 2 / n, z * sqrt(p * (1 - p) / n + z * z / 4 / n / n)
        expected = [(middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)]
        assert list(map(float, bounds)) == pytest.approx(expected, abs=0.0051)
