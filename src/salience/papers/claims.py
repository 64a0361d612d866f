"""The claims of the mixing papers, what results say of each, and how many runs would decide it.

Nineteen claims, seven of SSMix, seven of DropMix and five of AttentionMix, are declared in `PAPERS`: one method of a
paper's table is better than another, on the paper's sets that are here. Each has the place where it stands in the
paper; controls, which a paper lacks, say so. The gain in the paper follows from the published tables. The model behind
the intervals is that of `salience.comparison.verdict`: a claim is about these sets, and draws are paired.

Runs of the papers' tables count as runs of the claims, and all plain trainings are one. So is the row "Dropout" of
DropMix with an encoder that has this dropout by itself. A method that somebody has added to the catalogue has claims
of its own: it is better than training without mixing, and than each of its `controls`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from salience.comparison.interval import Level
from salience.comparison.power import POWER, draws_needed, pooled_spread
from salience.comparison.variation import Difference
from salience.comparison.verdict import POINT, TOO_FEW, Judged, interval_of, judged
from salience.errors import InputError, counted, listed
from salience.mixing.choosing import PLAIN, choose_method
from salience.papers import ssmix
from salience.papers.attentionmix import tables as attentionmix
from salience.papers.datasets import SOURCES
from salience.papers.dropmix import tables as dropmix
from salience.papers.mixing_tables import MINILM, Cell, Choice, Claim, MixingTable, Published, difference_told
from salience.papers.table import Row, Table, markdown
from salience.report.comparison_pictures import forests
from salience.report.pictures import save
from salience.settings import name_and_options
from salience.training.recipe import default_steps

SIZES = (50, 200, 500, 1000)  # training rows, beside all rows of the small sets
ALL = 10_000  # stands for all training rows of a small set
SMALL = {"rte": 2490, "mrpc": 3668, "trec": 5452, "trec-fine": 5452}  # sets that are trained on whole, and their rows
BUDGET = 1000  # runs in all
MOST_DRAWS = 100  # of a claim that is planned
KNOWN_ENOUGH = 10  # degrees of freedom from which on the spread of a size is taken from its own runs
UNIT = default_steps(200, 2, 1)  # passes of texts of a plain training of 200 rows with two classes
OWN_DROPOUT = {MINILM: 0.1}  # of encoders
NOT_TOLD = "not in the paper"
SAME_WORK = ("set", "rows", "seed", "device", "machine", "precision")  # of runs whose seconds are compared


@dataclass(frozen=True, eq=False)
class Paper:
    """The claims of a paper.

    Attributes:
        name: as its methods are called; also of a method that somebody has added.
        methods: by the names of its tables.
        sets: the data sets of its claims.
        published: by set and method, accuracies in percent.
        tables: whose runs count.
    """

    name: str
    methods: Mapping[str, Choice]
    sets: tuple[str, ...]
    claims: tuple[Claim, ...]
    published: Published = field(default_factory=dict)
    tables: tuple[Table[Cell], ...] = ()

    def gain(self, claim: Claim) -> float | None:
        """The paper's mean gain in points over the sets; None if it does not tell one."""
        gains = [
            told[claim.better] - told[claim.worse] for name in self.sets
            if {claim.better, claim.worse} <= {*(told := self.published.get(name, {}))}
        ]  # fmt: skip
        return fmean(gains) if gains else None

    def training(self, method: str, model: str = MINILM) -> str:
        """The name of a method's training among those of all papers; plain training has one."""
        chosen = self.methods[method]
        if not callable(chosen) and chosen.get("method") == PLAIN:
            rest = {name: value for name, value in chosen.items() if name != "method"}
            if not rest or rest == {"dropout": OWN_DROPOUT.get(model)}:
                return PLAIN
        return f"{self.name}: {method}"

    def sets_at(self, size: int) -> tuple[str, ...]:
        """The sets that are trained on with so many rows."""
        return tuple(name for name in self.sets if size < ALL or name in SMALL)


