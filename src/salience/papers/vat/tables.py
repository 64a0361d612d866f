"""Zhou et al. (Findings of ACL-IJCNLP 2021), Tables 2 to 6: base, ATT and VAT over an LSTM and a transformer.

"Attending via both Fine-tuning and Compressing". A cell trains two models: base, and VAT, whose iteration 0 is ATT.
Base also judges the explanations of ATT and VAT, as in the paper. What the paper leaves open (batches, epochs,
dropout) follows the default recipe of salience, with the learning rate that the paper gives for its LSTM. The 100
dimensions of that LSTM are read as 50 for each direction: with one direction, the last states depend on the whole
text, and attention concentrates on them instead of on words.

GloVe is replaced by random word vectors or those of MiniLM, and BERT-base by MiniLM. To fit a small machine, MiniLM is
trained on at most 1,000 rows and the LSTM on at most 10,000 (only AG News has more), and the explanations of at most
200 and 500 texts are judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from transformers import set_seed

from salience.classify import TextClassifier
from salience.comparison.variation import spread
from salience.data.encoding import Encoded
from salience.data.splitting import drawn
from salience.data.task import Task
from salience.data.texts import Texts
from salience.explainers.chance import random_words
from salience.explainers.explain import explain_words
from salience.explainers.pooling import pooling_attention
from salience.faithfulness.accuracy import (
    accuracy_drop,
    mean_accuracy_drop,
    post_hoc_accuracy,
    right_alone,
    right_without,
)
from salience.faithfulness.detection import detection_by_class
from salience.faithfulness.erasure import Erasure, Reading, as_judged
from salience.faithfulness.evaluation import DRAWS
from salience.papers.attention_classifiers.building import build_attention_classifier
from salience.papers.attention_classifiers.options import PRESETS, AttentionOptions
from salience.papers.datasets import accuracy, load, train_classifier
from salience.papers.mixing_tables import mean_told
from salience.papers.table import Row, Table, markdown
from salience.report.pictures import COLOURS, GREY, save
from salience.training.recipe import Recipe

Columns = dict[str, tuple[float, ...] | None]  # None: the paper has no such numbers

# The paper's numbers in percent, by data set or encoder.
# Accuracy (Table 2): LSTM-base, -ATT, -VAT, BERT-base, -ATT, -VAT.
PUBLISHED: Columns = {
    "trec": (90.00, 91.00, 92.80, 96.60, 96.40, 97.20),
    "sst5": (45.20, 46.29, 47.42, 51.44, 51.13, 51.99),
    "sst2": (85.45, 84.73, 86.22, 91.60, 91.16, 91.98),
    "subj": (89.00, 90.80, 91.10, 96.50, 96.20, 96.70),
    "mr": None,
    "ag_news": (91.91, 91.88, 92.04, 93.52, 93.41, 93.71),
}
# Tables 3 and 4, K = 5: Random, ATT, VAT, of LSTM and of BERT.
AOPC: Columns = {
    "trec": (19.40, 31.00, 37.20, 65.80, 71.60, 72.20),
    "sst5": (5.97, 12.94, 14.34, 33.26, 33.98, 34.03),
    "sst2": (7.58, 20.54, 21.58, 41.46, 41.52, 41.52),
    "subj": (1.50, 2.10, 6.30, 45.70, 45.70, 45.80),
    "mr": None,
    "ag_news": (1.87, 5.99, 6.59, 44.20, 52.22, 54.70),
}
POST_HOC: Columns = {
    "trec": (71.40, 73.60, 79.20, 26.60, 34.20, 36.80),
    "sst5": (34.21, 40.56, 43.39, 20.27, 29.19, 30.23),
    "sst2": (71.33, 82.70, 84.35, 50.52, 58.92, 61.34),
    "subj": (78.40, 87.40, 89.10, 50.60, 61.90, 65.40),
    "mr": None,
    "ag_news": (62.45, 78.96, 81.43, 26.74, 37.53, 43.08),
}
# Table 5, which the paper measures on tweets: P@1 R@1 F1@1 P@5 R@5 F1@5 of positive and of negative words.
WORDS: dict[str, dict[str, tuple[tuple[float, ...], tuple[float, ...]] | None]] = {
    "lstm": {
        "random": ((14.88, 4.78, 6.56, 14.59, 23.34, 16.06), (20.52, 5.61, 8.19, 17.18, 23.68, 17.97)),
        "ATT": ((58.70, 26.04, 32.73, 30.30, 54.17, 34.70), (47.13, 15.74, 21.39, 28.24, 42.04, 30.33)),
        "VAT": ((65.20, 29.38, 36.60, 33.04, 58.40, 37.77), (60.00, 21.42, 28.76, 32.70, 49.19, 35.35)),
    },
    "bert": {
        "random": None,
        "ATT": ((46.44, 16.52, 21.82, 33.13, 52.52, 35.66), (37.74, 9.19, 13.46, 30.82, 39.65, 30.23)),
        "VAT": ((55.24, 20.62, 26.90, 37.26, 58.39, 40.09), (43.83, 11.15, 16.20, 36.42, 44.55, 35.30)),
    },
}  # fmt: skip

AT = 5  # number of words deleted in Table 3, kept in Table 4 and compared with the marks in Table 5
EXPLANATIONS = ("random", "ATT", "VAT")
PANELS = {"without": "without K words", "alone": "on K words alone"}  # keys of a row's curves -> titles
LONGEST = 256  # number of words or word pieces that are read of a text


@dataclass(frozen=True)
class Setup:
    """How models with one kind of encoder are trained and judged."""

    epochs: int
    learning_rate: float | None  # None: the default, which depends on the model's width
    iterations: int
    rows: int  # largest number of training rows
    judged: int  # largest number of test texts whose explanations are judged
    most: int  # largest number of deleted words


SETUPS = {
    "lstm": Setup(epochs=6, learning_rate=1e-3, iterations=3, rows=10_000, judged=500, most=20),
    "bert": Setup(epochs=4, learning_rate=None, iterations=2, rows=1000, judged=200, most=5),
}
ENCODERS = ("bilstm-random", "bilstm-minilm", "bert-minilm")
OF_ONE_DIRECTION = ("lstm-random", "lstm-minilm")  # with the first seed only, to show the effect of one direction


@dataclass(frozen=True)
class Cell:
    """A trained base and a trained VAT."""

    set: str
    encoder: str  # of ENCODERS or OF_ONE_DIRECTION
    seed: int


def cells(sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """Every set and encoder, seed by seed; encoders of one direction with the first seed only."""
    both = [Cell(name, encoder, seed) for seed in seeds for name in sets for encoder in ENCODERS]
    return both + [Cell(name, encoder, seeds[0]) for name in sets for encoder in OF_ONE_DIRECTION]


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains base, ATT and VAT on one set with one seed, and judges their attention as explanations."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    setup = SETUPS[family(cell.encoder)]
    data = replace(data, training=drawn(data.training, setup.rows, cell.seed))
    base, _ = train(cell, data, setup, "base")
    seconds_of_base = time.time() - started
    judged = drawn(data.test, setup.judged, seed=0)
    seen = base.encode(judged, words=True)
    base_accuracy = accuracy(base.model, base.encode(data.test))
    test_accuracies: list[float] = []
    explanations: dict[str, dict] = {}

    def explain(classifier: TextClassifier, name: str) -> None:
        encoded = classifier.encode(judged, words=True)
        scores = explain_words(classifier.model, encoded, pooling_attention)
        explanations[name] = judge(as_judged(scores, encoded.words, seen.words), base, seen, judged, setup.most)

    def watch(classifier: TextClassifier) -> None:
        test_accuracies.append(accuracy(classifier.model, classifier.encode(data.test)))
        if len(test_accuracies) == 1:
            explain(classifier, "ATT")

    classifier, iterations = train(cell, data, setup, "vat", watch)
    explain(classifier, "VAT")
    explanations["random"] = judge_chance(base, seen, judged, setup.most, cell.seed)
    validation_accuracies = [iteration["validation_accuracy"] for iteration in iterations]
    chosen = int(np.argmax(validation_accuracies))
    return {
        "base": base_accuracy, "test": test_accuracies, "explanations": explanations,
        "validation": validation_accuracies, "chosen": chosen, "accuracy": test_accuracies[chosen],
        "rows": len(data.training), "judged": len(judged),
        "seconds_of_base": round(seconds_of_base, 3), "seconds": round(time.time() - started, 3),
    }  # fmt: skip


def train(
    cell: Cell, data: Task, setup: Setup, name: str, watch: Callable[[TextClassifier], None] = lambda classifier: None
) -> tuple[TextClassifier, list[dict]]:
    """Trains the cell's "base" or "vat"; `watch` is called with the model after every iteration of VAT.

    Returns:
        The classifier, and for VAT a dictionary for every iteration with its "validation_accuracy".
    """
    kind, vectors = cell.encoder.split("-")
    options = PRESETS[f"{family(kind)}-{name}"]
    if family(kind) == "lstm":
        options = replace(options, bidirectional=kind == "bilstm", embeddings=None if vectors == "random" else vectors)
    turns = {"iterations": setup.iterations} if options.procedure == "turns" else {}
    recipe = Recipe(
        data=cell.set, method="plain", procedure_options=turns, seed=cell.seed, learning_rate=setup.learning_rate,
        steps=setup.epochs * len(data.training) // 32, batch_size=32,
    )  # fmt: skip
    return trained(options, data, recipe, watch)


def trained(
    options: AttentionOptions, data: Task, recipe: Recipe, watch: Callable[[TextClassifier], None]
) -> tuple[TextClassifier, list[dict]]:
    """Builds an attention classifier and trains it, see `train_classifier`."""
    set_seed(recipe.seed)
    model, tokenizer = build_attention_classifier(
        options, data.labels, data.training.texts, lambda line: None, split=not data.tokenised
    )
    return train_classifier(TextClassifier(model, tokenizer, LONGEST), data, recipe, watch=watch)


def judge(scores: list[np.ndarray], base: TextClassifier, encoded: Encoded, texts: Texts, most: int) -> dict:
    """The metrics of an explainer's word scores, judged by base, which reads texts without words, or these words
    alone.

    Returns:
        By name: the AOPC in percent after 5 words ("AOPC@5") and as the mean over 0 to K words ("AOPC over K"), the
        post-hoc accuracy in percent ("post-hoc@5"), base's accuracy "without" 0 to K words and on these words "alone"
        (K + 1,), and the entries of `detection`.
    """
    erasure = Erasure(Reading(encoded, base.probabilities, base.empty_token), scores, most=most)
    curves = {"without": right_without(erasure).mean(1).tolist(), "alone": right_alone(erasure).mean(1).tolist()}
    metrics = {
        f"AOPC@{AT}": float(accuracy_drop(erasure, AT).mean()),
        "AOPC over K": float(mean_accuracy_drop(erasure).mean()),
        f"post-hoc@{AT}": float(post_hoc_accuracy(erasure, AT).mean()),
    }
    return metrics | curves | detection(scores, texts, base.labels)


def judge_chance(base: TextClassifier, encoded: Encoded, texts: Texts, most: int, seed: int) -> dict:
    """As `judge`, for random scores: the mean of every metric over draws."""
    generator = np.random.default_rng(seed)
    draws = [judge(random_words(encoded.words.counts, generator), base, encoded, texts, most) for _ in range(DRAWS)]
    return {name: np.mean([draw[name] for draw in draws], axis=0).tolist() for name in draws[0]}


def detection(scores: list[np.ndarray], texts: Texts, labels: Sequence[str]) -> dict[str, list[float]]:
    """Table 5: precision, recall and F1 @1 and @5 in percent, for positive words in positive texts, and negative ones.

    "Very positive" counts as positive. A text is left out if its number of marks differs from its number of words.
    Empty if the data set has no marks.
    """
    if texts.marks is None:
        return {}
    rows = [row for row, text in enumerate(texts.texts) if len(texts.marks[row]) == len(text.split())]
    true_labels = [labels[texts.known_labels[row]].removeprefix("very ") for row in rows]
    marked = [
        [place for place, name in enumerate(texts.marks[row]) if name.removeprefix("very ") == label]
        for row, label in zip(rows, true_labels, strict=True)
    ]
    table = detection_by_class([scores[row] for row in rows], marked, true_labels, ("positive", "negative"), AT)
    return {name: list(values.values()) for name, values in table.items()}


def family(encoder: str) -> str:
    """The paper's encoder, "lstm" or "bert", of an encoder of ours such as "bilstm-random" or "bert-minilm"."""
    return "bert" if encoder.startswith("bert") else "lstm"


