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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from transformers import set_seed

from salience.classify import TextClassifier
from salience.comparison.variation import difference, spread
from salience.data.encoding import Encoded
from salience.data.splitting import drawn
from salience.data.task import Task
from salience.data.texts import Texts
from salience.explainers.chance import random_words
from salience.explainers.explain import explain_words
from salience.explainers.pooling import pooling_attention
from salience.faithfulness.accuracy import (
    accuracy_alone,
    accuracy_drop,
    accuracy_without,
    mean_accuracy_drop,
    post_hoc_accuracy,
)
from salience.faithfulness.detection import detection_by_class
from salience.faithfulness.erasure import Erasure, Reading, as_judged
from salience.faithfulness.evaluation import DRAWS
from salience.papers.attention_classifiers.building import build_attention_classifier
from salience.papers.attention_classifiers.options import PRESETS
from salience.papers.datasets import load, train_classifier
from salience.papers.table import Row, Table
from salience.papers.uaftc.training import accuracy
from salience.papers.vat.published import AOPC, POST_HOC, PUBLISHED, WORDS, Columns
from salience.report.pictures import COLOURS, GREY, save
from salience.training.recipe import Recipe

# Explanations of ATT and VAT judged by another model: Tables 3 to 5 of Zhou et al. (Findings of ACL-IJCNLP 2021).

AT = 5  # number of words deleted in Table 3, kept in Table 4 and compared with the marks in Table 5


def judge(scores: list[np.ndarray], base: TextClassifier, encoded: Encoded, texts: Texts, most: int) -> dict:
    """The metrics of one explainer, judged by base.

    Args:
        scores: for each text, the scores of its words (W,).
        base: the model that classifies the texts without words, or with these words alone.
        encoded: the N texts as base reads them, with their words.
        texts: the same texts with their labels, and with their marks if there are any.
        most: largest number of deleted or kept words, K.

    Returns:
        By name: the AOPC in percent after 5 words ("AOPC@5") and as the mean over 0 to K words ("AOPC over K"), the
        post-hoc accuracy in percent ("post-hoc@5"), base's accuracy "without" 0 to K words and on these words "alone"
        (K + 1,), and the entries of `detection`.
    """
    erasure = Erasure(Reading(encoded, base.probabilities, base.empty_token), scores, most=most)
    curves = {"without": accuracy_without(erasure).tolist(), "alone": accuracy_alone(erasure).tolist()}
    metrics = {
        f"AOPC@{AT}": float(accuracy_drop(erasure, AT).mean()),
        "AOPC over K": float(mean_accuracy_drop(erasure).mean()),
        f"post-hoc@{AT}": float(post_hoc_accuracy(erasure, AT).mean()),
    }
    return metrics | curves | detection(scores, texts, base.labels)


def judge_chance(base: TextClassifier, encoded: Encoded, texts: Texts, most: int, seed: int) -> dict:
    """As `judge`, for random scores: the mean of every metric over draws.

    Args:
        seed: of the random scores.
    """
    generator = np.random.default_rng(seed)
    draws = [judge(random_words(encoded.words.counts, generator), base, encoded, texts, most) for _ in range(DRAWS)]
    return {name: np.mean([draw[name] for draw in draws], axis=0).tolist() for name in draws[0]}


def detection(scores: list[np.ndarray], texts: Texts, labels: Sequence[str]) -> dict[str, list[float]]:
    """Table 5: precision, recall and F1 @1 and @5 in percent, for positive words in positive texts, and negative ones.

    "Very positive" counts as positive. A text is left out if its number of marks differs from its number of words.

    Args:
        scores: for each text, the scores of its words (W,).
        texts: the texts with their labels, and with a mark for every word if there are any.
        labels: the names of the classes.

    Returns:
        Class to the values of `detection_by_class`, in their order there; empty if the data set has no marks.
    """
    if texts.marks is None:
        return {}
    rows = [row for row, text in enumerate(texts.texts) if len(texts.marks[row]) == len(text.split())]
    marks = [[label.removeprefix("very ") for label in texts.marks[row]] for row in rows]
    true_labels = [labels[texts.known_labels[row]].removeprefix("very ") for row in rows]
    table = detection_by_class([scores[row] for row in rows], marks, true_labels, ("positive", "negative"), AT)
    return {name: list(values.values()) for name, values in table.items()}