def declared(name: str, methods: Mapping[str, Choice], claims: Sequence[Claim], *tables: Table[Cell]) -> Paper:
    """A paper whose claims are about the sets that its first table has published numbers for."""
    published = tables[0].published
    return Paper(
        name, methods, tuple(each for each, told in published.items() if told), tuple(claims), published, tables
    )


PAPERS = (
    declared(  # Yoon et al. (2021), arXiv:2106.08062
        "SSMix", ssmix.METHODS, [
            Claim("SSMix is better than training without mixing", "SSMix", "no mixup", "Table 2"),
            Claim("SSMix is better than EmbedMix", "SSMix", "EmbedMix", "Table 2"),
            Claim("SSMix is better than TMix", "SSMix", "TMix", "Table 2"),
            Claim("saliency helps", "SSMix", "SSMix without saliency", "Table 2"),
            Claim("spans help", "SSMix without saliency", "SSMix without saliency and span", "Table 2"),
            Claim("SSMix is better than random [UNK]", "SSMix", "random [UNK]", "Table B.1"),
            Claim("control: SSMix is better than a second stage without mixing", "SSMix", "plain, twice", NOT_TOLD),
        ], ssmix.TABLE,
    ),
    declared(  # Kong et al. (2022), doi:10.18653/v1/2022.emnlp-main.57
        "DropMix", dropmix.METHODS, [
            Claim("DropMix-G is better than training without dropout", "DropMix-G", "Bert", "Table 3"),
            Claim("DropMix-G is better than Dropout", "DropMix-G", "Dropout", "Table 3"),
            Claim("DropMix-C is better than Dropout", "DropMix-C", "Dropout", "Table 3"),
            Claim("DropMix-G is better than Mixup", "DropMix-G", "Mixup", "Table 3"),
            Claim("DropMix-G is better than Dropout+Mixup", "DropMix-G", "Dropout+Mixup", "Table 3"),
            Claim("DropMix-G is better than SSMix", "DropMix-G", "SSMix", "Table 3"),
            # Sections 1 and 4.1 contradict each other; no table has both.
            Claim("control: replacing the salient part is better than keeping it", "DropMix-G", "DropMix-G, keep",
                  NOT_TOLD),
        ], dropmix.BASE, dropmix.SPARSE,
    ),
    declared(  # Lewy and Mańdziuk (2023), arXiv:2309.11104
        "AttentionMix", attentionmix.METHODS, [
            Claim("AttentionMix by a good head is better than training without mixing", "AttentionMix, chosen head",
                  "standard", "Tables 2 to 4"),
            Claim("AttentionMix by a good head is better than wordMixup", "AttentionMix, chosen head", "wordMixup",
                  "Tables 2 to 4"),
            Claim("AttentionMix by a good head is better than MixupEncoding", "AttentionMix, chosen head",
                  "MixupEncoding", "Tables 2 to 4"),
            Claim("AttentionMix by the best layer is better than training without mixing", "AttentionMix, best layer",
                  "standard", "Tables 2 to 4"),
            Claim("a good head is better than the best layer's mean", "AttentionMix, chosen head",
                  "AttentionMix, best layer", "Tables 2 to 4"),
        ], attentionmix.TABLE,
    ),
)  # fmt: skip
SETS = tuple(dict.fromkeys(name for paper in PAPERS for name in paper.sets))
TRAININGS: dict[str, Choice] = {
    paper.training(method, ""): chosen for paper in PAPERS for method, chosen in paper.methods.items()
}


def of_method(name: str) -> Paper:
    """The claims of a method of the catalogue, as "dropmix-g:ratio=0.3", on the sets of all papers.

    Raises:
        InputError: the method or an option of it is unknown, or it does not mix.
    """
    method = choose_method(*name_and_options(name))
    if method is None:
        raise InputError(f"--method {name}: every claim compares with training without mixing: name another method")
    chosen = (name, PLAIN, *method.controls)
    claims = [Claim(f"{name} is better than training without mixing", name, PLAIN, NOT_TOLD)]
    claims += [Claim(f"control: {name} is better than {each}", name, each, NOT_TOLD) for each in method.controls]
    return OfMethod(name, {each: settings_of(each) for each in chosen}, SETS, tuple(claims))