def report(rows: list[Row]) -> str:
    """All five tables as markdown."""

    def of_words(metric: str) -> dict[str, Callable[[Row], float]]:
        def of(name: str) -> Callable[[Row], float]:
            return lambda row: row["explanations"][name][metric]

        return {name: of(name) for name in EXPLANATIONS}

    accuracies: dict[str, Callable[[Row], float]] = {
        "base": lambda row: 100 * row["base"], "ATT": lambda row: 100 * row["test"][0],
        "VAT": lambda row: 100 * row["accuracy"],
    }  # fmt: skip
    groups = by_set_and_encoder(rows)
    tables = {
        "Table 2, accuracy": three_columns(groups, accuracies, PUBLISHED),
        f"Table 3, AOPC at {AT}": three_columns(groups, of_words(f"AOPC@{AT}"), AOPC),
        f"Table 4, post-hoc accuracy at {AT}": three_columns(groups, of_words(f"post-hoc@{AT}"), POST_HOC),
        "Table 5, words that people marked (paper: in tweets)": marked_words(groups),
        "Table 6, accuracy by iteration (on validation), whichever was chosen": by_iteration(groups),
    }
    return "\n\n".join(part for table in tables.items() for part in table)


Groups = Mapping[tuple[str, str], list[Row]]  # the runs of each set and encoder


