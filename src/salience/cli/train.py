"""`salience train`: settings in, the folder of a run out; its scores and some explained test texts are printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from salience.cli.options import ReportTo, of_setting, settings_in
from salience.cli.settings import merged, read_config, with_assigned
from salience.errors import one_line
from salience.settings import assigned, comma_separated

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from salience.classify import TextClassifier
    from salience.training.run import Run

EXAMPLES = 3  # texts that are shown
DATA, SCORES, MODEL, TRAINING, OUTPUT = "Data", "Scores", "Model", "Training", "Output"  # groups of the help


def train(
    data: Annotated[
        str | None,
        Argument(help="Labelled texts: csv, tsv, jsonl, parquet, hub name.", rich_help_panel=DATA),
    ] = None,
    test: Annotated[
        str | None, of_setting("test", "Rows for the final test.  [default: none]", DATA, "FILE")
    ] = None,
    validation: Annotated[
        str | None, of_setting("validation", "Rows that select the checkpoint.  [default: none]", DATA, "FILE")
    ] = None,
    text: Annotated[
        str | None, of_setting("text", "Column of the text.  [default: guessed]", DATA, "COLUMN")
    ] = None,
    text_pair: Annotated[
        str | None, of_setting("text_pair", "Column of a second text.  [default: guessed]", DATA, "COLUMN")
    ] = None,
    label: Annotated[
        str | None, of_setting("label", "Column of the label, or columns of 0 and 1.", DATA, "COLUMN")
    ] = None,
    label_separator: Annotated[
        str | None, of_setting("label_separator", "What divides several labels of a text.", DATA)
    ] = None,
    group: Annotated[
        str | None, of_setting("group", "Column of groups that are not divided.", DATA, "COLUMN")
    ] = None,
    encoding: Annotated[
        str | None, of_setting("encoding", "Character encoding of csv and tsv.  [default: utf-8]", DATA)
    ] = None,
    bad_rows: Annotated[
        str | None, of_setting("bad_rows", "Rows without text or label: error or skip.", DATA)
    ] = None,
    estimate: Annotated[
        str | None, of_setting("estimate", "Scores on new rows: none, holdout, folds:K.", SCORES)
    ] = None,
    target_precision: Annotated[
        float | None, of_setting("target_precision", "Precision below which predict abstains.", SCORES)
    ] = None,
    model: Annotated[
        str | None, of_setting("model", "minilm, a folder, a hub name, or attention:dot.", MODEL)
    ] = None,
    set_model: Annotated[
        list[str] | None,
        Option("--set-model", metavar="NAME=VALUE", rich_help_panel=MODEL,
               help="Setting of an attention classifier; repeatable."),
    ] = None,
    max_length: Annotated[
        int | None, of_setting("max_length", "Tokens read at once.  [default: at most 512]", MODEL)
    ] = None,
    long: Annotated[
        str | None, of_setting("long", "Of longer texts: head, head-tail or windows.", MODEL)
    ] = None,
    method: Annotated[
        str | None, of_setting("method", "plain, or of salience methods: ssmix:window=0.2.", TRAINING)
    ] = None,
    steps: Annotated[
        int | None, of_setting("steps", "Training steps.  [default: by the data]", TRAINING)
    ] = None,
    batch_size: Annotated[
        int | None, of_setting("batch_size", "Texts in a step.  [default: 16; 32 from 2,000 on]", TRAINING)
    ] = None,
    learning_rate: Annotated[
        float | None, of_setting("learning_rate", "Highest rate.  [default: by the model's width]", TRAINING)
    ] = None,
    class_weights: Annotated[
        str | None, of_setting("class_weights", "none, auto, or name=weight,name=weight.", TRAINING)
    ] = None,
    label_descriptions: Annotated[
        str | None, of_setting("label_descriptions", "Yaml file of texts about labels, or names.", TRAINING, "FILE")
    ] = None,
    seed: Annotated[
        int | None, of_setting("seed", "Seed of the random numbers.  [default: 0]", TRAINING)
    ] = None,
    precision: Annotated[
        str | None, of_setting("precision", "Number format: auto, fp32, bf16 or fp16.", TRAINING)
    ] = None,
    device: Annotated[
        str | None, of_setting("device", "Device: auto, cpu or cuda.", TRAINING)
    ] = None,
    set_: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", rich_help_panel=TRAINING,
               help="Any setting of docs/settings.md; repeatable."),
    ] = None,
    config: Annotated[
        Path | None, Option(metavar="FILE", rich_help_panel=OUTPUT, help="Yaml file of settings; options override it.")
    ] = None,
    output: Annotated[
        Path | None,
        Option(metavar="FOLDER", rich_help_panel=OUTPUT, help="Folder to write.  [default: runs/DATA-METHOD]"),
    ] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", rich_help_panel=OUTPUT, help="Replace an existing run in the folder.")
    ] = False,
    resume: Annotated[
        bool, Option("--resume", rich_help_panel=OUTPUT, help="Continue an interrupted run in the folder.")
    ] = False,
    report_to: ReportTo = None,
) -> None:  # fmt: skip
    """Train a classifier, and write it as a plain Hugging Face checkpoint."""
    given = settings_in(locals())
    if of_model := assigned("--set-model", set_model):
        given["model_options"] = of_model
    settings = merged(read_config(config), with_assigned(given, set_))

    from accelerate import PartialState

    from salience.processes import is_main_process
    from salience.report.progress import Progress
    from salience.training.recipe import Recipe
    from salience.training.run import train as trained

    report = ReportOfRun()
    with Progress() as progress:
        recipe = Recipe.from_mapping(settings, str(config or "the command line"))
        if output is None:
            output = Path("runs") / f"{Path(recipe.data).name.split('.')[0] or 'run'}-{recipe.method or 'default'}"
        run = trained(
            recipe, output, overwrite, resume, note=progress.note, callbacks=[progress.callback], config=config,
            report_to=comma_separated(report_to) if report_to else [], written=report,
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
        from salience.cli.report import add_report

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
    """
    from rich.console import Console

    from salience.cli.report import REPORT, confused_lines
    from salience.data.task import worth_describing
    from salience.explainers.explain import explain_texts
    from salience.explainers.gradient import gradient
    from salience.report.terminal import explanation_line, literal, score_table
    from salience.runs.results import read_run
    from salience.runs.sentences import (
        abstention_sentences,
        baseline_ahead,
        estimate_sentences,
        judged_scores,
        precision_sentences,
    )

    console = console or Console(highlight=False)

    def show(*lines: Any) -> None:
        for line in lines:
            console.print(literal(line) if isinstance(line, str) else line, soft_wrap=True)

    judged = judged_scores(run.metrics)
    if judged is not None:
        console.print(score_table(*judged))
        if ahead := baseline_ahead(judged[1]):
            show(ahead)
    if run.probabilities is not None:
        show("three test texts; the words that decided most are marked *so*:")
        texts = run.task.test.take(rows_to_show(run.probabilities, run.task.test.known_labels))
        show(*map(explanation_line, explain_texts(run.classifier, texts, {"gradient": gradient})))
    for number, line in enumerate(estimate_sentences(run.metrics)):
        show(f"{'  ' * (number > 0)}{line}")
    show(*(abstention_sentences(run.metrics["abstention"]) if "abstention" in run.metrics else []))
    show(*precision_sentences(run.metrics))
    if hint := worth_describing(run.task):
        show(hint)
    show(f"saved: {run.folder}")
    if failed:
        show(f"the run is finished, but its report is not ({failed}): salience report {run.folder} makes it again")
    else:
        show(*confused_lines(read_run(run.folder)), f"report: {run.folder / REPORT}")


def rows_to_show(probabilities: np.ndarray, labels: np.ndarray) -> list[int]:
    """The most confident right decision, the most confident wrong one, and the least confident one.

    Of texts with several labels: those whose labels are the most and the least probable, and one in the middle.

    Args:
        probabilities: (N, C).
        labels: (N,) the right classes; or (N, C), 0 and 1.

    Returns:
        Up to three different row indices.
    """
    import numpy as np

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