@dataclass(frozen=True, eq=False)
class OfMethod(Paper):
    """The claims of a method, whose trainings have the names of the catalogue."""

    def training(self, method: str, model: str = MINILM) -> str:
        return method


def settings_of(training: str) -> Choice:
    """How a training is made: as in its paper, or by a method of the catalogue."""
    if training in TRAININGS:
        return TRAININGS[training]
    name, options = name_and_options(training)
    return {"method": name, "method_options": options}


# ------------------------------------------------------------------------------------------------------------ the runs


@dataclass(frozen=True, eq=False)
class Runs:
    """The accuracies in percent of runs of one encoder, by training, set and number of rows, then by seed."""

    model: str
    accuracies: Mapping[tuple[str, str, int], Mapping[int, float]]

    @classmethod
    def of(cls, rows: Sequence[Row], model: str) -> Runs:
        """Those of the rows that are of the encoder."""
        found: dict[tuple[str, str, int], dict[int, float]] = defaultdict(dict)
        for row in rows:
            if row["model"] == model:
                found[row["method"], row["set"], row["rows"]][row["seed"]] = 100 * row["accuracy"]
        return cls(model, dict(found))

    @property
    def sizes(self) -> list[int]:
        """The numbers of training rows, ascending."""
        return sorted({size for _, _, size in self.accuracies})

    def differences(self, better: str, worse: str, name: str, size: int) -> np.ndarray:
        """Of two trainings on a set, paired by seed (D,)."""
        own, base = (self.accuracies.get((training, name, size), {}) for training in (better, worse))
        return np.array([own[seed] - base[seed] for seed in sorted({*own} & {*base})])


def counting(papers: Sequence[Paper], folder: Path) -> list[Row]:
    """The runs of the papers' tables in a folder of results files that count as runs of the claims.

    The first tables come first: of a training that stands in several, their run counts, since they were made together.
    """
    tables = [(place, paper, table) for paper in papers for place, table in enumerate(paper.tables)]
    return [
        row | {"method": paper.training(row["method"], row["model"])}
        for _, paper, table in sorted(tables, key=lambda each: each[0])
        for row in table.results(folder / f"{table.name}.jsonl").rows() if row["set"] in paper.sets
    ]  # fmt: skip


def differences(paper: Paper, claim: Claim, size: int, runs: Runs) -> list[np.ndarray]:
    """The paired differences of a claim in points, for each set that has some: by seed, (D_s,)."""
    better, worse = (paper.training(method, runs.model) for method in (claim.better, claim.worse))
    found = [runs.differences(better, worse, name, size) for name in paper.sets]
    return [each for each in found if len(each)]


def sizes_of(paper: Paper, runs: Runs) -> list[int]:
    """The numbers of training rows at which a claim of the paper has a difference, ascending."""
    return [size for size in runs.sizes if any(differences(paper, each, size, runs) for each in paper.claims)]


def told(size: int) -> str:
    return "all rows" if size == ALL else f"{size:,} rows"


# ------------------------------------------------------------------------------------------------------------ verdicts


def verdicts(paper: Paper, runs: Runs) -> dict[tuple[Claim, int], Judged]:
    """Every claim at every size at which it has runs; those with runs on all sets are the family of Holm's correction.

    With runs on some sets only there are too few.
    """
    cases = {
        (claim, size): values for claim in paper.claims for size in sizes_of(paper, runs)
        if (values := differences(paper, claim, size, runs))
    }  # fmt: skip
    whole = {case: values for case, values in cases.items() if len(values) == len(paper.sets_at(case[1]))}
    known = dict(zip(whole, judged([*whole.values()]), strict=True))
    return {
        case: known.get(case) or replace(judged([values])[0], verdict=TOO_FEW, corrected=TOO_FEW)
        for case, values in cases.items()
    }


