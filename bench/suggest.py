"""Learning curves of the strategies that suggest which texts to label next, against random choice.

    python bench/suggest.py --data-dir DATA
    python bench/suggest.py --data-dir DATA --start 0 --stop 150
    python bench/suggest.py --data-dir DATA --start 0 --stop 150 --classifier described
    python bench/suggest.py --data-dir DATA --classifier fine-tuned --sets trec sst2 --seeds 0 1 --stop 100
    python bench/suggest.py --report

A seed draws the first texts at random, which all strategies begin with. In each round a classifier is trained on the
labelled texts; the strategy chooses texts of the pool by what this classifier says of them, and they get their labels.
The accuracy is that on the test rows of the development set (`bench/development.py`). The pool are 5,000 of its rows
to train on, the same for all seeds. With fewer first texts (`--start 20`), or none (`--start 0`), it is 2,000 of them,
drawn for each seed, and the first rounds end with 20 and 50 labels.

The classifier is the logistic regression on the vectors of the frozen encoder, the reference `frozen` of `salience
compare`; or with `--classifier fine-tuned` the default recipe of `salience train`. The strategies read the vectors of
the frozen encoder, or those that the head of the trained model reads. With `--classifier described`, the first texts
are chosen by what descriptions of the labels say (`bench/descriptions.py`), as of `salience describe`.

Rounds are appended to RESULTS, and those that it has are not made again. The report gives the accuracy of every
strategy, and the difference of the mean accuracy over all rounds after the first from that of random choice: paired by
set and seed, with 95 % intervals that hold together for all strategies (Bonferroni), on these sets; the same without
the set whose absence leaves the lowest interval; and without this correction over other sets like these. A last table
has the difference after each round; `--picture` draws it for each set.

`salience suggest` offers a strategy if the first two intervals are above 0: it is better than random choice on these
sets, and not by one of them alone.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.special import softmax

from descriptions import SENTENCES, TEMPLATES
from development import SETS, development_set, rows_of
from not_offered import NOT_OFFERED
from salience.classify.frozen_encoder import load_frozen
from salience.comparison.interval import paired_interval
from salience.comparison.variation import Difference
from salience.data.task import Task, name_in_words
from salience.data.texts import Texts
from salience.report.pictures import save
from salience.suggestions import DEFAULT, DESCRIBED, STRATEGIES, Choose, Pool
from salience.suggestions.suggesting import view_of
from salience.training.baselines import regression_probabilities
from salience.training.fit import fit
from salience.training.head import SCALE
from salience.training.prepare import prepare
from salience.training.recipe import Recipe

MEASURED = ("trec", "sst2", "subj", "ag_news", "banking77", "20news")
POOL, START, STEP, STOP = 5000, 50, 50, 300
SMALL_POOL, FIRST_STEPS = 2000, {0: 20, 20: 30}  # with fewer first texts than `START`
COLUMNS = ("classifier", "set", "seed", "strategy", "labels", "accuracy")
# -> probabilities (N, C), or None if nothing is known, and vectors (N, D) of all texts
View = Callable[[], tuple[np.ndarray | None, np.ndarray]]
# Places of labelled texts -> the view of a classifier that is trained on them, and its accuracy on the test rows.
Classifier = Callable[[np.ndarray], tuple[View, float]]


def random(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """Texts drawn uniformly: what a person does without a strategy."""
    return generator.permutation(len(pool))[:count]


def default(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """What `salience suggest` does by itself: first with a classifier from descriptions, then with trained ones."""
    described = pool.probabilities is not None and (pool.labelled is None or not len(pool.labelled))
    return STRATEGIES[DESCRIBED if described else DEFAULT].choose(pool, count, generator)


RULES: dict[str, Choose] = {
    "random": random,
    "default": default,
    **{name: each.choose for name, each in STRATEGIES.items()},
    **NOT_OFFERED,
}


@dataclass(frozen=True)
class DevelopmentSet:
    """The texts of the pool and the test rows, both with labels, and the names of the C labels."""

    name: str
    pool: Texts
    test: Texts
    labels: list[str]

    def drawn(self, seed: int) -> np.ndarray:
        """The places of `SMALL_POOL` texts of the pool."""
        return np.random.default_rng(seed).permutation(len(self.pool))[:SMALL_POOL]


def read_set(name: str, data_dir: Path) -> DevelopmentSet:
    """The first `POOL` rows to train on of a development set, which is shuffled, and its test rows."""
    with tempfile.TemporaryDirectory() as place:
        files = development_set(name, data_dir, Path(place))
        pool, test = rows_of(files["data"])[:POOL], rows_of(files["test"])
    labels = sorted({row["label"] for row in pool + test})
    parts = (
        Texts([row["text"] for row in rows], labels=[labels.index(row["label"]) for row in rows])
        for rows in (pool, test)
    )
    return DevelopmentSet(name, *parts, labels)


def frozen(data: DevelopmentSet, precision: str, described: bool) -> Callable[[np.ndarray], Classifier]:
    """A logistic regression on vectors that are computed once, for a pool of texts with these places.

    Without labelled texts it knows nothing, or what descriptions of the labels say.
    """
    encoder = load_frozen(precision=precision)
    every_vector, test_vectors = encoder.vectors(data.pool), encoder.vectors(data.test)
    sentences = encoder.vectors(descriptions(data)) if described else None

    def of_pool(pool: np.ndarray) -> Classifier:
        vectors, labels = every_vector[pool], data.pool.known_labels[pool]
        every = np.concatenate([vectors, test_vectors])

        def trained(places: np.ndarray) -> tuple[View, float]:
            if len(places):
                found = regression_probabilities(vectors[places], labels[places], every, len(data.labels))
            elif sentences is not None:
                found = softmax(SCALE * every @ sentences.T, axis=1)
            else:
                return lambda: (None, vectors), float("nan")
            return lambda: (found[: len(vectors)], vectors), accuracy(found[len(vectors) :], data.test)

        return trained

    return of_pool


def descriptions(data: DevelopmentSet) -> list[str]:
    """A description of each label: those of `bench/descriptions.py`, or the names of the labels."""
    if data.name in SENTENCES:
        return [SENTENCES[data.name][label] for label in data.labels]
    return [TEMPLATES.get(data.name, "{}").format(name_in_words(label)) for label in data.labels]


def fine_tuned(data: DevelopmentSet, precision: str, seed: int) -> Classifier:
    """A model of the default recipe, trained anew on all labelled texts."""

    def trained(places: np.ndarray) -> tuple[View, float]:
        recipe = Recipe(data="rows of a bench", precision=precision, seed=seed)
        prepared = prepare(recipe, Task(data.labels, data.pool.take(places)))
        with tempfile.TemporaryDirectory() as place:
            classifier = fit(prepared, Path(place)).classifier
        score = accuracy(classifier.predict_proba(data.test.texts), data.test)
        return cache(partial(view_of, classifier, data.pool.texts, True)), score

    return trained


def first_kept(trained: Classifier) -> Classifier:
    """The same classifier, which keeps what the first texts gave: all rules of a seed begin with the same ones."""
    kept: dict[bytes, tuple[View, float]] = {}

    def of(places: np.ndarray) -> tuple[View, float]:
        key = places.tobytes()
        if kept and key not in kept:
            return trained(places)
        if not kept:
            kept[key] = trained(places)
        return kept[key]

    return of


def accuracy(probabilities: np.ndarray, texts: Texts) -> float:
    return float((probabilities.argmax(1) == texts.known_labels).mean())


def curve(
    trained: Classifier, size: int, rule: str, seed: int, start: int = START, step: int = STEP, stop: int = STOP
) -> Iterator[tuple[int, float]]:
    """The number of labels and the accuracy in every round.

    Args:
        size: number of texts in the pool.
        rule: key of `RULES`.
        seed: of the first texts, which are the same for all rules, and of the rule's own draws.
    """
    labelled = np.random.default_rng(seed).permutation(size)[:start]
    generator = np.random.default_rng([seed, zlib.crc32(rule.encode())])
    while True:
        view, score = trained(labelled)
        yield len(labelled), score
        if len(labelled) >= stop:
            return
        probabilities, vectors = view()
        rest = np.setdiff1d(np.arange(size), labelled)
        pool = Pool(None if probabilities is None else probabilities[rest], vectors[rest], vectors[labelled])
        count = min(FIRST_STEPS.get(len(labelled), step), stop - len(labelled))
        chosen = RULES[rule](pool, count, generator)
        labelled = np.concatenate([labelled, rest[chosen]])


def on_all_sets(rows: Sequence[dict]) -> list[dict]:
    """The rows of the strategies that were run on all of their sets; `--sets` compares the others on fewer."""
    sets = {row["set"] for row in rows}
    of_rule: dict[str, set[str]] = {}
    for row in rows:
        of_rule.setdefault(row["strategy"], set()).add(row["set"])
    return [row for row in rows if of_rule[row["strategy"]] == sets]


def mean_curves(rows: Sequence[dict], rule: str) -> dict[str, dict[int, float]]:
    """For each set and each seed, the mean accuracy over all rounds after the first."""
    first = min(int(row["labels"]) for row in rows)
    found: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        if row["strategy"] == rule and int(row["labels"]) > first:
            seeds = found.setdefault(row["set"], {})
            seeds.setdefault(int(row["seed"]), []).append(float(row["accuracy"]))
    return {name: {seed: float(np.mean(values)) for seed, values in seeds.items()} for name, seeds in found.items()}


def differences(rows: Sequence[dict], rule: str) -> dict[str, np.ndarray]:
    """For each set, the differences of a rule from random choice in points of accuracy, one for each seed."""
    ours, others = mean_curves(rows, rule), mean_curves(rows, "random")
    return {
        name: 100 * np.array([ours[name][seed] - others[name][seed] for seed in sorted(ours[name])]) for name in ours
    }


def at(rows: Sequence[dict], labels: int) -> list[dict]:
    """The first round and the one with this number of labels, so that `differences` are those of this round."""
    first = min(int(row["labels"]) for row in rows)
    return [row for row in rows if int(row["labels"]) in (first, labels)]


def of_rounds(rows: Sequence[dict]) -> str:
    """A table in Markdown: the differences from random choice after each round, on these sets."""
    _, *later = sorted({int(row["labels"]) for row in rows})
    compared = [rule for rule in RULES if rule != "random" and any(row["strategy"] == rule for row in rows)]
    lines = [f"| strategy | {' | '.join(f'{labels} labels' for labels in later)} |", "|---" * (len(later) + 1) + "|"]
    for rule in compared:
        found = [list(differences(at(rows, labels), rule).values()) for labels in later]
        cells = [shown(paired_interval(values, over_sets=False, comparisons=len(compared))) for values in found]
        lines.append(f"| {rule} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(panels: np.ndarray, rows: Sequence[dict], rules: Sequence[str]) -> None:
    """The differences of strategies from random choice by the number of labels, with 95 % bands; a panel a set."""
    _, *later = sorted({int(row["labels"]) for row in rows})
    sets = [name for name in SETS if any(row["set"] == name for row in rows)]
    for axes, name in zip(panels.flat, sets, strict=False):
        for color, rule in enumerate(rules):
            found = [paired_interval([differences(at(rows, labels), rule)[name]], over_sets=False) for labels in later]
            axes.plot(later, [each.mean for each in found], color=f"C{color}", label=rule)
            axes.fill_between(
                later, [each.low for each in found], [each.high for each in found], color=f"C{color}", alpha=0.2
            )  # fmt: skip
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set(title=name, xlabel="labels", ylabel="points above random choice", xticks=later)
    for axes in panels.flat[len(sets) :]:
        axes.set_visible(False)
    panels.flat[0].legend()


def report(rows: Sequence[dict]) -> str:
    """Two tables in Markdown: the curves, as means over sets and seeds; and the differences from random choice."""
    labels = sorted({int(row["labels"]) for row in rows})
    rules = [rule for rule in RULES if any(row["strategy"] == rule for row in rows)]
    sets = [name for name in SETS if any(row["set"] == name for row in rows)]
    lines = [f"| strategy | {' | '.join(f'{each} labels' for each in labels)} |", "|---" * (len(labels) + 1) + "|"]
    for rule in rules:
        cells = [
            np.mean([
                np.mean([float(row["accuracy"]) for row in rows
                         if (row["strategy"], row["set"], int(row["labels"])) == (rule, name, each)])
                for name in sets
            ])
            for each in labels
        ]  # fmt: skip
        lines.append(f"| {rule} | {' | '.join(f'{100 * cell:.1f}' for cell in cells)} |")
    lines += ["", f"| strategy | {' | '.join(sets)} | mean, on these sets | without one set | on other sets |"]
    lines.append("|---" * (len(sets) + 4) + "|")
    compared = [rule for rule in rules if rule != "random"]
    for rule in compared:
        own = differences(rows, rule)
        each = [shown(paired_interval([own[name]], over_sets=False)) for name in sets]
        values = [own[name] for name in sets]
        here = shown(paired_interval(values, over_sets=False, comparisons=len(compared)))
        fewer = without_one_set(values, len(compared))
        elsewhere = shown(paired_interval(values, over_sets=True))
        lines.append(f"| {rule} | {' | '.join(each)} | {here} | {fewer} | {elsewhere} |")
    return "\n".join(lines)


def without_one_set(values: Sequence[np.ndarray], comparisons: int) -> str:
    """The difference on all sets but one, that which leaves the lowest interval; nothing where there is one set."""
    if len(values) == 1:
        return ""
    fewer = [[own for place, own in enumerate(values) if place != left] for left in range(len(values))]
    found = [paired_interval(each, over_sets=False, comparisons=comparisons) for each in fewer]
    return shown(min(found, key=lambda each: each.mean if each.low is None else each.low))


def shown(difference: Difference) -> str:
    """'+1.2 [0.3, 2.1]'."""
    if difference.low is None or difference.high is None:
        return f"{difference.mean:+.1f}"
    return f"{difference.mean:+.1f} [{difference.low:.1f}, {difference.high:.1f}]"


def read_rows(file: Path) -> list[dict]:
    """The rounds in a file of results; none if it is not there."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def main() -> None:
    """Makes the rounds that are missing, and prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(MEASURED))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(20)))
    parser.add_argument("--strategies", nargs="+", choices=RULES, default=list(RULES))
    parser.add_argument("--classifier", choices=["frozen", "described", "fine-tuned"], default="frozen")
    parser.add_argument("--start", type=int, default=START, choices=[0, 20, START], help="number of the first texts")
    parser.add_argument("--stop", type=int, default=STOP, help="number of labels of the last round")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--results", type=Path, default=Path("results/suggest.csv"))
    parser.add_argument("--report", action="store_true", help="only print the report")
    parser.add_argument("--picture", type=Path, help="file without suffix: the curves of the strategies")
    options = parser.parse_args()
    if not options.report:
        if options.data_dir is None:
            parser.error("--data-dir is needed, unless there is --report")
        make(options)
    rows = [row for row in read_rows(options.results) if row["classifier"] == named(options)]
    rows = [row for row in rows if row["strategy"] in options.strategies and row["set"] in options.sets]
    rows = on_all_sets(rows)
    print(f"{report(rows)}\n\n{of_rounds(rows)}")
    if options.picture is not None:
        drawn = [
            rule for rule in options.strategies if rule != "random" and any(row["strategy"] == rule for row in rows)
        ]
        save(partial(draw, rows=rows, rules=drawn), options.picture, size=(12, 7), panels=(2, 3))


def named(options: argparse.Namespace) -> str:
    """The name of the classifier and of the first texts in the file of results."""
    return options.classifier + (f" from {options.start}" if options.start < START else "")


def make(options: argparse.Namespace) -> None:
    """Makes the curves that are not in the file of results; a curve is appended when it is complete."""
    there = {
        (row["classifier"], row["set"], int(row["seed"]), row["strategy"], int(row["labels"]))
        for row in read_rows(options.results)
    }
    options.results.parent.mkdir(parents=True, exist_ok=True)
    if not options.results.exists():
        options.results.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    for name in options.sets:
        data = read_set(name, options.data_dir)
        if options.classifier != "fine-tuned":
            regression = frozen(data, options.precision, options.classifier == "described")
        for seed in options.seeds:
            pool = np.arange(len(data.pool)) if options.start == START else data.drawn(seed)
            if options.classifier == "fine-tuned":
                trained = first_kept(fine_tuned(data, options.precision, seed))
            else:
                trained = first_kept(regression(pool))
            for rule in options.strategies:
                key = (named(options), name, seed, rule)
                if (*key, options.stop) in there:
                    continue
                rounds = list(curve(trained, len(pool), rule, seed, options.start, stop=options.stop))
                with options.results.open("a", encoding="utf-8", newline="") as opened:
                    csv.writer(opened, lineterminator="\n").writerows(
                        [*key, labels, f"{score:.4f}"] for labels, score in rounds if (*key, labels) not in there
                    )


if __name__ == "__main__":
    main()
