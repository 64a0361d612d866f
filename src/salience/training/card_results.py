"""The scores of a run in the metadata format of the hub, the `model-index` of a model card.

Format: https://github.com/huggingface/hub-docs/blob/main/modelcard.md, as huggingface_hub reads and writes it.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import EvalResult

from salience.errors import printable
from salience.training.judged_scores import at_thresholds, judge_of
from salience.training.recipe import Recipe

TASK = "text-classification"
# Score of metrics.json -> the hub's name of the metric, its name for people, and its arguments.
METRICS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "accuracy": ("accuracy", "accuracy", None),
    "macro_f1": ("f1", "macro-F1", {"average": "macro"}),
    "micro_f1": ("f1", "micro-F1", {"average": "micro"}),
    "ranking_precision": ("label_ranking_average_precision", "ranking precision", None),
    "calibration_error": ("expected_calibration_error", "calibration error", {"bins": 15}),
}
FORMATS = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet", ".arrow": "arrow"}


def hub_results(recipe: Recipe, metrics: dict[str, Any]) -> list[EvalResult]:
    """The scores of the model, on the rows that the run is judged on; empty if nothing was measured.

    Scores of an estimate are those of other models of the same recipe; the name of the metric says so.

    Args:
        recipe: the settings of the run.
        metrics: as metrics.json has them.
    """
    judge = judge_of(metrics)
    if judge in ("test", "validation"):
        scores, split, remark = metrics[judge], judge, ""
        source = (recipe.test if judge == "test" else recipe.validation) or recipe.data
        if judge == "validation":
            remark = " (the checkpoint was chosen by these rows)"
    elif judge == "estimate":
        scores, split, source = metrics["estimate"], "train", recipe.data
        remark = f" (estimated by {scores['kind']}: models of the same recipe, on rows that were new to them)"
        scaled = scores["temperature_scaling"]["calibration_error_scaled"]
        if scores["calibrated"] and scaled is not None:
            scores = scores | {"calibration_error": scaled}
    else:
        return []
    scores = scores | at_thresholds(scores)  # as the model decides
    kind, name = data_kind(source), printable(PurePath(urlsplit(source).path).name or source)
    return [
        EvalResult(
            task_type=TASK, task_name="Text Classification", dataset_type=kind or source, dataset_name=name,
            dataset_split=split, metric_type=metric, metric_value=round(float(scores[score]), 4),
            metric_name=words + remark, metric_args=arguments,
        )
        for score, (metric, words, arguments) in METRICS.items() if score in scores
    ]  # fmt: skip


def data_kind(source: str) -> str | None:
    """The format of a file, by the names that `datasets` has for them; None for a data set on the hub."""
    suffixes = [suffix for suffix in PurePath(urlsplit(source).path).suffixes if suffix != ".gz"]
    if suffixes and suffixes[-1].lower() in FORMATS:
        return FORMATS[suffixes[-1].lower()]
    return "text" if is_place(source) else None


def is_place(source: str) -> bool:
    """Whether a name is one of a file or folder, as far as can be told, and not one on the hub."""
    return (
        source.startswith((".", "/", "~")) or source.count("/") > 1 or "\\" in source or "://" in source
        or PurePath(source).suffix.lower() in {*FORMATS, ".gz"} or Path(source).expanduser().exists()
    )  # fmt: skip
