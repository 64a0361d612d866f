"""The same trainings in two folders of results files, from two machines, say: how much do their accuracies differ?

    python bench/same_cells.py results/cpu results

A training is the same where `salience reproduce` tells it by the same values. Mean and standard deviation are of the
differences in percentage points. A single training deviates by the standard deviation over the square root of two: its
rows and its first weights are the same, but a machine draws its own dropout and batches have their own rounding.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from salience.papers.table import Results, Row
from salience.papers.tables import TABLES


def differences(table: str, one: Path, other: Path) -> np.ndarray:
    """The accuracies of the second file less those of the first, in points, of the trainings that both have."""
    identity = TABLES[table]().identity

    def by_training(file: Path) -> dict[tuple, Row]:
        return {tuple(row[name] for name in identity): row for row in Results(file, identity, ("accuracy",)).rows()}

    first, second = by_training(one), by_training(other)
    return np.array([100 * (second[key]["accuracy"] - first[key]["accuracy"]) for key in first if key in second])


def report(one: Path, other: Path) -> str:
    """A row for each table of which both folders have trainings."""
    lines = ["| table | trainings | mean | standard deviation | largest |", "|---|---|---|---|---|"]
    for file in sorted(one.glob("*.jsonl")):
        found = differences(file.stem, file, other / file.name)
        if len(found) > 1:
            lines.append(
                f"| {file.stem} | {len(found)} | {found.mean():+.2f} | {found.std(ddof=1):.2f} | "
                f"{np.abs(found).max():.1f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("one", type=Path)
    parser.add_argument("other", type=Path)
    options = parser.parse_args()
    print(report(options.one, options.other))


if __name__ == "__main__":
    main()
