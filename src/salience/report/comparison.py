"""A comparison of methods in a terminal: means over seeds, differences with intervals, and a verdict in words."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from salience.comparison.results import Comparison
from salience.comparison.statistics import spread
from salience.report.terminal import literal, titled

SCORES = {"accuracy": "accuracy", "macro-F1": "macro_f1", "calibration error": "calibration_error"}


def show_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Prints the scores of each method, the differences to the baseline, and a verdict on each method."""
    console = console or Console(highlight=False)
    console.print(score_table(comparison))
    console.print(difference_table(comparison))
    for method in comparison.differences:
        console.print(literal(comparison.verdict(method)), soft_wrap=True)


def score_table(comparison: Comparison) -> Table:
    """Mean and standard deviation over the seeds, a row for each method."""
    table = titled(f"{comparison.rows} test rows, mean ± standard deviation over {len(comparison.seeds)} seeds")
    table.add_column("", overflow="fold")
    for name in SCORES:
        table.add_column(name, justify="right")
    for method, scores in comparison.scores.items():
        table.add_row(literal(method), *(spread(scores[score]) for score in SCORES.values()))
    return table


def difference_table(comparison: Comparison) -> Table:
    """Differences to the baseline with their 95 % intervals, a row for each other method."""
    together = " together" if len(comparison.differences) > 1 else ""
    table = titled(f"difference to {comparison.baseline}, with the interval over seeds (95 %{together})")
    table.add_column("", overflow="fold")
    for name in ("accuracy", "with other test rows", "macro-F1"):
        table.add_column(name, justify="right")
    for method, differences in comparison.differences.items():
        by_rows = f"± {comparison.by_rows[method]:.2f}"
        table.add_row(literal(method), str(differences["accuracy"]), by_rows, str(differences["macro_f1"]))
    return table
