"""Which runs of a comparison are finished, also while another command finishes them."""

import os
from pathlib import Path

import pytest
import yaml

import families
from labelled import WORDS, labelled_rows, write_csv
from salience.comparison import comparing
from salience.comparison.comparing import Cell, compare
from salience.comparison.grid import Condition
from salience.errors import InputError
from salience.runs.folder import work_of
from salience.training.recipe import Recipe

WANTED = Recipe(data="texts.csv", steps=3, checksums={"texts.csv": "0"})


@pytest.fixture
def cell(tmp_path) -> Cell:
    return Cell(Condition("texts", "tiny"), "plain", 0, "plain, seed 0", WANTED, WANTED, tmp_path / "plain-0")


def run_in(place: Path, **changed) -> None:
    place.mkdir()
    (place / "recipe.yaml").write_text(yaml.safe_dump(WANTED.as_mapping() | changed))


def test_a_run_is_kept_when_it_is_finished(cell):
    assert not cell.is_done()
    run_in(work_of(cell.folder))
    assert not cell.is_done()
    os.replace(work_of(cell.folder), cell.folder)
    assert cell.is_done()
    run_in(work_of(cell.folder))  # a process was killed before it could remove it
    assert cell.is_done() and not work_of(cell.folder).exists()


@pytest.mark.parametrize("place", [lambda folder: folder, work_of], ids=["finished", "unfinished"])
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"steps": 4}, "plain-0 was run with steps=4, not 3: choose another --output"),
        ({"checksums": {"texts.csv": "1"}}, r"texts\.csv changed after .*plain-0 had been run: choose another"),
        ({"plain_share": 0.375, "r_drop": 0.0}, r"plain-0: plain_share=0\.375"),
    ],
)
def test_a_run_with_other_settings_is_refused(place, changed, said, cell):
    run_in(place(cell.folder), **changed)
    with pytest.raises(InputError, match=said):
        cell.is_done()


def test_a_run_that_is_finished_while_it_is_looked_for_is_kept(cell, monkeypatch):
    read = comparing.read_recipe
    run_in(work_of(cell.folder))

    def finished_first(file):
        if file.parent == work_of(cell.folder):
            os.replace(file.parent, cell.folder)
        return read(file)

    monkeypatch.setattr(comparing, "read_recipe", finished_first)
    assert cell.is_done()


def test_a_damaged_run_is_named_with_what_to_do(cell):
    run_in(cell.folder)
    (cell.folder / "metrics.json").write_text("{")
    with pytest.raises(InputError, match=r"plain-0 is damaged .*remove this folder"):
        cell.read()
    (cell.folder / "metrics.json").write_text('{"rows": {"training": 9}}')
    with pytest.raises(InputError, match=r"no test part.*--test"):
        cell.read()


@pytest.mark.whole
def test_a_single_test_row_is_compared(tmp_path):
    """Some scores do not exist then: there is no calibration on the other half of the rows."""
    rows, one = (write_csv(tmp_path / f"{count}.csv", labelled_rows(count)) for count in (12, 1))
    model = families.save_tiny_model(tmp_path / "tiny", list(WORDS.values()))
    base = Recipe(data=str(rows), test=str(one), model=str(model), device="cpu", steps=1)
    found = compare(base, {"a": {}, "b": {"learning_rate": 0.1}}, [0, 1], tmp_path / "out", budget="steps")
    assert found is not None and (tmp_path / "out" / "results.csv").is_file()


def test_with_several_jobs_the_longest_runs_begin_first(tmp_path, monkeypatch):
    class Begun(Exception): ...

    def seen(left, *others):
        raise Begun([job.name for job in left])

    monkeypatch.setattr(comparing, "run_jobs", seen)
    rows = write_csv(tmp_path / "rows.csv", labelled_rows(60))
    model = families.save_tiny_model(tmp_path / "tiny", list(WORDS.values()))
    base = Recipe(data=str(rows), test=str(rows), model=str(model), estimate="none", device="cpu")
    for jobs, expected in ((1, ["a", "b", "a", "b"]), (2, ["b", "b", "a", "a"])):
        with pytest.raises(Begun) as begun:
            compare(base, {"a": {"steps": 2}, "b": {"steps": 9}}, [0, 1], tmp_path / "out", jobs=jobs, budget="steps")
        assert [name.partition(",")[0] for name in begun.value.args[0]][:4] == expected
