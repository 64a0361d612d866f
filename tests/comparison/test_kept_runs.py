"""Which runs of a comparison are finished, also while another command finishes them."""

import os

import pytest
import yaml

from salience.comparison import kept_runs
from salience.comparison.grid import data_sets_of, setting_variants
from salience.comparison.kept_runs import is_kept
from salience.errors import InputError
from salience.runs.folder import work_of
from salience.training.recipe import Recipe

WANTED = Recipe(data="texts.csv", steps=3)


def run_in(place, recipe) -> None:
    place.mkdir()
    (place / "recipe.yaml").write_text(yaml.safe_dump(recipe.as_mapping()))


def test_a_run_is_kept_when_it_is_finished(tmp_path):
    folder = tmp_path / "plain-0"
    assert not is_kept(WANTED, folder)
    run_in(work_of(folder), WANTED)
    assert not is_kept(WANTED, folder)
    os.replace(work_of(folder), folder)
    assert is_kept(WANTED, folder)


@pytest.mark.parametrize("place", [lambda folder: folder, work_of], ids=["finished", "unfinished"])
def test_a_run_with_other_settings_is_refused(place, tmp_path):
    folder = tmp_path / "plain-0"
    run_in(place(folder), Recipe(data="texts.csv", steps=4))
    with pytest.raises(InputError, match="plain-0 was run with steps=4, not 3: choose another --output"):
        is_kept(WANTED, folder)


def test_a_run_that_used_what_is_retired_is_refused(tmp_path):
    folder = tmp_path / "ssmix-0"
    run_in(folder, WANTED)
    with (folder / "recipe.yaml").open("a") as recipe:
        recipe.write("r_drop: 0.0\nplain_share: 0.375\n")
    with pytest.raises(InputError, match=r"ssmix-0: plain_share=0\.375"):
        is_kept(WANTED, folder)


def test_retired_settings_of_variants_and_data_sets_say_what_to_do_instead():
    for read in (
        lambda: setting_variants(WANTED, {"one": {}, "two": {"plain_share": 0.3}}, "grid.yaml"),
        lambda: data_sets_of({"two": {"data": "a.csv", "test": "b.csv", "unlabelled": "c.csv"}}, "grid.yaml"),
    ):
        with pytest.raises(InputError, match=r"grid\.yaml, two: (plain_share|unlabelled)=.* is no longer offered: "):
            read()


def test_a_run_that_is_finished_while_it_is_looked_for_is_kept(tmp_path, monkeypatch):
    folder, read = tmp_path / "plain-0", kept_runs.read_recipe
    run_in(work_of(folder), WANTED)

    def finished_first(file):
        if file.parent == work_of(folder):
            os.replace(file.parent, folder)
        return read(file)

    monkeypatch.setattr(kept_runs, "read_recipe", finished_first)
    assert is_kept(WANTED, folder)