# Tables 2 to 6 and Figures 4 and 5 of VAT from runs, beside the published numbers.

EXPLANATIONS = ("random", "ATT", "VAT")
PANELS = {"without": "without K words", "alone": "on K words alone"}  # keys of a row's curves -> titles


def family(encoder: str) -> str:
    """The paper's encoder, "lstm" or "bert", of an encoder of ours such as "bilstm-random" or "bert-minilm"."""
    return "bert" if encoder.startswith("bert") else "lstm"


def report(rows: list[Row]) -> str:
    """All five tables as markdown."""
    accuracies: dict[str, Callable[[Row], float]] = {
        "base": lambda row: 100 * row["base"], "ATT": lambda row: 100 * row["test"][0],
        "VAT": lambda row: 100 * row["accuracy"],
    }  # fmt: skip
    parts = ["Table 2, accuracy", *_three_columns(rows, accuracies, PUBLISHED)]
    for title, metric, published in (
        ("Table 3, AOPC at 5", "AOPC@5", AOPC), ("Table 4, post-hoc accuracy at 5", "post-hoc@5", POST_HOC),
    ):  # fmt: skip
        columns = {name: _metric_of(name, metric) for name in EXPLANATIONS}
        parts += ["", title, *_three_columns(rows, columns, published)]
    parts += ["", "Table 5, words that people marked (paper: in tweets)", *_marked_words(rows)]
    parts += ["", "Table 6, accuracy by iteration (on validation), whichever was chosen", *_by_iteration(rows)]
    return "\n".join(parts)


def _metric_of(explanation: str, metric: str) -> Callable[[Row], float]:
    return lambda row: row["explanations"][explanation][metric]