def verdict_table(paper: Paper, runs: Runs) -> str:
    """A line for each claim: the paper's gain, the difference at each size, verdicts, and pairs of runs."""
    cases, sizes, lines = verdicts(paper, runs), sizes_of(paper, runs), []
    for claim in paper.claims:
        own = {size: cases[claim, size] for size in sizes if (claim, size) in cases}
        counts = {size: [len(each) for each in differences(paper, claim, size, runs)] for size in own}
        needed = {
            size: draws_to_decide(paper, claim, size, runs) * len(paper.sets_at(size)) for size in own
        }  # fmt: skip
        lines.append([
            claim.text, claim.place, points(paper.gain(claim)),
            *(
                difference_told(own[size], len(counts[size]), len(paper.sets_at(size))) if size in own else ""
                for size in sizes
            ),
            joined({size: each.verdict for size, each in own.items()}),
            joined({size: each.corrected for size, each in own.items()}),
            joined({size: f"{sum(counts[size])} of {shown(pairs)}" for size, pairs in needed.items()}),
        ])  # fmt: skip
    columns = ["claim", "place", "paper", *map(told, sizes), "verdict", "with Holm's correction", "pairs of runs"]
    return markdown(columns, lines)


def joined(by_size: Mapping[int, str]) -> str:
    """What holds at each size, once if it is the same at all."""
    if len({*by_size.values()}) < 2:
        return next(iter(by_size.values()), "")
    return "; ".join(f"{told(size)}: {text}" for size, text in by_size.items())


def points(gain: float | None) -> str:
    return "" if gain is None else f"{gain:+.2f}"


def shown(number: float) -> str:
    return f"{number:,.0f}" if math.isfinite(number) else "-"


# --------------------------------------------------------------------------------------------------------------- power


@cache
def spread_at(paper: Paper, size: int, runs: Runs, claim: Claim | None = None) -> tuple[float, int, int]:
    """The spread of differences between draws at a size, its degrees of freedom, and the size whose runs showed it.

    It is pooled over the sets and claims of the paper, or over the sets alone where these say enough of the claim. A
    size that has too few runs has the spread of the nearest one that has enough. With fewer rows it grows with
    1 / sqrt(rows). With more rows it is not taken to fall: pairs of sentences only begin to be learnt there.
    """
    known = {}
    for each in sizes_of(paper, runs):
        by_claim = {other: differences(paper, other, each, runs) for other in paper.claims}
        pooled = pooled_spread([values for own in by_claim.values() for values in own])
        own = pooled_spread(by_claim[claim]) if claim else pooled
        known[each] = own if own[1] >= KNOWN_ENOUGH else pooled
    enough = [each for each, (_, degrees) in known.items() if degrees >= KNOWN_ENOUGH]
    if not enough:
        return math.nan, 0, size
    nearest = min(enough, key=lambda each: abs(math.log(each / size)))
    spread, degrees = known[nearest]
    return spread * max(1.0, math.sqrt(nearest / size)), degrees, nearest


def draws_for(gain: float | None, paper: Paper, claim: Claim, size: int, runs: Runs) -> float:
    """The draws that show this gain of a claim with a power of 80 %; without one, that there is none of a point."""
    spread, _, _ = spread_at(paper, size, runs, claim)
    sets = len(paper.sets_at(size))
    return draws_needed(gain, spread, sets) if sets and spread > 0 else math.inf


def draws_to_decide(paper: Paper, claim: Claim, size: int, runs: Runs) -> float:
    """The draws that decide a claim whether the gain is a point, or none."""
    return max(draws_for(gain, paper, claim, size, runs) for gain in (POINT, None))


@cache
def cost(name: str, rows: int) -> float:
    """The cost of a run on a set, in plain trainings of 200 rows with two classes: all methods make equal passes."""
    rows = min(rows, SMALL.get(name, rows))
    return default_steps(rows, len(SOURCES[name].labels), 1) / UNIT


def cost_of(cells: Iterable[Cell]) -> float:
    return sum(cost(cell.set, cell.rows) for cell in cells)


def cells_of(paper: Paper, claims: Sequence[Claim], size: int, seed: int, model: str) -> list[Cell]:
    """The runs of claims at a size with a seed: all methods on a set together."""
    methods = dict.fromkeys(
        paper.training(method, model) for claim in claims for method in (claim.worse, claim.better)
    )
    return [Cell(name, method, size, seed, model) for name in paper.sets_at(size) for method in methods]


