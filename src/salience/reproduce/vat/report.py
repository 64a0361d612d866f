"""Tables 2 to 6 and Figures 4 and 5 of VAT from runs, beside the published numbers.

Means and standard deviations over seeds, differences paired by seed. Zhou et al., "Attending via both Fine-tuning and
Compressing", Findings of ACL 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from salience.comparison.statistics import difference, spread
from salience.report.pictures import COLOURS, GREY, save
from salience.reproduce.table import Row
from salience.reproduce.vat.published import AOPC, POST_HOC, PUBLISHED, WORDS, Columns

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
