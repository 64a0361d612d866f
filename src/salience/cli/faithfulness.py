"""`salience faithfulness`: tests explanations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option
from typer.core import TyperCommand


class ListsMetrics(TyperCommand):
    """A command whose help ends with the catalogue of metrics, which is imported only then."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes each metric with its unit, direction and source."""
        from salience.faithfulness import METRICS

        with formatter.section("Metrics"):
            formatter.write_dl([
                (name, f"{metric.unit}, {metric.direction}. {metric.reference}") for name, metric in METRICS.items()
            ])  # fmt: skip


def faithfulness(
    model: Annotated[str, Argument(help="The trained classifier whose explanations are tested.")],
    data: Annotated[str, Argument(help="Labelled texts that it was not trained on.")],
    judge: Annotated[
        str | None, Option(help="Another trained classifier that predicts the shortened texts. [the model itself]")
    ] = None,
    explainer: Annotated[
        str | None, Option(help="Explainers, separated by commas; random is always added. [all that fit the model]")
    ] = None,
    metrics: Annotated[
        str | None,
        Option(
            help="Metrics of the list below, separated by commas, with a number in place of k: accuracy-drop@5. [all "
            "that apply, with --at as k]"
        ),
    ] = None,
    pieces: Annotated[str, Option(help="How token scores are aggregated to a word score: sum or max.")] = "sum",
    most: Annotated[int, Option(help="Remove the top 1 to N words.")] = 20,
    at: Annotated[int, Option(help="The number of words for metrics whose name ends in @k.")] = 5,
    rows: Annotated[int | None, Option(help="Read only the first N texts. [all]")] = None,
    text: Annotated[str | None, Option(help="Column of the text. [as in training, or guessed]")] = None,
    text_pair: Annotated[str | None, Option(help="Column of a second text. [as in training, or guessed]")] = None,
    label: Annotated[str | None, Option(help="Column of the label. [as in training, or guessed]")] = None,
    marks: Annotated[
        str | None,
        Option(
            help="Column with a label for every word, as annotated by people: also reports precision, recall and F1 "
            "of the words marked with the label of the text."
        ),
    ] = None,
    encoding: Annotated[str, Option(help="Character encoding of csv and tsv files.")] = "utf-8",
    max_length: Annotated[int | None, Option(min=1, help="Number of tokens read of a text. [as in training]")] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the random scores and of all random draws.")] = 0,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    output: Annotated[Path | None, Option(help="Folder to write a JSON file and a page with curves to.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing folder.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Test explanations: remove the words that an explainer scores highest, and see how the decision changes."""
    from salience.commands.faithfulness import check_explanations

    check_explanations(
        model, data, judge=judge, explainers=None if explainer is None else explainer.split(","),
        metrics=None if metrics is None else [name.strip() for name in metrics.split(",")], most=most, at=at,
        rows=rows, seed=seed, device=device, output=output, overwrite=overwrite, max_length=max_length,
        columns={"text": text, "text_pair": text_pair, "label": label, "encoding": encoding}, marks=marks,
        pieces=pieces,
    )  # fmt: skip