@dataclass(frozen=True)
class Decision:
    """A claim that is decided at a size, and the runs that this takes after those of the decisions before."""

    paper: Paper
    claim: Claim
    size: int
    draws: int
    missing: tuple[Cell, ...]


def planned(paper: Paper, claim: Claim, size: int, runs: Runs, has_verdict: bool) -> Decision | None:
    """The decision of a claim at a size with all its runs; None if it takes over a hundred samples.

    Pairs of runs that are there count, whatever their seeds. Seeds with one run of the pair come next, then new ones.
    A claim that has all its pairs but no verdict gets one more of each set.
    """
    trainings = [paper.training(method, runs.model) for method in (claim.worse, claim.better)]
    sets = paper.sets_at(size)
    have = {
        name: Counter(seed for training in trainings for seed in runs.accuracies.get((training, name, size), ()))
        for name in sets
    }  # fmt: skip
    draws = draws_to_decide(paper, claim, size, runs)
    if sets and not has_verdict:
        draws = max(draws, 1 + min([*of_seeds.values()].count(2) for of_seeds in have.values()))
    if draws > MOST_DRAWS:
        return None
    draws = int(draws)
    seeds = {
        name: sorted({*range(draws), *of_seeds}, key=lambda seed: (-of_seeds[seed], seed))[:draws]
        for name, of_seeds in have.items()
    }  # fmt: skip
    return Decision(paper, claim, size, draws, tuple(
        Cell(name, training, size, seeds[name][draw], runs.model)
        for draw in range(draws) for name in sets for training in trainings
    ))  # fmt: skip


def decisions(papers: Sequence[Paper], sizes: Sequence[int], runs: Runs) -> list[Decision]:
    """The claims and sizes in the order in which they are decided: every claim once, then at its other sizes.

    Each time, the one that costs least after those before. A claim that has a verdict with fewer runs waits for those
    that have none.
    """
    with_verdict = {
        (claim, size) for paper in papers for (claim, size), case in verdicts(paper, runs).items()
        if case.verdict != TOO_FEW
    }  # fmt: skip
    has_verdict = {claim for claim, _ in with_verdict}
    have = {
        Cell(name, method, size, seed, runs.model)
        for (method, name, size), of_seeds in runs.accuracies.items() for seed in of_seeds
    }  # fmt: skip
    open_cases = [
        found for paper in papers for size in sizes for claim in paper.claims
        if (found := planned(paper, claim, size, runs, (claim, size) in with_verdict))
    ]  # fmt: skip
    order: list[Decision] = []
    while open_cases:
        open_cases = [
            replace(each, missing=tuple(cell for cell in each.missing if cell not in have)) for each in open_cases
        ]
        decided = {each.claim for each in order}
        cheapest = min(
            open_cases,
            key=lambda each: (each.claim in decided, bool(each.missing) and each.claim in has_verdict,
                              cost_of(each.missing)),
        )  # fmt: skip
        order.append(cheapest)
        open_cases.remove(cheapest)
        have |= {*cheapest.missing}
    return order


def power_tables(papers: Sequence[Paper], sizes: Sequence[int], runs: Runs) -> str:
    """What decides the claims: the spread at each size and the cost of a draw, then the draws of each claim."""
    order, by_size, by_claim = decisions(papers, sizes, runs), [], []
    for paper in papers:
        for size in sizes:
            if not paper.sets_at(size):
                continue
            spread, degrees, nearest = spread_at(paper, size, runs)
            draw = cells_of(paper, paper.claims, size, 0, runs.model)
            by_size.append([
                paper.name, told(size), str(len(paper.sets_at(size))), f"{spread:.2f}" if degrees else "",
                f"{degrees} at {told(nearest)}" if degrees else "", str(len(draw)), f"{cost_of(draw):,.0f}",
            ])  # fmt: skip
        for claim in paper.claims:
            gain = paper.gain(claim)
            of_gain = {size: math.inf if gain is None else draws_for(gain, paper, claim, size, runs) for size in sizes}
            by_claim.append([
                claim.text, points(gain),
                *(
                    f"{shown(of_gain[size])} / {shown(draws_to_decide(paper, claim, size, runs))}"
                    if paper.sets_at(size) else "" for size in sizes
                ),
                gain_told(paper, gain, of_gain), first_told(claim, order),
            ])  # fmt: skip
    first = markdown(
        ["paper", "training rows", "sets", "spread", "differences", "runs of a sample", "plain trainings"], by_size
    )
    second = markdown(
        ["claim", "paper", *map(told, sizes), "the paper's gain", "a point either way"], by_claim,
    )  # fmt: skip
    return "\n\n".join([
        "Spread of differences between samples, and what a sample costs in plain trainings of 200 rows", first,
        f"Samples for the paper's gain / a point either way, by a power of {100 * POWER:.0f} %; and what is decided "
        f"by {BUDGET:,} runs in all", second,
    ])  # fmt: skip


