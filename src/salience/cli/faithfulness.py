"""`salience faithfulness`: tests of explanations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import AS_IN_TRAINING, Debug, Model, Pieces, catalogue, options_of
from salience.settings import comma_separated
from salience.training.recipe import Recipe


def metric_rows() -> list[tuple[str, str]]:
    """The metrics with unit, direction and source."""
    from salience.faithfulness import METRICS

    return [(name, f"{metric.unit}, {metric.direction}. {metric.reference}") for name, metric in METRICS.items()]


@options_of(Recipe, names=["text", "text_pair", "label", "encoding"], into="columns", unset=AS_IN_TRAINING)
@options_of(Recipe, names=["max_length", "seed", "device"], unset=AS_IN_TRAINING)
def faithfulness(
    model: Model,
    data: Annotated[str, Argument(help="Labelled texts that the classifier was not trained on.")],
    judge: Annotated[
        str | None,
        Option(help="Another trained classifier that predicts the shortened texts.  [default: the model itself]"),
    ] = None,
    explainer: Annotated[
        str | None,
        Option(help="Explainers, separated by commas; random is always added.  [default: all that fit the model]"),
    ] = None,
    metrics: Annotated[
        str | None,
        Option(
            help="Metrics that --list-metrics prints, separated by commas, with a number in place of k, such as "
            "accuracy-drop@5.  [default: all that apply, with --at as k]"
        ),
    ] = None,
    list_metrics: Annotated[bool, catalogue("--list-metrics", "metrics", metric_rows)] = False,
    target: Annotated[
        str,
        Option(
            help="Where a text can have several labels: what is explained, predicted or gold for all such labels of a "
            "text, or one label by its name."
        ),
    ] = "predicted",
    pieces: Pieces = "sum",
    precision: Annotated[
        str,
        Option(
            help="Number format in which explanations are computed: fp32, bf16, or auto, bf16 where the device "
            "computes it faster. What is measured is always computed in fp32."
        ),
    ] = "auto",
    most: Annotated[int, Option(help="Number of words removed, at most.")] = 20,
    at: Annotated[int, Option(help="Number of words for metrics whose name ends in @k.")] = 5,
    rows: Annotated[int | None, Option(help="Read only the first N texts.  [default: all]")] = None,
    marks: Annotated[
        str | None,
        Option(
            help="Column with a label for every word, as annotated by people: also reports precision, recall and F1 "
            "of the words marked with the label of the text."
        ),
    ] = None,
    *,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    output: Annotated[Path | None, Option(help="Folder to write a JSON file and a page with curves to.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing folder.")] = False,
    debug: Debug = False,
) -> None:
    """Test explanations: remove the words that an explainer scores highest, and measure how the decision changes."""
    from salience.commands.faithfulness import check_explanations

    check_explanations(
        model, data, judge=judge, explainers=None if explainer is None else comma_separated(explainer),
        metrics=None if metrics is None else comma_separated(metrics), most=most, at=at,
        rows=rows, output=output, overwrite=overwrite, columns=columns, marks=marks, pieces=pieces,
        precision=precision, target=target, **settings,
    )  # fmt: skip
