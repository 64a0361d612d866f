"""`salience train`: settings in, the folder of a run out; its scores and some explained test texts are printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from salience.cli import options
from salience.cli.options import DATA, OUTPUT, TRAINING, folder_for, of_recipe, option, settings_in
from salience.cli.settings import check_files, merged, read_config, with_assigned
from salience.errors import InputError, counted, quoted
from salience.settings import assigned, comma_separated

if TYPE_CHECKING:
    import numpy as np

    from salience.classify import TextClassifier
    from salience.runs.results import Run

EXAMPLES = 3  # texts that are shown
SCORES, MODEL = "Scores", "Model"  # further groups of the help


def train(
    data: Annotated[
        list[str] | None,
        Argument(help="Labelled texts: files, or a data set of the hub.", metavar="DATA", rich_help_panel=DATA),
    ] = None,
    test: Annotated[str | None, of_recipe("Rows for the final test.  [default: none]", DATA, "FILE")] = None,
    validation: Annotated[
        str | None, of_recipe("Rows that select the checkpoint.  [default: none]", DATA, "FILE")
    ] = None,
    text: options.TextColumn = None,
    text_pair: options.PairColumn = None,
    label: options.LabelColumn = None,
    label_separator: options.LabelSeparator = None,
    empty_label: Annotated[str | None, of_recipe("error or none.", DATA, hidden=True)] = None,
    group: Annotated[str | None, of_recipe("Column of groups that are not divided.", DATA, "COLUMN")] = None,
    encoding: options.DataEncoding = None,
    bad_rows: Annotated[str | None, of_recipe("error or skip.", DATA, hidden=True)] = None,
    estimate: Annotated[str | None, of_recipe("Expected scores by: none, holdout or folds:K.", SCORES)] = None,
    target_precision: Annotated[
        float | None, of_recipe("Precision that predict reaches by abstaining.", SCORES)
    ] = None,
    model: Annotated[str | None, of_recipe("minilm, a folder, a hub name, or attention:dot.", MODEL)] = None,
    set_model: Annotated[
        list[str] | None, option("Setting of an attention classifier; repeatable.", MODEL, "NAME=VALUE")
    ] = None,
    max_length: Annotated[int | None, of_recipe("Tokens read at once.  [default: at most 512]", MODEL)] = None,
    long: Annotated[str | None, of_recipe("Part read of longer texts: head, head-tail, windows.", MODEL)] = None,
    method: Annotated[str | None, of_recipe("plain (no mixing), or one of `salience methods`.", TRAINING)] = None,
    trained_layers: Annotated[str | None, of_recipe("all, the top N, or 0: the head alone.", TRAINING, "N")] = None,
    effort: Annotated[str | None, of_recipe("quick, normal or best.  [default: normal]", TRAINING)] = None,
    steps: Annotated[int | None, of_recipe("Training steps.  [default: by the data]", TRAINING)] = None,
    batch_size: Annotated[int | None, of_recipe("Texts in a step.", TRAINING, hidden=True)] = None,
    learning_rate: Annotated[float | None, of_recipe("Highest rate.", TRAINING, hidden=True)] = None,
    time_limit: Annotated[str | None, option("Do less training to fit: 90s, 10m, 2h.", TRAINING, "TIME")] = None,
    class_weights: Annotated[str | None, of_recipe("none, auto, or name=weight,...", TRAINING, hidden=True)] = None,
    label_descriptions: Annotated[
        str | None, of_recipe("Yaml file that describes labels, or names.", TRAINING, "FILE")
    ] = None,
    marks: Annotated[str | None, of_recipe("Column of the words that decide the label.", DATA, "COLUMN")] = None,
    ignore: Annotated[
        str | None, of_recipe("Column of words that must not count.", DATA, "COLUMN", hidden=True)
    ] = None,
    corrections: Annotated[str | None, of_recipe("Rows that salience correct has saved.", DATA, "FILE")] = None,
    ignore_words: Annotated[str | None, of_recipe("Words to ignore, one a line.", DATA, "FILE", hidden=True)] = None,
    seed: options.AnySeed = None,
    precision: options.TrainingPrecision = None,
    device: options.TrainingDevice = None,
    set_: options.Set = None,
    config: options.Config = None,
    output: Annotated[Path | None, option("Folder to write.  [default: runs/DATA-METHOD]", OUTPUT, "FOLDER")] = None,
    overwrite: Annotated[bool, option("Replace an existing run in the folder.", OUTPUT, name="--overwrite")] = False,
    resume: Annotated[bool, option("Continue an interrupted run in the folder.", OUTPUT, name="--resume")] = False,
    report_to: options.ReportTo = None,
) -> None:
    """Train a classifier, and write it as a plain Hugging Face checkpoint."""
    given = settings_in(locals())
    if of_model := assigned("--set-model", set_model):
        given["model_options"] = of_model
    settings = merged(read_config(config), with_assigned(given, set_))
    run_recipe(settings, output, overwrite, resume, config, time_limit, report_to)


def run_recipe(
    settings: Mapping[str, Any], output: Path | None, overwrite: bool, resume: bool, config: Path | None = None,
    time_limit: str | None = None, report_to: str | None = None, suffix: str | None = None,
) -> None:  # fmt: skip
    """Trains a classifier by settings, writes its folder with the report, and prints what is to be known of it.

    The arguments are those of the command; `suffix` ends the name of the folder if none is given.
    """
    from salience.processes import importing, is_main_process, leave_group

    source = str(config or "the command line")
    check_files(settings, source)
    with importing():
        from salience.cli import report
        from salience.report.training_progress import Progress
        from salience.runs.folder import optional
        from salience.training.recipe import Recipe
        from salience.training.run import train as trained

    fault = ""

    def with_report(folder: Path, name: str, classifier: TextClassifier) -> None:
        """Adds the report before the folder gets its name. A fault of it costs no run: it can be made again."""

        def tell(line: str) -> None:
            nonlocal fault
            fault = line

        with optional("its report", tell):
            report.add_report(folder, name, classifier)

    with Progress() as progress:
        recipe = Recipe.from_mapping(settings, source)
        run = trained(
            recipe, output or folder_for(recipe.data, suffix or recipe.method or "default"), overwrite, resume,
            note=progress.note, callbacks=[progress.callback], planned=progress.planned, config=config,
            timed=True, time_limit=None if time_limit is None else seconds_of(time_limit),
            report_to=comma_separated(report_to) if report_to else [], written=with_report,
        )  # fmt: skip
    if is_main_process():
        show_run(run, fault)
    leave_group()


def seconds_of(limit: str) -> float:
    """The seconds of a limit of time: "45", "90s", "10m", "1.5h"."""
    unit = {"s": 1, "m": 60, "h": 3600}.get(limit[-1:])
    try:
        seconds = float(limit if unit is None else limit[:-1]) * (unit or 1)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise InputError(f"--time-limit {quoted(limit)} is no time: give seconds, or 90s, 10m, 2h")
    return seconds


def show_run(run: Run, fault: str) -> None:
    """Prints the scores of a run, its folder, and its report.

    Args:
        fault: why the report could not be made; empty if it was.
    """
    from salience.cli.report import REPORT, confused_lines
    from salience.data.task import worth_describing
    from salience.runs.sentences import decision_sentences, estimate_sentences

    assert run.task is not None  # it was made here
    first, *more = estimate_sentences(run.metrics) or [""]
    lines = [first, *(f"  {line}" for line in more), *decision_sentences(run.metrics)]
    lines += [worth_describing(run.task), f"saved: {run.folder}"]
    if fault:
        lines.append(f"{fault}; make it: salience report {run.folder}")
    else:
        lines += [*confused_lines(run), f"report: {run.folder / REPORT}"]
    show_scores(run, *lines, done="trained; ")


def show_scores(run: Run, *others: str, done: str = "") -> None:
    """Prints what a run is worth, its scores beside those of the baselines, three explained test texts, and `others`.

    `done` begins the first line, and `others` are the last ones.
    """
    from rich.console import Console

    from salience.explainers.explain import explain_texts, explain_unasked
    from salience.report.terminal import explanation_line, literal, score_table
    from salience.runs import sentences

    console, metrics = Console(highlight=False), run.metrics
    lines: list[Any] = []
    if run.predictions is not None:
        outcome = sentences.outcome(metrics, run.facts, run.predictions, int(run.recipe["seed"]))
        console.print(literal(f"{done}{outcome}"), soft_wrap=True)
    if judged := sentences.judged_scores(metrics):
        console.print(score_table(*judged))
        lines.append(sentences.baseline_ahead(judged[1], run.recipe.get("trained_layers") == 0))
    assert run.task is not None  # it was made here
    if run.judge == "test" and run.predictions is not None:
        texts = run.task.test.take(rows_to_show(run.predictions.probabilities, run.predictions.labels))
        shown, told = explain_unasked(
            lambda name, explainer: list(explain_texts(run.classifier, texts, {name: explainer})), "gradient"
        )
        if shown is None:
            lines.append(f"no test text is explained ({told})")
        else:
            lines.append(f"{counted(len(shown), 'test text')}; the words that decided most are marked *so*:")
            lines += map(explanation_line, shown)
    for line in filter(None, [*lines, *others]):
        console.print(literal(line) if isinstance(line, str) else line, soft_wrap=True)


def rows_to_show(probabilities: np.ndarray, labels: np.ndarray) -> list[int]:
    """The most confident right decision, the most confident wrong one, and the least confident one.

    Of multi-label texts: those whose labels are the most and the least probable, and one in the middle.

    Args:
        probabilities: (N, C).
        labels: (N,) the right classes; or (N, C), 0 and 1.
    """
    import numpy as np

    if labels.ndim == 2:
        likely = np.log(np.where(labels == 1, probabilities, 1 - probabilities) + 1e-12).sum(1)
        order = np.argsort(-likely)[[0, -1, len(labels) // 2]]
    else:
        order = np.argsort(-probabilities.max(1), kind="stable")
        right = (probabilities.argmax(1) == labels)[order]
        order = np.concatenate([order[right][:1], order[~right][:1], order[::-1]])
    return list(dict.fromkeys(order.tolist()))[:EXAMPLES]