def gain_told(paper: Paper, gain: float | None, draws: Mapping[int, float]) -> str:
    """Whether the paper's gain can be shown within the budget, and why not."""
    if gain is None:
        return "none is told"
    if gain <= 0:
        return "it is none"
    runs = {size: 2 * number * len(paper.sets_at(size)) for size, number in draws.items()}
    size = min(runs, key=lambda each: runs[each])
    if not math.isfinite(runs[size]):
        return "the spread is not known"
    if runs[size] > BUDGET:
        return f"no: {runs[size]:,.0f} runs with {told(size)}, for {gain:+.2f} points"
    return f"{runs[size]:,.0f} runs with {told(size)}"


def first_told(claim: Claim, order: Sequence[Decision]) -> str:
    """After how many runs of the list a claim is first decided."""
    runs = 0
    for each in order:
        runs += len(each.missing)
        if each.claim == claim:
            if runs > BUDGET:
                break
            return f"with {told(each.size)}, after {counted(runs, 'run')}"
    return f"not within {BUDGET:,} runs"


# ------------------------------------------------------------------------------------------------------------ pictures


def against_plain(runs: Runs, names: Mapping[str, str]) -> dict[str, dict[str, dict[str, Difference]]]:
    """By set, method and size the difference from plain training; then the mean over the sets of the method.

    The spread between draws is pooled over the sets of a method and size, so that two draws have an interval.

    Args:
        names: of the trainings that are drawn, and how they are called.
    """
    panels: dict[str, dict[str, dict[str, Difference]]] = {name: {} for name in [*SETS, "mean"]}
    for training, called in names.items():
        for size in runs.sizes:
            own = {name: runs.differences(training, PLAIN, name, size) for name in SETS}
            own = {name: values for name, values in own.items() if len(values)}
            if not own:
                continue
            spread, degrees = pooled_spread([*own.values()])
            counts = np.array([len(values) for values in own.values()])
            means = {name: float(values.mean()) for name, values in own.items()} | {"mean": 0.0}
            means["mean"] = fmean([*means.values()][:-1])
            variances = [*(1 / counts), (1 / counts).sum() / len(counts) ** 2]
            for (name, mean), variance in zip(means.items(), variances, strict=True):
                level = Level(spread**2 * float(variance), degrees) if degrees and spread > 0 else None
                panels[name].setdefault(called, {})[told(size)] = interval_of(mean, level)
    return {name: found for name, found in panels.items() if found}


# --------------------------------------------------------------------------------------------------------------- table


