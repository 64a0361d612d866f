"""The study of descriptions: each set has a file of its own sentences, and the runs are added to one table."""

import sys

import pandas as pd
import yaml

import described_rows
from descriptions import SENTENCES


def test_every_set_is_compared_with_its_own_sentences(tmp_path, monkeypatch):
    asked = []

    def compare(recipe, variants, seeds, place, *, sizes, data_sets, jobs, heat_maps):
        assert not heat_maps  # nobody reads them
        asked.append((recipe, variants, seeds, sizes, data_sets))
        place.mkdir(parents=True)
        rows = [(*data_sets, "minilm", sizes[0], variant, seed) for variant in variants for seed in seeds]
        pd.DataFrame(rows, columns=["data", "model", "size", "method", "seed"]).to_csv(
            place / "results.csv", index=False
        )

    monkeypatch.setattr(described_rows, "compare", compare)
    monkeypatch.setattr(described_rows, "development_set", lambda name, data_dir, place: written(name, place))
    command = ["described_rows.py", "--data-dir", "data", "--output", str(tmp_path / "out"), "--sets", "sst2", "subj",
               "--results", str(tmp_path / "results"), "--sizes", "20", "--seeds", "3", "4"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", command)
    described_rows.main()
    assert [(list(sets), seeds, sizes) for _, _, seeds, sizes, sets in asked] == [
        (["sst2"], [3, 4], [20]), (["subj"], [3, 4], [20]),
    ]  # fmt: skip
    for recipe, variants, _, _, sets in asked:
        (name,) = sets
        assert recipe.data == sets[name]["data"] and variants["default"] == {}
        assert variants["names"] == {"label_descriptions": "names"}
        with open(variants["sentences"]["label_descriptions"], encoding="utf-8") as file:
            assert yaml.safe_load(file) == SENTENCES[name]
    table = pd.read_csv(tmp_path / "results" / "descriptions.csv")
    assert table.groupby(["data", "method"]).size().to_dict() == {
        (name, variant): 2
        for name in ("sst2", "subj")
        for variant in ("default", "names", "sentences", "sentences, head alone")
    }


def written(name, place) -> dict[str, str]:
    place.mkdir(parents=True, exist_ok=True)
    return {"data": str(place / f"{name}-data.csv"), "test": str(place / f"{name}-test.csv")}
