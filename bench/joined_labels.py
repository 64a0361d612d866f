"""A constructed data set of texts with several labels: one text, or two joined, of a set whose texts have one label.

    python bench/joined_labels.py --data-dir DATA --output FOLDER [--set ag_news] [--rows 4000] [--tested 500]

The labels of a joined text are the labels of both: two, or one if they are equal. Half of the texts are single ones.
No text is in both files, and none is used twice. This is a constructed set: the parts of a text are easier to tell
apart than the subjects of a real text, no label goes with another more often than by chance, and no text has no label.

It writes `train.jsonl` and `test.jsonl`, which `salience compare` reads:

    salience compare FOLDER/train.jsonl --test FOLDER/test.jsonl --sizes 200 --methods plain,senmixup --seeds 0,1
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from development import JOINED_ROWS, JOINED_TESTED, development_set, joined, rows_of
from salience.files import write_lines


def main() -> None:
    """Writes both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    parser.add_argument("--set", default="ag_news", help="a set of bench/development.py")
    parser.add_argument("--rows", type=int, default=JOINED_ROWS, help="texts to draw training texts from")
    parser.add_argument("--tested", type=int, default=JOINED_TESTED, help="test texts")
    parser.add_argument("--seed", type=int, default=0, help="of what is joined")
    options = parser.parse_args()
    with TemporaryDirectory() as place:
        files = development_set(options.set, options.data_dir, Path(place))
        rows = {role: rows_of(file) for role, file in files.items()}
    options.output.mkdir(parents=True, exist_ok=True)
    for name, role, count in (("train", "data", options.rows), ("test", "test", options.tested)):
        found = joined(rows[role], count, options.seed)
        write_lines(options.output / f"{name}.jsonl", found)
        print(f"{name}: {len(found):,} texts, {np.mean([len(each['label']) for each in found]):.2f} labels a text")


if __name__ == "__main__":
    main()
