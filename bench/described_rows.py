"""Do descriptions of the labels help where few rows are labelled? The default recipe with and without them.

    python bench/described_rows.py --data-dir DATA --sizes 20 50 --seeds 0 1

The descriptions are those of `bench/descriptions.py`: the names of the labels, or a sentence for each label, which was
written before anything was measured. "Head alone" trains nothing after the head that leans on them. The runs are added
to RESULTS/descriptions.csv, of which `bench/study_table.py` prints the differences.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from descriptions import SENTENCES
from development import development_set
from salience.comparison.comparing import compare
from salience.training.recipe import Recipe
from study import add_runs


def main() -> None:
    """Runs the study, set by set: the sets have files of descriptions of their own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=Path("runs/studies/descriptions"))
    parser.add_argument("--results", type=Path, default=Path("results/studies"))
    parser.add_argument("--sets", nargs="+", choices=SENTENCES, default=list(SENTENCES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[20, 50])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    for name in options.sets:
        files = development_set(name, options.data_dir, options.output / "data")
        described = options.output / "data" / f"{name}.yaml"
        described.write_text(yaml.safe_dump(SENTENCES[name]), encoding="utf-8")
        compare(
            Recipe(files["data"], precision=options.precision),
            {
                "default": {}, "names": {"label_descriptions": "names"},
                "sentences": (with_sentences := {"label_descriptions": str(described)}),
                "sentences, head alone": with_sentences | {"trained_layers": 0, "effort": None},
            },
            options.seeds, options.output / name, sizes=options.sizes, data_sets={name: files}, jobs=options.jobs,
            heat_maps=False,
        )  # fmt: skip
        add_runs(options.output / name / "results.csv", options.results / "descriptions.csv")


if __name__ == "__main__":
    main()