def _by_set_and_encoder(rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """The runs of each set and encoder, in the order of the published table."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for name in PUBLISHED:
        for row in rows:
            if row["set"] == name:
                groups.setdefault((name, row["encoder"]), []).append(row)
    return groups


def _three_columns(rows: list[Row], columns: dict[str, Callable[[Row], float]], published: Columns) -> list[str]:
    """A line for each set and encoder: three columns, the paper's, and the differences of neighbouring columns."""
    first, second, third = columns
    lines = [
        "",
        f"| set | encoder | seeds | {first} | {second} | {third} | paper | {second} - {first} | {third} - {second} |",
        "|---" * 9 + "|",
    ]
    for (name, encoder), group in _by_set_and_encoder(rows).items():
        values = [np.array([read(row) for row in group]) for read in columns.values()]
        of_paper = published[name]
        start = 3 * (family(encoder) == "bert")
        paper = "-" if of_paper is None else _formatted(of_paper[start : start + 3])
        lines.append(
            f"| {name} | {encoder} | {len(group)} | " + " | ".join(map(spread, values))
            + f" | {paper} | {difference(values[1], values[0])} | {difference(values[2], values[1])} |"
        )  # fmt: skip
    return lines


def _marked_words(rows: list[Row]) -> list[str]:
    """P, R and F1 at 1 and at 5 of each polarity, ours and the paper's."""
    lines = ["", "| encoder | attention | words | seeds | P@1 R@1 F1@1 P@5 R@5 F1@5 | paper |", "|---" * 6 + "|"]
    for (_, encoder), group in _by_set_and_encoder(rows).items():
        for name in EXPLANATIONS:
            of_paper = WORDS[family(encoder)][name]
            for place, polarity in enumerate(("positive", "negative")):
                explanations = [row["explanations"][name] for row in group]
                values = [explanation[polarity] for explanation in explanations if polarity in explanation]
                if values:
                    lines.append(
                        f"| {encoder} | {name} | {polarity} | {len(values)} | {_formatted(np.mean(values, axis=0))} | "
                        f"{'-' if of_paper is None else _formatted(of_paper[place])} |"
                    )
    return lines


def _formatted(values) -> str:
    return " ".join(f"{value:.1f}" for value in values)


def _by_iteration(rows: list[Row]) -> list[str]:
    """Accuracy by iteration on the test texts and, in brackets, on the validation texts, which choose the iteration;
    then the iteration that each seed chose."""
    groups = _by_set_and_encoder(rows)
    most = max((len(row["test"]) for row in rows), default=0)
    lines = ["", "| set | encoder | " + " | ".join(map(str, range(most))) + " | kept |", "|---" * (most + 3) + "|"]
    for (name, encoder), group in groups.items():
        test, validation = (100 * np.mean([row[part] for row in group], axis=0) for part in ("test", "validation"))
        means = [f"{on_test:.2f} ({held:.2f})" for on_test, held in zip(test, validation, strict=True)]
        kept = " ".join(str(row["chosen"]) for row in group)
        lines.append(f"| {name} | {encoder} | " + " | ".join([*means, *["-"] * (most - len(means)), kept]) + " |")
    return lines


def pictures(rows: list[Row], folder: Path) -> Iterator[str]:
    """Figures 4 and 5, a picture for each set and encoder, with means over seeds."""
    for (name, encoder), group in _by_set_and_encoder(rows).items():
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


LONGEST = 256  # number of words or word pieces that are read of a text


@dataclass(frozen=True)
class Plan:
    """How models with one kind of encoder are trained and judged."""

    epochs: int
    learning_rate: float | None  # None: the default, which depends on the model's width
    iterations: int
    rows: int  # largest number of training rows
    judged: int  # largest number of test texts whose explanations are judged
    most: int  # largest number of deleted words


PLANS = {
    "lstm": Plan(epochs=6, learning_rate=1e-3, iterations=3, rows=10_000, judged=500, most=20),
    "bert": Plan(epochs=4, learning_rate=None, iterations=2, rows=1000, judged=200, most=5),
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
    plan = PLANS[family(cell.encoder)]
    data = replace(data, training=drawn(data.training, plan.rows, cell.seed))
    base, _ = train(cell, data, plan, "base")
    seconds_of_base = time.time() - started
    judged = drawn(data.test, plan.judged, seed=0)
    seen = base.encode(judged, words=True)
    base_accuracy = accuracy(base.model, base.encode(data.test))
    test_accuracies: list[float] = []
    explanations: dict[str, dict] = {}

    def explain(classifier: TextClassifier, name: str) -> None:
        encoded = classifier.encode(judged, words=True)
        scores = explain_words(classifier.model, encoded, pooling_attention)
        explanations[name] = judge(as_judged(scores, encoded.words, seen.words), base, seen, judged, plan.most)

    def watch(classifier: TextClassifier) -> None:
        test_accuracies.append(accuracy(classifier.model, classifier.encode(data.test)))
        if len(test_accuracies) == 1:
            explain(classifier, "ATT")

    classifier, iterations = train(cell, data, plan, "vat", watch)
    explain(classifier, "VAT")
    explanations["random"] = judge_chance(base, seen, judged, plan.most, cell.seed)
    validation_accuracies = [iteration["validation_accuracy"] for iteration in iterations]
    chosen = int(np.argmax(validation_accuracies))
    return {
        "base": base_accuracy, "test": test_accuracies, "explanations": explanations,
        "validation": validation_accuracies, "chosen": chosen, "accuracy": test_accuracies[chosen],
        "rows": len(data.training), "judged": len(judged),
        "seconds_of_base": round(seconds_of_base, 1), "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def train(
    cell: Cell, data: Task, plan: Plan, name: str, watch: Callable[[TextClassifier], None] = lambda classifier: None
) -> tuple[TextClassifier, list[dict]]:
    """Trains the cell's "base" or "vat".

    Args:
        watch: Called with the model after every iteration of VAT.

    Returns:
        The classifier, and for VAT a dictionary for every iteration with its "validation_accuracy".
    """
    kind, vectors = cell.encoder.split("-")
    options = PRESETS[f"{family(kind)}-{name}"]
    if family(kind) == "lstm":
        options = replace(options, bidirectional=kind == "bilstm", embeddings=None if vectors == "random" else vectors)
    set_seed(cell.seed)
    model, tokenizer = build_attention_classifier(
        options, data.labels, data.training.texts, lambda line: None, split=not data.tokenised
    )
    turns = {"iterations": plan.iterations} if model.procedure == "turns" else {}
    recipe = Recipe(
        data=cell.set, method="plain", procedure_options=turns, seed=cell.seed, learning_rate=plan.learning_rate,
        steps=plan.epochs * len(data.training) // 32, batch_size=32,
    )  # fmt: skip
    return train_classifier(TextClassifier(model, tokenizer, LONGEST), data, recipe, watch=watch)


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
