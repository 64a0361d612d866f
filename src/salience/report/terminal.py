"""Results and explanations in a terminal, legible without colour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from salience.explain.decisions import Decision, explain_decisions
from salience.explain.words import word_spans
from salience.training.run import Run

EXAMPLES = 3
DECISIVE = 3  # words marked in a text


def show_run(run: Run, console: Console | None = None) -> None:
    """The scores beside the baselines', where the run lies, and some test texts with the words that decided."""
    console = console or Console(highlight=False)
    judge = run.metrics.get("judged_on")
    if judge:
        console.print(score_table(run.metrics))
    if judge == "test":
        show_decisions(run, console)
    console.print(f"saved: {run.folder}", markup=False, soft_wrap=True)


def score_table(metrics: dict) -> Table:
    judge = metrics["judged_on"]
    flattered = ", on which the checkpoint was chosen" if judge == "validation" else ""
    table = Table(title=f"{metrics['rows'][judge]} {judge} rows{flattered}", title_justify="left")
    table.add_column("")
    for name in ("accuracy", "macro-F1", "calibration error"):
        table.add_column(name, justify="right")
    for name, found in ({"this model": metrics[judge]} | metrics["baselines"]).items():
        table.add_row(name, *(f"{found[score]:.3f}" for score in ("accuracy", "macro_f1", "calibration_error")))
    return table


def show_decisions(run: Run, console: Console) -> None:
    """Three test texts: the surest right one, the surest wrong one, and the least sure."""
    chosen = telling_rows(run.probabilities, run.task.test.labels)
    examples = run.task.test.examples.take(chosen)
    console.print("three test texts; the words that decided most are marked *so*:", soft_wrap=True)
    for decision, truth in zip(
        explain_decisions(run.model, run.tokenizer, examples.texts, examples.pairs), examples.labels, strict=True
    ):
        console.print(decision_text(decision, truth), soft_wrap=True)


def telling_rows(probabilities: np.ndarray, labels: np.ndarray) -> list[int]:
    confidence = probabilities.max(1)
    right = probabilities.argmax(1) == labels
    by_confidence = np.argsort(-confidence, kind="stable")
    first = [rows[:1] for rows in (by_confidence[right[by_confidence]], by_confidence[~right[by_confidence]])]
    order = np.concatenate([*first, by_confidence[::-1]])
    return list(dict.fromkeys(order.tolist()))[:EXAMPLES]


def decision_text(decision: Decision, truth: str) -> Text:
    """`label (probability), right or wrong: text` with the decisive words marked."""
    verdict = "right" if decision.label == truth else f"wrong, it is {truth}"
    line = Text(f"  {decision.label} ({decision.probability:.2f}, {verdict}): ")
    for text, scores in decision.parts:
        line.append(marked(text, scores)).append("  ")
    return line


def marked(text: str, scores: Sequence[float]) -> Text:
    """The text with its highest-scored words bold, coloured and between asterisks."""
    strongest = set(np.argsort(-np.asarray(scores), kind="stable")[:DECISIVE].tolist())
    line = Text()
    for index, (start, end) in enumerate(word_spans(text)):
        word = text[start:end]
        line.append(f"*{word}*" if index in strongest else word, style="bold yellow" if index in strongest else "")
        line.append(" ")
    return line