def by_set_and_encoder(rows: list[Row]) -> Groups:
    """In the order of the published table."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for name in PUBLISHED:
        for row in rows:
            if row["set"] == name:
                groups.setdefault((name, row["encoder"]), []).append(row)
    return groups


def three_columns(groups: Groups, columns: Mapping[str, Callable[[Row], float]], published: Columns) -> str:
    """A line for each set and encoder: three columns, the paper's, and the differences of neighbouring columns.

    The mean of these over the sets has a line for each encoder that has several seeds of each.
    """
    first, second, third = columns
    lines: list[list[str]] = []
    of_encoder: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for (name, encoder), group in groups.items():
        values = [np.array([read(row) for row in group]) for read in columns.values()]
        start, of_paper = 3 * (family(encoder) == "bert"), published[name]
        steps = (values[1] - values[0], values[2] - values[1])
        of_encoder.setdefault(encoder, []).append(steps)
        lines.append([
            name, encoder, str(len(group)), *map(spread, values),
            "-" if of_paper is None else shortened(of_paper[start : start + 3]),
            *(mean_told([step]) for step in steps),
        ])  # fmt: skip
    for encoder, sets in of_encoder.items():
        if len(sets) > 1 and all(len(step) > 1 for step, _ in sets):
            means = (mean_told(of_step) for of_step in zip(*sets, strict=True))
            lines.append([f"mean of {len(sets)}", encoder, *[""] * 5, *means])
    head = ("set", "encoder", "seeds", *columns, "paper", f"{second} - {first}", f"{third} - {second}")
    return markdown(head, lines)


def marked_words(groups: Groups) -> str:
    """P, R and F1 at 1 and at 5 of each polarity, ours and the paper's."""
    lines = []
    for (_, encoder), group in groups.items():
        for name in EXPLANATIONS:
            of_paper = WORDS[family(encoder)][name]
            for place, polarity in enumerate(("positive", "negative")):
                explanations = [row["explanations"][name] for row in group]
                values = [explanation[polarity] for explanation in explanations if polarity in explanation]
                if values:
                    lines.append([
                        encoder, name, polarity, str(len(values)), shortened(np.mean(values, axis=0)),
                        "-" if of_paper is None else shortened(of_paper[place]),
                    ])  # fmt: skip
    return markdown(("encoder", "attention", "words", "seeds", "P@1 R@1 F1@1 P@5 R@5 F1@5", "paper"), lines)


