"""The model card of a run: what the model is, how it was trained, and its scores, also in the hub's metadata.

The `model-index` is in the format of https://github.com/huggingface/hub-docs/blob/main/modelcard.md, as
huggingface_hub reads and writes it. The template is Jinja2 without escaping, as Markdown needs: `markdown` and `code`
escape what is shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from salience.errors import listed, printable
from salience.files import PACKINGS
from salience.runs.sentences import (
    HEAD_ALONE,
    abstention_sentences,
    at_thresholds,
    estimate_sentences,
    estimated_by,
    judge_of,
    judged_scores,
    label_threshold_sentences,
    own_scores,
    precision_sentences,
    training_rows_among,
    with_intervals,
)
from salience.scores.labels import labels_in
from salience.settings import with_options

TASK = "text-classification"
# Score of metrics.json -> the hub's name of the metric, its name for people, and its arguments.
METRICS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "accuracy": ("accuracy", "accuracy", None),
    "macro_f1": ("f1", "macro-F1", {"average": "macro"}),
    "micro_f1": ("f1", "micro-F1", {"average": "micro"}),
    "ranking_precision": ("label_ranking_average_precision", "ranking precision", None),
    "calibration_error": ("expected_calibration_error", "calibration error", {"bins": 15}),
}
KINDS = {
    "transformers": "plain Hugging Face checkpoint",
    "sentence-transformers": "model of sentence-transformers, whose vectors are the logits of the labels",
    "salience": "Hugging Face checkpoint with an architecture of salience",
}
FORMATS = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet", ".arrow": "arrow"}


def hub_results(recipe: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[EvalResult]:
    """The scores on the rows that the run is judged on; the names of those of an estimate say that it is one."""
    judge = judge_of(metrics)
    if judge is None:
        return []
    data = sources_of(recipe)
    scores = own_scores(metrics, judge)
    scores = scores | at_thresholds(scores)  # as the model decides
    if judge == "estimate":
        split, sources = "train", data
        remark = f" (estimated by {estimated_by(scores['kind'])}: models of the same recipe, on rows new to them)"
    else:
        split, sources = judge, [recipe[judge]] if recipe[judge] else data
        remark = " (too high: these rows chose the checkpoint)" if judge == "validation" else ""
    source = sources[0]
    kind = data_kind(source)
    name = printable(", ".join(PurePath(urlsplit(each).path).name or each for each in sources))
    return [
        EvalResult(
            task_type=TASK, task_name="Text Classification", dataset_type=kind or source, dataset_name=name,
            dataset_split=split, metric_type=metric, metric_value=round(float(scores[score]), 4),
            metric_name=words + remark, metric_args=arguments,
        )
        for score, (metric, words, arguments) in METRICS.items() if score in scores
    ]  # fmt: skip


def sources_of(recipe: Mapping[str, Any]) -> list[str]:
    """The files or data sets of the rows to train on."""
    return [recipe["data"]] if isinstance(recipe["data"], str) else recipe["data"]


def data_kind(source: str) -> str | None:
    """The format of a file, by the names that `datasets` has for them; None for a data set on the hub."""
    suffixes = [suffix for suffix in PurePath(urlsplit(source).path).suffixes if suffix.lower() not in PACKINGS]
    if suffixes and suffixes[-1].lower() in FORMATS:
        return FORMATS[suffixes[-1].lower()]
    return "text" if is_place(source) else None


def is_place(source: str) -> bool:
    """Whether a name is one of a file or folder, as far as can be told, and not one on the hub."""
    return (
        source.startswith((".", "/", "~")) or source.count("/") > 1 or "\\" in source or "://" in source
        or PurePath(source).suffix.lower() in {*FORMATS, *PACKINGS} or Path(source).expanduser().exists()
    )  # fmt: skip


def model_card(
    recipe: Mapping[str, Any], labels: Sequence[str], metrics: Mapping[str, Any], about: Mapping[str, Any],
    library: str, repository: str | None = None, base_model: str | None = None, license: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """The README.md of a run folder or of a repository on the hub, with the metadata that the hub reads.

    Args:
        about: the versions of the libraries.
        library: what loads the model, as of `salience.models.architectures.library_of`.
        repository: "owner/name" of the repository that the card is for: the scores are then in the metadata too, and
            files that only the run folder has are not spoken of. None for the run folder.
        base_model: the name on the hub of the model that was trained further; None if it is none.
        license: of the model, by the hub's name.
        facts: on the data, as of `salience.runs.results.data_facts`; None if they are not known.
    """
    results, judge = hub_results(recipe, metrics) if repository else [], judge_of(metrics)
    data = ModelCardData(
        pipeline_tag=TASK,
        library_name="sentence-transformers" if library == "sentence-transformers" else "transformers",
        tags=["salience", recipe["method"] or "plain"],
        base_model=base_model,
        license=license,
        model_name=repository.split("/")[-1] if repository and results else None,
        eval_results=results or None,
    )
    card = ModelCard.from_template(
        data,
        template_str=files("salience.runs").joinpath("templates/model_card.md.jinja").read_text(encoding="utf-8"),
        title="Text classifier",
        library=library,
        kind=KINDS[library],
        folder=repository or "path/to/this/folder",
        published=repository is not None,
        longest=recipe["max_length"],
        names=[markdown(name) for name in labels],
        multi_label="labels" in metrics,
        training=training_summary(recipe, metrics),
        table=score_table(metrics),
        judge=judge,
        intervals=with_intervals(metrics[judge]) if judge is not None else "",
        shared="" if judge is None else training_rows_among(facts, judge),
        estimated=[
            f"{line[0].upper()}{line[1:]}."
            for line in (
                *estimate_sentences(metrics),
                *map(markdown, (*precision_sentences(metrics), *label_threshold_sentences(metrics))),
            )
        ],
        abstains=[markdown(line) for line in abstention_sentences(metrics)],
        own_threshold="label_threshold" in metrics and "labels" not in metrics,
        metrics=metrics,
        about=about,
    )
    return str(card)


def training_summary(recipe: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    """Data, model, method and settings in one sentence."""
    method = training_method(recipe)
    if recipe["method"] not in (None, "plain"):
        method += f" with clean={recipe['clean']}"
    if recipe["contrastive"]:
        method += f" and a contrastive loss of weight {recipe['contrastive']:g}"
    how = f"{method}, {training_steps(recipe, metrics)}, learning rate {recipe['learning_rate']:.2g}"
    if not metrics["steps"]:
        how = HEAD_ALONE
    taught = (
        "" if (teacher := recipe.get("teacher")) is None else f", the probabilities of {code(file_name(teacher))},"
    )
    return (
        f"{metrics['rows']['training']} rows of {listed(map(code, map(file_name, sources_of(recipe))))}{taught} on "
        f"{code(file_name(recipe['model']))}: {how}, seed {recipe['seed']}"
    )


def training_method(recipe: Mapping[str, Any]) -> str:
    """How a recipe trains: "fine-tuning without mixing", or a method such as "senmixup:alpha=1"."""
    name = recipe["method"] or "plain"
    return "fine-tuning without mixing" if name == "plain" else with_options(name, recipe.get("method_options") or {})


def training_steps(recipe: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    """The number of training steps, or those of every iteration of VAT."""
    if "iterations" not in metrics:
        ended = "" if metrics["steps"] == recipe["steps"] else f", of which {metrics['steps']} were made"
        return f"{recipe['steps']} steps of at most {recipe['batch_size']} texts{ended}"
    steps = " + ".join(str(row["steps"]) for row in metrics["iterations"])
    (kept,) = (row["iteration"] for row in metrics["iterations"] if row["kept"])
    beta = recipe["procedure_options"].get("beta", 0.1)  # its default, see `salience.training.procedures.Turns`
    return (
        f"{steps} steps of {recipe['batch_size']} texts in iterations 0 to {metrics['iterations'][-1]['iteration']} "
        f"of VAT, beta {beta:g}, of which iteration {kept} was selected"
    )


# Characters with a meaning inside a line of Markdown: CommonMark, and GitHub's tables, links, formulas and emoji.
SPECIAL = re.compile(r"[\\`*_{}\[\]<>&|~$:@#^=]|(?<=www)\.", re.IGNORECASE)


def markdown(text: str) -> str:
    """A text escaped for a line of Markdown, so that a label cannot become a link, an HTML element or a table cell."""
    return SPECIAL.sub(lambda match: f"\\{match[0]}", printable(text))


def code(text: str) -> str:
    """A text as a code span of Markdown: between more backticks than it has in a row itself."""
    text = printable(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def file_name(source: str) -> str:
    """The last part of a path: cards are published and must not show the folders of a machine."""
    if os.path.exists(source):  # also False for strings that are not paths
        return Path(source).name
    return urlsplit(source).path if "://" in source else source


def score_table(metrics: Mapping[str, Any]) -> str:
    """The scores of the model and of the baselines as a table in Markdown; empty if nothing was measured."""
    judged = judged_scores(metrics)
    if judged is None:
        return ""
    shown = labels_in(next(iter(judged[1].values()))).shown
    lines = [f"| | {' | '.join(shown.values())} |", "|---" * (1 + len(shown)) + "|"]
    lines += [
        f"| {markdown(name)} | {' | '.join(f'{row[score]:.3f}' for score in shown)} |"
        for name, row in judged[1].items()
    ]
    return "\n".join(lines)
