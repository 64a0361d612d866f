"""`salience train`: settings in, the folder of a run out; its scores and some explained test texts are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import PartialState
from rich.console import Console

from salience.classify import TextClassifier
from salience.commands.report import REPORT, add_report, confused_lines
from salience.data.task import worth_describing
from salience.errors import one_line
from salience.explainers.explain import explain_texts
from salience.explainers.gradient import gradient
from salience.processes import is_main_process
from salience.report.terminal import Progress, explanation_line, literal, score_table
from salience.runs.results import (
    abstention_sentences,
    baseline_ahead,
    estimate_sentences,
    judged_scores,
    read_run,
)
from salience.scores.thresholds import precision_sentences
from salience.training.recipe import Recipe
from salience.training.run import Run, train

EXAMPLES = 3  # texts that are shown


def train_and_show(
    settings: Mapping[str, Any], output: Path | None, config: Path | None, *, overwrite: bool, resume: bool,
    report_to: Sequence[str],
) -> None:  # fmt: skip
    """Trains a classifier, shows the progress and then the run.

    Args:
        settings: of the recipe, from the file and the command line.
        output: the folder of the run; None is `runs/DATA-METHOD`, and `runs/DATA-default` where no method is named.
        config: the file of the settings; None if there is none.
        overwrite, resume, report_to: as of `salience.training.run.train`.

    Raises:
        InputError: as `salience.training.run.train`.
    """
    report = ReportOfRun()
    with Progress() as progress:
        recipe = Recipe.from_mapping(settings, str(config or "the command line"))
        if output is None:
            output = Path("runs") / f"{Path(recipe.data).name.split('.')[0] or 'run'}-{recipe.method or 'default'}"
        run = train(
            recipe, output, overwrite, resume, note=progress.note, callbacks=[progress.callback], config=config,
            report_to=report_to, written=report,
        )  # fmt: skip
    if is_main_process():
        show_run(run, report.failed)
    PartialState().destroy_process_group()  # a process that ends while its threads still talk to others is aborted


class ReportOfRun:
    """Adds the report to the folder of a run before the folder gets its name, so that it is complete then.

    What goes wrong is kept in `failed`, and costs no run: the report can be made again. A full disk is no fault of the
    report, and ends the run as it does elsewhere.
    """

    failed = ""

    def __call__(self, folder: Path, name: str, classifier: TextClassifier) -> None:
        """Called with what `salience.training.fit.Listeners.written` is called with."""
        try:
            add_report(folder, name, classifier)
        except OSError:
            raise
        except Exception as error:
            self.failed = one_line(f"{type(error).__name__}: {error}", 200)


def show_run(run: Run, failed: str = "", console: Console | None = None) -> None:
    """Prints the scores beside those of the baselines, three explained test texts, the folder, and its report.

    Args:
        failed: why the report could not be made; empty if it was.
        console: to print to.
    """
    console = console or Console(highlight=False)
    judged = judged_scores(run.metrics)
    if judged is not None:
        console.print(score_table(*judged))
        if ahead := baseline_ahead(judged[1]):
            console.print(literal(ahead), soft_wrap=True)
    if run.probabilities is not None:
        show_decisions(run, console)
    for number, line in enumerate(estimate_sentences(run.metrics)):
        console.print(literal(f"{'  ' * (number > 0)}{line}"), soft_wrap=True)
    abstained = abstention_sentences(run.metrics["abstention"]) if "abstention" in run.metrics else []
    for line in (*abstained, *precision_sentences(run.metrics)):
        console.print(literal(line), soft_wrap=True)
    if hint := worth_describing(run.task):
        console.print(literal(hint), soft_wrap=True)
    console.print(literal(f"saved: {run.folder}"), soft_wrap=True)
    show_report(run, failed, console)


def show_report(run: Run, failed: str, console: Console) -> None:
    """Prints the most confused classes and the path of the report, or why there is none."""
    if failed:
        lines = [f"the run is finished, but its report is not ({failed}): salience report {run.folder} makes it again"]
    else:
        lines = [*confused_lines(read_run(run.folder)), f"report: {run.folder / REPORT}"]
    for line in lines:
        console.print(literal(line), soft_wrap=True)


def show_decisions(run: Run, console: Console) -> None:
    """Prints three test texts with their decisive words: see `rows_to_show`."""
    test = run.task.test
    assert run.probabilities is not None
    texts = test.take(rows_to_show(run.probabilities, test.known_labels))
    console.print("three test texts; the words that decided most are marked *so*:", soft_wrap=True)
    for explanation in explain_texts(run.classifier, texts, {"gradient": gradient}):
        console.print(explanation_line(explanation), soft_wrap=True)


def rows_to_show(probabilities: np.ndarray, labels: np.ndarray) -> list[int]:
    """The most confident right decision, the most confident wrong one, and the least confident one.

    Of texts with several labels: those whose labels are the most and the least probable, and one in the middle.

    Args:
        probabilities: (N, C).
        labels: (N,) the right classes; or (N, C), 0 and 1.

    Returns:
        Up to three different row indices.
    """
    if labels.ndim == 2:
        return np.argsort(-np.log(np.where(labels == 1, probabilities, 1 - probabilities) + 1e-12).sum(1))[
            list(dict.fromkeys([0, len(labels) - 1, len(labels) // 2]))
        ].tolist()
    confidence = probabilities.max(1)
    right = probabilities.argmax(1) == labels
    by_confidence = np.argsort(-confidence, kind="stable")
    first = [rows[:1] for rows in (by_confidence[right[by_confidence]], by_confidence[~right[by_confidence]])]
    order = np.concatenate([*first, by_confidence[::-1]])
    return list(dict.fromkeys(order.tolist()))[:EXAMPLES]
