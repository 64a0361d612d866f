"""Tables that compare mixing methods over several numbers of training rows, and their curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from salience.comparison.evidence import LearningCurves
from salience.comparison.statistics import spread
from salience.report.comparison_pictures import learning_curves
from salience.report.pictures import save
from salience.reproduce.mixing_report import Claim, Published, by_seed, over_sets, table
from salience.reproduce.mixing_tables import Cell, MixingTable
from salience.reproduce.table import Row, Table, sets_of


@dataclass(frozen=True)
class MixingCurves(MixingTable):
    """A comparison of methods on several data sets with growing parts of the training rows."""

    def told(self, published: Published, rows: list[Row]) -> str:
        """The claims by the number of training rows, then the accuracies on each data set."""
        parts = {"Claims, differences in points, means over the data sets": claims_by_rows(self.claims, rows)}
        for name in sets_of(rows):
            parts[f"Accuracy in percent, {name}"] = accuracies_by_rows(list(self.methods), name, rows)
        return "\n\n".join(f"{heading}\n\n{found}" for heading, found in parts.items() if found)

    def pictures(self, rows: list[Row], folder: Path) -> Iterator[str]:
        """A curve for each method on each data set of each encoder, over the sizes at which all of them have runs."""
        for model in dict.fromkeys(row["model"] for row in rows):
            own = [row for row in rows if row["model"] == model]
            for name in sets_of(own):
                of_set = [row for row in own if row["set"] == name]
                curves = curves_of(list(self.methods), name, of_set)
                if len(curves.rows) > 1:
                    drawing = learning_curves(curves)
                    file = folder / f"curves-{name}-{Path(model).name}"
                    save(drawing.draw, file, drawing.size, drawing.panels)
                    yield file.name

    def table(self, name: str, paper: str) -> Table[Cell]:
        """The table as `salience reproduce` runs it, with pictures."""
        return replace(super().table(name, paper), pictures=self.pictures)


def sizes_of(rows: Sequence[Row]) -> list[int]:
    """The numbers of training rows, ascending."""
    return sorted({row["rows"] for row in rows})


def of_size(rows: Sequence[Row], size: int) -> list[Row]:
    """The runs with so many training rows."""
    return [row for row in rows if row["rows"] == size]


def claims_by_rows(claims: Sequence[Claim], rows: list[Row]) -> str:
    """A line for each claim: at each number of training rows, our difference and what it says of the claim."""
    sizes = sizes_of(rows)
    lines = []
    for claim in claims:
        found = [over_sets(claim.better, claim.worse, sets_of(rows), of_size(rows, size))[0] for size in sizes]
        if any(found):
            lines.append([claim.text, *(f"{each}, {claim.verdict(each)}" if each else "" for each in found)])
    return table("claim", [f"{size:,} rows" for size in sizes], lines)


def accuracies_by_rows(methods: Sequence[str], name: str, rows: list[Row]) -> str:
    """A line for each method that has a run on a set: its accuracy at each number of training rows."""
    own = [row for row in rows if row["set"] == name]
    sizes = sizes_of(own)
    lines = [[method, *(cell(method, name, of_size(own, size)) for size in sizes)]
             for method in methods if any(row["method"] == method for row in own)]  # fmt: skip
    return table("method", [f"{size:,} rows" for size in sizes], lines)


def cell(method: str, name: str, rows: list[Row]) -> str:
    """Mean and standard deviation over the seeds; empty without a run."""
    values = list(by_seed(method, name, rows).values())
    return spread(values) if values else ""


def curves_of(methods: Sequence[str], name: str, rows: list[Row]) -> LearningCurves:
    """The accuracies in percent at the numbers of training rows at which every method of the set has a run."""
    measured = [method for method in methods if any(row["method"] == method for row in rows)]
    complete = [size for size in sizes_of(rows) if all(by_seed(each, name, of_size(rows, size)) for each in measured)]
    values = {
        method: [list(by_seed(method, name, of_size(rows, size)).values()) for size in complete] for method in measured
    }
    return LearningCurves(name, complete, values)
