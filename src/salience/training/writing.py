"""The scores of a run in the metadata format of the hub, the `model-index` of a model card.

Format: https://github.com/huggingface/hub-docs/blob/main/modelcard.md, as huggingface_hub reads and writes it.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit
from zipfile import BadZipFile

import numpy as np
import torch
import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from salience.classify import TextClassifier
from salience.classify.abstaining import FILE as THRESHOLDS
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, one_line, printable
from salience.files import replacing, write_json, write_lines, write_whole
from salience.mixing.choosing import PLAIN
from salience.models.architectures import MODEL_TYPES
from salience.runs.folder import HISTORY, OUT_OF_FOLD, PREDICTIONS, PROBABILITIES, RECIPE, read_recipe
from salience.runs.results import FACTS, at_thresholds, judge_of, judged_scores, training_rows_among
from salience.scores.scoring import scoring_in, scoring_of
from salience.scores.thresholds import precision_sentences
from salience.training.baselines import baseline_scores
from salience.training.estimate import Estimated, abstention_sentences, estimate_sentences, with_intervals
from salience.training.prepare import HeldOutPredictions
from salience.training.procedures import Turns
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


# The model card: what the model is, how it was trained, and its scores.

# ModelCard's template is Jinja2 without escaping, as Markdown needs: `markdown` and `code` escape what is shown.
TEMPLATE = "templates/model_card.md.jinja"


def model_card(
    recipe: Recipe, labels: Sequence[str], metrics: dict, about: dict, needs_salience: bool,
    repository: str | None = None, base_model: str | None = None, license: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """The README.md of a run folder or of a repository on the hub, with the metadata that the hub reads.

    Args:
        recipe: the settings of the run.
        labels: the names of the labels, which are shown.
        metrics: the scores of the run, as metrics.json has them.
        about: the versions of the libraries.
        needs_salience: whether the model is an architecture of salience, which transformers alone cannot load.
        repository: "owner/name" of the repository that the card is for: the scores are then in the metadata too, and
            files that only the run folder has are not spoken of. None for the run folder.
        base_model: the name on the hub of the model that was trained further; None if it is none.
        license: of the model, by the hub's name.
        facts: on the data, as of `salience.runs.results.data_facts`; None if they are not known.
    """
    results, judge = hub_results(recipe, metrics) if repository else [], judge_of(metrics)
    data = ModelCardData(
        pipeline_tag=TASK,
        library_name="transformers",
        tags=["salience", recipe.method or PLAIN],
        base_model=base_model,
        license=license,
        model_name=repository.split("/")[-1] if repository and results else None,
        eval_results=results or None,
    )
    card = ModelCard.from_template(
        data,
        template_str=files("salience.training").joinpath(TEMPLATE).read_text(encoding="utf-8"),
        title="Text classifier",
        needs_salience=needs_salience,
        kind="Hugging Face checkpoint with an architecture of salience"
        if needs_salience
        else "plain Hugging Face checkpoint",
        folder=repository or "path/to/this/folder",
        published=repository is not None,
        longest=recipe.max_length,
        names=[markdown(name) for name in labels],
        multi_label="labels" in metrics,
        training=training_summary(recipe, metrics),
        table=score_table(metrics),
        judge=judge,
        intervals=with_intervals(metrics[judge]) if judge is not None else "",
        shared="" if judge is None else training_rows_among(facts, judge),
        estimated=[
            f"{line[0].upper()}{line[1:]}."
            for line in (*estimate_sentences(metrics), *map(markdown, precision_sentences(metrics)))
        ],
        abstains=[markdown(line) for line in abstention_sentences(metrics["abstention"])]
        if "abstention" in metrics
        else [],
        metrics=metrics,
        about=about,
    )
    return str(card)


def training_summary(recipe: Recipe, metrics: dict) -> str:
    """Data, model, method and settings in one sentence."""
    name = recipe.method or PLAIN
    method = "plain training" if name == PLAIN else f"{name} with clean={recipe.clean}"
    if recipe.contrastive:
        method += f" and a contrastive loss of the weight {recipe.contrastive:g}"
    return (
        f"{metrics['rows']['training']} rows of {code(file_name(recipe.data))} on {code(file_name(recipe.model))}: "
        f"{method}, "
        f"{training_steps(recipe, metrics)}, learning rate {recipe.learning_rate:.2g}, seed {recipe.seed}"
    )


def training_steps(recipe: Recipe, metrics: dict) -> str:
    """The number of training steps, or those of every iteration of VAT."""
    if "iterations" not in metrics:
        ended = "" if metrics["steps"] == recipe.steps else f", of which {metrics['steps']} were made"
        return f"{recipe.steps} steps of at most {recipe.batch_size} texts{ended}"
    steps = " + ".join(str(row["steps"]) for row in metrics["iterations"])
    (kept,) = (row["iteration"] for row in metrics["iterations"] if row["kept"])
    procedure = Turns(**recipe.procedure_options)
    return (
        f"{steps} steps of {recipe.batch_size} texts in iterations 0 to {procedure.iterations} of VAT, beta "
        f"{procedure.beta:g}, of which iteration {kept} was selected"
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


def score_table(metrics: dict) -> str:
    """The scores of the model and of the baselines as a table in Markdown; empty if nothing was measured."""
    judged = judged_scores(metrics)
    if judged is None:
        return ""
    shown = scoring_in(next(iter(judged[1].values()))).shown
    lines = [f"| | {' | '.join(shown.values())} |", "|---" * (1 + len(shown)) + "|"]
    lines += [
        f"| {markdown(name)} | {' | '.join(f'{row[score]:.3f}' for score in shown)} |"
        for name, row in judged[1].items()
    ]
    return "\n".join(lines)


# The files of a run: a Hugging Face checkpoint, metrics, predictions, the recipe and the model card.


def measure(task: Task, predictions: HeldOutPredictions, seed: int) -> dict:
    """The scores on every held-out part, and those of the baselines on the test part, or else the validation part.

    Args:
        task: the labelled texts.
        predictions: of the held-out parts; empty if nothing was held out.
        seed: of the bootstrap of the intervals.

    Returns:
        "validation" and "test" to scores with intervals, "baselines" to the scores of each, and "judged_on", the part
        on which the baselines are scored; if there are test rows, also "temperature_scaling", their calibration with a
        temperature that is fitted on the validation rows, or without these on the other half of the test rows
        (`cross_fitted`).
        Empty if nothing was held out.
    """
    parts = {"validation": task.validation, "test": task.test}
    probabilities, decided = predictions.probabilities, predictions.decided
    scoring = scoring_of(task.training.known_labels)
    measured: dict = {
        role: scoring.with_intervals(
            probability, parts[role].known_labels, None, seed, *([decided[role]] if role in decided else [])
        )
        for role, probability in probabilities.items()
    }
    judge = "test" if "test" in measured else "validation"
    if judge not in measured:
        return {}
    if judge == "test":
        tested = probabilities["test"], task.test.known_labels
        measured["temperature_scaling"] = (
            scoring.temperature_scores(probabilities["validation"], task.validation.known_labels, *tested)
            if "validation" in probabilities else scoring.cross_fitted(*tested)
        )  # fmt: skip
    baselines = baseline_scores([(task.training, parts[judge])], len(task.labels))
    return measured | {"baselines": baselines, "judged_on": judge}


@dataclass(frozen=True)
class RunResults:
    """What a run has found.

    Args:
        recipe: the settings of the run.
        task: the labelled texts.
        metrics: the content of metrics.json, to which versions and machine are added.
        predictions: of the held-out parts.
        estimated: the rows of the estimate with their predictions; None if there is none.
    """

    recipe: Recipe
    task: Task
    metrics: dict[str, Any]
    predictions: HeldOutPredictions
    estimated: Estimated | None = None


def write_results(folder: Path, classifier: TextClassifier, results: RunResults, more: Mapping[str, Any]) -> None:
    """Writes the files of a run to a new folder.

    `pipeline("text-classification", model=folder)` of transformers loads the model without salience, except for
    attention classifiers.

    Args:
        folder: replaced if it exists.
        classifier: the trained model with its tokenizer.
        results: of the run.
        more: names of further JSON files to their contents.
    """
    model, tokenizer, recipe = classifier.model, classifier.tokenizer, results.recipe
    about = write_scores(folder, model.device.type, results)
    # The name under which the model was loaded, without the path on this machine.
    model.config._name_or_path = recipe.model
    model.base_model.config._name_or_path = recipe.model
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for name, content in more.items():
        write_json(folder / name, content)
    ours = model.config.model_type in MODEL_TYPES
    card = model_card(recipe, results.task.labels, results.metrics, about, ours, facts=more.get(FACTS))
    write_whole(folder / "README.md", card)


def write_scores(folder: Path, device: str, results: RunResults) -> dict:
    """Writes the files of a run but the model, its tokenizer and its card to a new folder.

    Args:
        folder: replaced if it exists.
        device: on which the run was made, such as "cpu".
        results: of the run.

    Returns:
        "versions" and "machine", as they are written into metrics.json.
    """
    task, metrics, predictions, estimated = results.task, results.metrics, results.predictions, results.estimated
    shutil.rmtree(folder, ignore_errors=True)  # a process was killed while it wrote this folder
    folder.mkdir()
    # Weights can be reproduced to the last bit with the same versions and the same number of threads.
    machine = {"processor": platform.machine(), "device": device, "threads": torch.get_num_threads()}
    about = {"versions": versions(), "machine": machine}
    write_json(folder / "metrics.json", metrics | about)
    judge = metrics.get("judged_on")
    if judge:
        part = task.test if judge == "test" else task.validation
        decided = predictions.decided.get(judge)
        write_predictions(folder, part, predictions.probabilities[judge], task.labels, decided=decided)
    if estimated is not None:
        rows, found = estimated.texts, estimated.probabilities
        more = {"fold": estimated.folds} | ({} if estimated.groups is None else {"group": estimated.groups})
        write_predictions(folder, rows, found, task.labels, OUT_OF_FOLD, more, estimated.decided)
    if "abstention" in metrics:
        names = ("target_precision", "certainty", "thresholds")
        write_json(folder / THRESHOLDS, {name: metrics["abstention"][name] for name in names})
    write_whole(folder / RECIPE, yaml.safe_dump(results.recipe.as_mapping(), sort_keys=False, allow_unicode=True))
    return about


def write_predictions(
    folder: Path, texts: Texts, probabilities: np.ndarray, labels: list[str],
    names: tuple[str, str] = (PREDICTIONS, PROBABILITIES), more: Mapping[str, Any] = MappingProxyType({}),
    decided: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Writes predictions as lines and as arrays.

    Args:
        texts: N texts of a file, with labels.
        probabilities: (N, C), in the order of `labels`.
        names: of both files.
        more: by name, arrays (N,) of further whole numbers of the rows.
        decided: (N, C) bool, the labels that are predicted, where a text can have several.
    """
    rows = prediction_rows(texts, probabilities, labels, decided)
    columns = [{name: int(values[index]) for name, values in more.items()} for index in range(len(texts))]
    write_lines(folder / names[0], (row | column for row, column in zip(rows, columns, strict=True)))
    with replacing(folder / names[1]) as unfinished, open(unfinished, "wb") as file:
        arrays: dict[str, Any] = {"probabilities": probabilities, "labels": texts.known_labels}
        arrays |= {} if decided is None else {"decided": decided}
        np.savez(file, **arrays, names=np.array(labels, str), **more)