@dataclass(frozen=True)
class Claims:
    """The claims of papers, with training sets of these sizes, by an encoder."""

    papers: tuple[Paper, ...] = PAPERS
    sizes: tuple[int, ...] = (*SIZES, ALL)
    model: str = MINILM

    def cells(self, sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
        """Every method of a claim on every set of its paper, seed by seed; a training of several papers once.

        Raises:
            InputError: there is no run on a set.
        """
        cells = list(dict.fromkeys(
            cell for seed in seeds for size in self.sizes for paper in self.papers
            for cell in cells_of(paper, paper.claims, size, seed, self.model) if cell.set in sets
        ))  # fmt: skip
        if lacking := [name for name in sets if not any(cell.set == name for cell in cells)]:
            raise InputError(
                f"--rows {ALL} is for the small data sets {listed(SMALL)}, and not for {listed(lacking)}: name them "
                "with --sets, or name less rows"
            )
        return cells

    def run(self, cell: Cell, data_dir: Path | None) -> Row:
        """Trains one model, as its paper's table does."""
        return MixingTable({cell.method: settings_of(cell.method)}, {}).run(cell, data_dir)

    def ordered(self, cells: Sequence[Cell], rows: Sequence[Row]) -> list[Cell]:
        """The runs in the order of what they decide; those that no decision needs come last."""
        order = decisions(self.papers, self.sizes, Runs.of(rows, self.model))
        place = {cell: number for number, cell in enumerate(cell for each in order for cell in each.missing)}
        return sorted(cells, key=lambda cell: place.get(cell, len(place)))

    def report(self, rows: list[Row]) -> str:
        """For each encoder the verdicts on the claims of each paper, and what would decide the others."""
        parts = []
        for model in dict.fromkeys(row["model"] for row in rows):
            runs = Runs.of(rows, model)
            parts += [f"Encoder: {model}"] * (model != MINILM)
            for paper in self.papers:
                parts += [f"{paper.name}: claims, differences in points", verdict_table(paper, runs)]
            parts += [power_tables(self.papers, self.sizes, runs), costs_told(rows, model)]
        return "\n\n".join(parts)

    def pictures(self, rows: list[Row], folder: Path) -> Iterator[str]:
        """A forest plot for each encoder: the difference of every method from plain training, by set and size."""
        names = {
            paper.training(method): method if paper.name in method else f"{method} ({paper.name})"
            for paper in self.papers for method in paper.methods if paper.training(method) != PLAIN
        }  # fmt: skip
        for model in dict.fromkeys(row["model"] for row in rows):
            runs = Runs.of(rows, model)
            if panels := against_plain(runs, names):
                drawing = forests(panels, [*map(told, runs.sizes)], "difference from plain training (points)")
                file = folder / ("claims" if model == MINILM else f"claims-{Path(model).name}")
                save(drawing.draw, file, drawing.size, drawing.panels)
                yield file.name

    def table(self) -> Table[Cell]:
        """The table as `salience reproduce` runs it."""
        return Table(
            name="claims", paper="SSMix, DropMix and AttentionMix", published={name: {} for name in SETS}, cell=Cell,
            keys=("accuracy", "text_passes", "seconds"), cells=self.cells, run=self.run, report=self.report,
            pictures=self.pictures,
            resized=lambda sizes: replace(self, sizes=tuple(dict.fromkeys(sizes))).table(),
            of_model=lambda model: replace(self, model=model).table(),
            of_method=lambda name: replace(self, papers=(of_method(name),)).table(),
            counting=partial(counting, PAPERS), ordered=self.ordered,
        )  # fmt: skip


def costs_told(rows: Sequence[Row], model: str) -> str:
    """By how much the passes of texts of methods differ that were trained on the same rows, and the seconds of each.

    Seconds are compared with those of plain training on the same rows, by the same processor in the same format.
    """
    passes: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    seconds: dict[str, dict[tuple[Any, ...], float]] = defaultdict(dict)
    for row in rows:
        if row["model"] == model:
            passes[row["set"], row["rows"]].append(row["text_passes"])
            seconds[row["method"]][tuple(map(row.get, SAME_WORK))] = row["seconds"]
    most = max(50 * (max(each) - min(each)) / fmean(each) for each in passes.values())
    told = f"Passes of texts differ by at most ± {most:.1f} % on a set with a number of training rows."
    plain = seconds.pop(PLAIN, {})
    ratios = {
        method: median(own[work] / plain[work] for work in both) for method, own in seconds.items()
        if (both := {*own} & {*plain})
    }  # fmt: skip
    if not ratios:
        return told
    in_turn = (f"{method} {ratios[method]:.2f}" for method in sorted(ratios, key=ratios.__getitem__))
    return f"{told} Seconds of a run, in those of a plain one, medians: {'; '.join(in_turn)}."


TABLE = Claims().table()
