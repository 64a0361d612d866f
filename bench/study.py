"""A study of this project: variants of the recipe, compared on development sets by `salience compare`.

    python bench/study.py steps --data-dir DATA --jobs 2
    python bench/study.py precision --data-dir DATA --sets trec mr --sizes 500 --seeds 0 1 2

A study is a list of runs, which `bench/studies.py` declares, and the report of the comparison. Its runs are in
OUTPUT/STUDY; those that are finished are not made again. They are added to the table RESULTS/STUDY.csv, from which
`bench/study_table.py` prints the differences, so that a study can be made in parts. The rows to train on and to test
on are both of the training files: see `bench/development.py`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from development import SETS, development_set, rows_of
from foreign import Foreign
from salience.cli.compare import show_and_report
from salience.comparison.comparing import compare
from salience.data.texts import Texts
from salience.training.recipe import Recipe
from studies import STUDIES


def main() -> None:
    """Runs a study and prints its comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=Path("runs/studies"))
    parser.add_argument("--results", type=Path, default=Path("results/studies"))
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--sets", nargs="+", choices=SETS, help="default: those of the study")
    parser.add_argument("--sizes", nargs="+", type=int, help="default: those of the study")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--variants", nargs="+", help="some of the study's variants, the baseline first")
    parser.add_argument("--references", nargs="*", help="rows beside the variants, such as tf-idf")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    study = STUDIES[options.study]
    place = options.output / options.study
    sets = {
        name: development_set(name, options.data_dir, place / "data", study.wrong)
        for name in options.sets or study.sets
    }
    measures = dict(study.measures)
    if study.foreign:
        files = development_set(study.foreign, options.data_dir, place / "data")
        measures["foreign"] = Foreign(study.foreign, Texts.of([row["text"] for row in rows_of(files["test"])]))
    # A variant differs from the recipe with all steps and the trained head, by which most studies were made.
    settings = {"effort": "best", "head_end": "trained"} | study.settings
    base = Recipe(next(iter(sets.values()))["data"], model=options.model, precision=options.precision, **settings)
    references = study.references if options.references is None else options.references
    comparison = compare(
        base, {name: study.variants[name] for name in options.variants or study.variants}, options.seeds, place,
        sizes=options.sizes or study.sizes, data_sets=sets, jobs=options.jobs, references=references,
        budget=study.budget, measures=measures, heat_maps=False,
    )  # fmt: skip
    print(study.question)
    assert comparison is not None  # all parts are made here
    show_and_report(comparison, place)
    options.results.mkdir(parents=True, exist_ok=True)
    add_runs(place / "results.csv", options.results / f"{options.study}.csv")


def add_runs(new: Path, table: Path) -> None:
    """Adds the runs of a grid to the table of a study; they take the place of earlier runs of the same settings."""
    parts = [pd.read_csv(file) for file in (table, new) if file.exists()]
    key = ["data", "model", "size", "method", "seed"]
    pd.concat(parts).drop_duplicates(key, keep="last").to_csv(table, index=False)


if __name__ == "__main__":
    main()