def prediction_rows(
    texts: Texts, probabilities: np.ndarray, labels: list[str], decided: np.ndarray | None = None
) -> Iterator[dict]:
    """Yields a row for each text, in the order of the file.

    Args:
        texts: N texts of a file, with labels.
        probabilities: (N, C), in the order of `labels`.
        decided: as of `write_predictions`; "label" and "predicted" are then lists.
    """

    def names(chosen: np.ndarray) -> list[str]:
        return [labels[number] for number in np.flatnonzero(chosen)]

    rows = texts.rows or range(1, len(texts) + 1)
    for index, probability in enumerate(probabilities):
        row: dict = {"row": rows[index], "text": texts.texts[index]}
        if texts.second is not None:
            row["text_pair"] = texts.second[index]
        known: Any = texts.known_labels[index]
        several = decided is not None
        yield row | {
            "label": names(known) if several else labels[known],
            "predicted": labels[int(probability.argmax())] if decided is None else names(decided[index]),
            "probabilities": [round(float(value), 6) for value in probability],
        }


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries on which results depend, by name."""
    return {name: version(name) for name in ("salience", "torch", "transformers", "datasets", "tokenizers")} | {
        "python": platform.python_version()
    }


# What the folder of a finished run holds on its results: scores, predictions, the loss over the steps, the data.


@dataclass(frozen=True)
class JudgedRows:
    """The rows that a run is judged on, and what was predicted for them.

    Attributes:
        kind: "test"; "estimate", rows that each was predicted by a model that was not trained on it; or "validation".
        file: the file of the run that has the texts, a line for each row.
        probabilities: (N, C).
        labels: (N,) class numbers, or (N, C), 0 and 1, where a text can have several labels.
        groups: (N,) the group of each row; None for rows that are independent.
        decided: (N, C) bool, the labels that are predicted, where a text can have several.
    """

    kind: str
    file: str
    probabilities: np.ndarray
    labels: np.ndarray
    groups: np.ndarray | None = None
    decided: np.ndarray | None = None

    @property
    def predicted(self) -> np.ndarray:
        """The most probable classes (N,)."""
        return self.probabilities.argmax(1)

    @property
    def decisions(self) -> np.ndarray:
        """Whether each row gets each label (N, C) bool; where a text has one label, the most probable one."""
        if self.decided is not None:
            return self.decided
        return self.predicted[:, None] == np.arange(self.probabilities.shape[1])


@dataclass(frozen=True)
class FinishedRun:
    """A run as its folder tells it.

    Attributes:
        folder: of the run.
        metrics: as in metrics.json.
        recipe: the settings.
        labels: the names of the C classes; empty if nothing tells them.
        judged: the rows that it is judged on; None if no labelled row was kept from the training.
        history: as of `salience.runs.folder.history_of`; empty for runs that did not keep it.
        facts: as of `salience.runs.results.data_facts`; None for runs that did not keep them.
    """

    folder: Path
    metrics: dict[str, Any]
    recipe: dict[str, Any]
    labels: list[str]
    judged: JudgedRows | None
    history: list[dict[str, Any]]
    facts: dict[str, Any] | None


def read_finished_run(folder: str | Path) -> FinishedRun:
    """Reads the results of a run. Test rows come before those of an estimate, and these before validation rows.

    Raises:
        InputError: the folder is no run, or its files are damaged.
    """
    place = Path(folder).expanduser()
    if not all((place / name).is_file() for name in ("metrics.json", RECIPE)):
        raise InputError(f"{folder} is no run: name a folder that `salience train` has written")
    try:
        metrics, recipe = read_json(place / "metrics.json"), read_recipe(place / RECIPE)
        judged_scores(metrics)  # they are there
        labels, judged = read_judged(place, metrics)
        facts = read_json(place / FACTS) if (place / FACTS).is_file() else None
        history = read_json(place / HISTORY) if (place / HISTORY).is_file() else []
        if not all(isinstance(row, dict) for row in history):
            raise ValueError(f"{HISTORY} is no list of steps")
        classes = [] if facts is None else list(facts["parts"]["training"]["classes"])
        labels = labels or classes
        return FinishedRun(place, metrics, recipe, labels, judged, history, facts)
    except InputError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError, IndexError, BadZipFile) as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{folder} is damaged ({reason}): train it again") from error


def read_json(file: Path) -> Any:
    """The content of a JSON file."""
    return json.loads(file.read_text(encoding="utf-8"))


def read_judged(folder: Path, metrics: dict[str, Any]) -> tuple[list[str], JudgedRows | None]:
    """The names of the classes and the rows that a run is judged on, if there are any.

    Raises:
        ValueError: the arrays do not fit each other.
    """
    kind = judge_of(metrics)
    if kind is None:
        return [], None
    file, arrays = OUT_OF_FOLD if kind == "estimate" else (PREDICTIONS, PROBABILITIES)
    with np.load(folder / arrays, allow_pickle=False) as found:
        names = [str(name) for name in found["names"]]
        groups = found.get("group")
        judged = JudgedRows(kind, file, found["probabilities"], found["labels"], groups, found.get("decided"))
    rows = metrics["estimate"]["rows"] if kind == "estimate" else metrics["rows"][kind]
    if judged.probabilities.shape != (rows, len(names)) or judged.labels.shape not in ((rows,), (rows, len(names))):
        raise ValueError(f"{arrays} does not have the rows of metrics.json")
    return names, judged