def shortened(values: Iterable[float]) -> str:
    return " ".join(f"{value:.1f}" for value in values)


def by_iteration(groups: Groups) -> str:
    """Accuracy by iteration on the test texts and, in brackets, on the validation texts, which choose the iteration;
    then the iteration that each seed chose."""
    most = max((len(row["test"]) for group in groups.values() for row in group), default=0)
    lines = []
    for (name, encoder), group in groups.items():
        test, validation = (100 * np.mean([row[part] for row in group], axis=0) for part in ("test", "validation"))
        means = [f"{on_test:.2f} ({held:.2f})" for on_test, held in zip(test, validation, strict=True)]
        kept = " ".join(str(row["chosen"]) for row in group)
        lines.append([name, encoder, *means, *["-"] * (most - len(means)), kept])
    return markdown(["set", "encoder", *map(str, range(most)), "kept"], lines)


def pictures(rows: list[Row], folder: Path) -> Iterator[str]:
    """Figures 4 and 5, a picture for each set and encoder, with means over seeds."""
    for (name, encoder), group in by_set_and_encoder(rows).items():
        save(partial(draw_curves, rows=group), folder / f"words-{name}-{encoder}", (9, 4), (1, 2))
        yield f"words-{name}-{encoder}"


def draw_curves(axes, rows: list[Row]) -> None:
    """Draws into two axes the accuracy of base without the K words of the highest scores, and on these alone."""
    for panel, (key, title) in zip(axes, PANELS.items(), strict=True):
        for name, colour in zip(EXPLANATIONS, (GREY, *COLOURS), strict=False):
            mean = 100 * np.mean([row["explanations"][name][key] for row in rows], axis=0)
            panel.plot(range(len(mean)), mean, color=colour, label=name)
        panel.set(xlabel="K", ylabel="accuracy of base, percent")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set_title(f"{rows[0]['set']}, {rows[0]['encoder']}: {title}", loc="left")
    axes[0].legend(frameon=False)


TABLE = Table(
    name="vat",
    paper="Zhou et al., Attending via both Fine-tuning and Compressing, Findings of ACL 2021",
    published=PUBLISHED,
    cell=Cell,
    keys=("base", "test", "validation", "chosen", "accuracy", "explanations"),
    cells=cells,
    run=run,
    report=report,
    pictures=pictures,
)
