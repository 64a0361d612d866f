"""How a table of mixing methods is printed: accuracies, differences from the baseline, and the paper's claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from salience.comparison.paired_difference import PairedDifference, paired_difference
from salience.comparison.statistics import Difference, difference, spread
from salience.reproduce.table import Row

Published = Mapping[str, Mapping[str, float]]  # data set to method to accuracy in percent


@dataclass(frozen=True)
class Claim:
    """What a paper says: one method is better than another.

    Attributes:
        text: the claim in words.
        better, worse: methods as the table names them.
    """

    text: str
    better: str
    worse: str

    def verdict(self, found: Difference, told: float | None = None) -> str:
        """What the difference in accuracy says of the claim, by its interval.

        Args:
            found: in points.
            told: the paper's difference in points, if it is known. A gain that would fit into the interval leaves the
                claim open.
        """
        if found.beyond_chance:
            return "confirmed" if found.mean > 0 else "contradicted"
        if told is None or told <= 0:
            return "not seen"
        return "open" if found.low is None or found.high is None or found.low <= told <= found.high else "not seen"


def report(
    methods: Sequence[str], published: Published, claims: Sequence[Claim], rows: list[Row],
    told: Callable[[int], str] = "{:,} training rows".format,
) -> str:  # fmt: skip
    """The claims first, then for each number of training rows the accuracies and the differences from the baseline.

    Methods without a run are left out, and tables without a line.

    Args:
        methods: of the table; the first is the baseline.
        published: of the paper.
        claims: of the paper.
        rows: the runs.
        told: a number of training rows in words.
    """
    parts = []
    for size in sorted({row["rows"] for row in rows}):
        of_size = [row for row in rows if row["rows"] == size]
        names = [name for name in published if any(row["set"] == name for row in of_size)]
        measured = [method for method in methods if any(row["method"] == method for row in of_size)]
        title = told(size)
        tables = {
            f"Claims, {title}": claimed(claims, names, published, of_size),
            f"Accuracy in percent, {title}; in brackets the paper's": accuracies(measured, names, published, of_size),
            f"Difference from {methods[0]} in points, {title}":
                differences(methods[0], measured, names, published, of_size),
        }  # fmt: skip
        parts += [part for heading, found in tables.items() if found for part in (heading, "", found, "")]
    return "\n".join(parts).strip()


def claimed(claims: Sequence[Claim], names: Sequence[str], published: Published, rows: list[Row]) -> str:
    """A line for each claim: the paper's mean difference and ours, over the data sets for which both are known.

    If there are none, ours is over all data sets that have both methods, and the paper's is left out.
    """
    lines = []
    for claim in claims:
        told = [name for name in names if {claim.better, claim.worse} <= {*published[name]}]
        found, sets = over_sets(claim.better, claim.worse, told, rows)
        if found is None:
            found, sets = over_sets(claim.better, claim.worse, names, rows)
        if found is not None:
            gains = [published[name][claim.better] - published[name][claim.worse] for name in sets if name in told]
            gain = fmean(gains) if gains else None
            paper = "" if gain is None else f"{gain:+.2f}"
            lines.append([claim.text, paper, str(found), str(len(sets)), claim.verdict(found, gain)])
    return table("claim", ["paper", "here", "data sets", "verdict"], lines)


def accuracies(methods: Sequence[str], names: Sequence[str], published: Published, rows: list[Row]) -> str:
    """Mean and standard deviation over the seeds of each method on each set."""

    def cell(method: str, name: str) -> str:
        values = list(by_seed(method, name, rows).values())
        told = published[name].get(method)
        return " ".join([spread(values) if values else "", "" if told is None else f"({told:.1f})"]).strip()

    return table("method", names, [[method, *(cell(method, name) for name in names)] for method in methods])


def differences(
    baseline: str, methods: Sequence[str], names: Sequence[str], published: Published, rows: list[Row]
) -> str:
    """Differences from the baseline, paired by seed, with 95 % intervals; and their mean over the sets."""
    lines = []
    for method in [method for method in methods if method != baseline]:
        cells = []
        for name in names:
            own, base = by_seed(method, name, rows), by_seed(baseline, name, rows)
            seeds = [seed for seed in own if seed in base]
            found = difference([own[seed] for seed in seeds], [base[seed] for seed in seeds]) if seeds else None
            told = published[name]
            paper = f" ({told[method] - told[baseline]:+.1f})" if {method, baseline} <= {*told} else ""
            cells.append(f"{found}{paper}" if found else paper.strip())
        overall, _ = over_sets(method, baseline, names, rows)
        lines.append([method, *cells, str(overall or "")])
    return table("method", [*names, "mean over the sets"], lines)


def over_sets(
    method: str, baseline: str, names: Sequence[str], rows: list[Row]
) -> tuple[PairedDifference | None, list[str]]:
    """The mean over data sets of the difference of two methods, of other sets like these; and the sets that have both.

    Only seeds that both methods have on a set count.
    """
    pairs = {name: (by_seed(method, name, rows), by_seed(baseline, name, rows)) for name in names}
    common = {name: sorted({*own} & {*base}) for name, (own, base) in pairs.items()}
    sets = [name for name in names if common[name]]
    if not sets:
        return None, []
    own, base = ([[pairs[name][side][seed] for seed in common[name]] for name in sets] for side in (0, 1))
    return paired_difference(own, base), sets


def by_seed(method: str, name: str, rows: list[Row]) -> dict[int, float]:
    """The accuracies in percent of a method on a set, by seed."""
    return {
        row["seed"]: 100 * row["accuracy"]
        for row in sorted(rows, key=lambda row: row["seed"]) if (row["method"], row["set"]) == (method, name)
    }  # fmt: skip


def table(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in markdown; nothing without lines."""
    if not lines:
        return ""
    return "\n".join(
        [f"| {title} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
        + [f"| {' | '.join(line)} |" for line in lines]
    )
