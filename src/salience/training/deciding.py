"""How a finished run decides: thresholds by its out-of-fold rows, without training, and their place in its folder.

Of texts with one label, the threshold of a label is `predicted_from` in config.json, and those below which the run
abstains are in abstention.json; a run has the ones or the others. Of multi-label texts, both are the
`label_thresholds` in config.json. metrics.json has what the rows say of them, as after a training.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from salience.errors import InputError, listed, quoted
from salience.files import locked, resolved, write_json, write_whole
from salience.models.architectures import library_of
from salience.models.loading import load_configuration
from salience.models.problem import thresholds_in
from salience.runs.card import model_card
from salience.runs.folder import (
    ABSTENTION,
    MANIFEST,
    METRICS,
    OUT_OF_FOLD,
    PREDICTIONS,
    PROBABILITIES,
    add_to_manifest,
    optional,
)
from salience.runs.results import (
    OutOfFold,
    Run,
    read_predictions,
    read_rows,
    texts_of,
    write_abstention,
    write_predictions,
)
from salience.scores import held_out
from salience.scores.intervals import mean_interval
from salience.scores.labels import AT_THRESHOLDS, SEVERAL_LABELS, labels_of
from salience.scores.metrics import each_label
from salience.scores.predictions import Predictions
from salience.scores.thresholds import CERTAINTY, Curve, label_numbers, reachable_for_label


@dataclass(frozen=True)
class LabelRows:
    """One label in the independent rows of an estimate.

    Attributes:
        probabilities: (M,) of the label, scaled.
        has_label, usual: (M,) bool, whether a row has the label, and gets it without a threshold.
        seed: of the bootstrap.
    """

    label: str
    probabilities: np.ndarray
    has_label: np.ndarray
    usual: np.ndarray
    seed: int

    @classmethod
    def of(cls, found: OutOfFold, label: str, seed: int) -> LabelRows:
        """Those of a label of the run."""
        probabilities, labels = found.independent(seed)
        number, scoring = found.names.index(label), labels_of(labels)
        has_label = scoring.right(labels, len(found.names))[:, number]
        return cls(label, probabilities[:, number], has_label, scoring.decisions(probabilities)[:, number], seed)

    @cached_property
    def curve(self) -> Curve:
        return Curve.of(self.probabilities, self.has_label)

    def usual_numbers(self) -> dict[str, Any]:
        """As of `label_numbers`, without a threshold."""
        return numbers_of(self.usual, self.has_label)

    def from_threshold(self, threshold: float) -> np.ndarray:
        """(M,) bool, whether a row gets the label from a threshold on."""
        return self.probabilities.astype(float) >= threshold

    def numbers_from(self, threshold: float) -> dict[str, Any]:
        """As of `label_numbers`, from a threshold on."""
        return numbers_of(self.from_threshold(threshold), self.has_label)

    def for_precision(self, target: float) -> dict[str, Any]:
        """The lowest threshold for a precision, and what the rows say of it, as metrics.json has it.

        "threshold" is None if none passes the test; "reachable" is then the highest precision for which one does.
        """
        usual = int(self.usual.sum())
        place = self.curve.for_precision(self.probabilities, self.has_label, target, usual)
        about = {"chosen_by": {"precision": target}, "certainty": CERTAINTY}
        if place is None:
            reachable = reachable_for_label(self.probabilities, self.has_label, target, usual)
            return {"label": self.label, "threshold": None, "reachable": reachable} | about
        return self.chosen(place) | about

    def for_recall(self, target: float) -> dict[str, Any]:
        """As `for_precision`, of the highest threshold with a recall; nothing is tested."""
        return self.chosen(self.curve.for_recall(target)) | {"chosen_by": {"recall": target}}

    def for_cost(self, false_positive: float, false_negative: float) -> dict[str, Any]:
        """As `for_precision`, of the threshold with the lowest mean cost, which has a 95 % interval."""
        place = self.curve.for_cost(false_positive, false_negative)
        found = self.chosen(place)
        cost, usual = (
            np.where(predicted, false_positive * ~self.has_label, false_negative * self.has_label).astype(float)
            for predicted in (self.from_threshold(found["threshold"]), self.usual)
        )
        interval = mean_interval(cost, None, self.seed)
        return found | {
            "chosen_by": {"cost": {"fp": false_positive, "fn": false_negative}},
            "mean_cost": float(cost.mean()), "mean_cost_interval": None if interval is None else list(interval),
            "usual_cost": float(usual.mean()),
        }  # fmt: skip

    def chosen(self, place: int) -> dict[str, Any]:
        about = {"label": self.label, "threshold": self.curve.threshold(place)}
        return about | {"of": self.curve.rows} | self.curve.numbers(place)


def numbers_of(predicted: np.ndarray, has_label: np.ndarray) -> dict[str, Any]:
    """As of `label_numbers`, of rows (N,), and "of", their number."""
    counts = predicted.sum(), (predicted & has_label).sum(), has_label.sum(), len(has_label)
    return {"of": len(has_label)} | label_numbers(*map(int, counts))


def of_label(predictions: Predictions, number: int) -> dict[str, Any]:
    """As of `numbers_of`, of the label with this number as it is decided."""
    right = labels_of(predictions.labels).right(predictions.labels, predictions.probabilities.shape[1])
    return numbers_of(predictions.decisions[:, number], right[:, number])


def for_target(found: OutOfFold, target: float, seed: int) -> dict[str, Any]:
    """What metrics.json says of the thresholds for a precision of all that is decided, as after `--target-precision`.

    Its part "abstention"; or "label_precision" of the estimate, where texts are multi-label.
    """
    own = found.predictions
    given = own.probabilities, own.labels, found.names, target, found.temperature, own.groups, seed
    return held_out.label_precision(*given)[1] if labels_of(own.labels).several else held_out.abstention(*given)


def save_threshold(run: Run, found: OutOfFold, chosen: Mapping[str, Any], note: Callable[[str], None]) -> None:
    """Writes the threshold of one label, as of `LabelRows`, into the folder of a run: from now on it decides by it.

    `note` is told if its card cannot be written.
    """
    several, name, value = labels_of(found.predictions.labels).several, chosen["label"], chosen["threshold"]
    place, number, metrics = checked_folder(run, found), found.names.index(name), {**run.metrics}
    metrics["label_threshold"] = dict(chosen)
    with locked(place):
        if several:
            thresholds = thresholds_in(load_configuration(str(place)), found.names)
            thresholds[number] = value
            stated = {**metrics["estimate"].get("label_precision", {}).get("labels", {})}
            if stated.pop(name, None):  # what was stated of the others still holds
                stated_of = metrics["estimate"]["label_precision"] | {"labels": stated}
                metrics["estimate"] = metrics["estimate"] | {"label_precision": stated_of}
            write_thresholds(place, found.names, thresholds)
            metrics = redecided(place, run, metrics, found, thresholds)
            if "test" in metrics:
                _, test = read_predictions(place)
                metrics["label_threshold"]["test"] = of_label(test, number)
        else:
            change_configuration(place, {"predicted_from": {name: value}})
            (place / ABSTENTION).unlink(missing_ok=True)
            metrics.pop("abstention", None)
            if run.judge == "test" and run.predictions is not None:
                own = np.where(np.arange(len(found.names)) == number, value, np.nan)
                decided = labels_of(run.predictions.labels).decisions(run.predictions.probabilities, own)
                metrics["label_threshold"]["test"] = of_label(replace(run.predictions, decided=decided), number)
        write_about(place, run, metrics, note)


def save_target(run: Run, found: OutOfFold, numbers: Mapping[str, Any], note: Callable[[str], None]) -> None:
    """Writes thresholds, as of `for_target`, into the folder of a run: as if it had been trained for them.

    `note` is as of `save_threshold`.
    """
    place, metrics = checked_folder(run, found), {**run.metrics}
    metrics.pop("label_threshold", None)
    with locked(place):
        if labels_of(found.predictions.labels).several:
            thresholds = np.array([numbers["labels"][name]["threshold"] for name in found.names])
            write_thresholds(place, found.names, thresholds)
            metrics["estimate"] = metrics["estimate"] | {"label_precision": dict(numbers)}
            metrics = redecided(place, run, metrics, found, thresholds)
        else:
            metrics["abstention"] = dict(numbers)
            if run.judge == "test" and run.predictions is not None:
                values = np.array([numbers["thresholds"][name] for name in found.names])
                tested = held_out.decided_scores(run.predictions.probabilities, run.predictions.labels, values)
                metrics["abstention"]["test"] = tested
            add_to_manifest(place, ABSTENTION)
            write_abstention(place, metrics["abstention"])
            change_configuration(place, {"predicted_from": None})
        write_about(place, run, metrics, note)


def thresholds_now(run: Run, found: OutOfFold) -> np.ndarray:
    """The thresholds by which a run decides (C,), as of `thresholds_in`; NaN of a label that has none."""
    several, names = labels_of(found.predictions.labels).several, found.names
    if (resolved(run.folder) / "config.json").is_file():
        config = load_configuration(str(resolved(run.folder)))
        if several or getattr(config, "predicted_from", None) is not None:
            return thresholds_in(config, names)
    return np.full(len(names), np.nan)


def checked_folder(run: Run, found: OutOfFold) -> Path:
    """The folder of a run that keeps thresholds; refuses one without a model of these labels."""
    place = resolved(run.folder)
    if not all((place / name).is_file() for name in (MANIFEST, "config.json")):
        raise InputError(f"{run.folder} has no model that could keep thresholds: train it again")
    config = load_configuration(str(place))
    if (labels := [config.id2label[number] for number in range(config.num_labels)]) != found.names:
        raise InputError(
            f"{run.folder}: the model has other labels ({listed(map(quoted, labels), 3)}) than its out-of-fold "
            "predictions: train it again"
        )
    return place


def write_thresholds(place: Path, names: Sequence[str], thresholds: np.ndarray) -> None:
    change_configuration(place, {"label_thresholds": dict(zip(names, thresholds.tolist(), strict=True))})


def change_configuration(place: Path, changes: Mapping[str, Any]) -> None:
    """Sets values of a model's config.json; None removes one."""
    content = json.loads((place / "config.json").read_text(encoding="utf-8"))
    changed = {name: value for name, value in (content | changes).items() if value is not None or name not in changes}
    if changed != content:
        write_json(place / "config.json", dict(sorted(changed.items())))


def redecided(
    place: Path, run: Run, metrics: Mapping[str, Any], found: OutOfFold, thresholds: np.ndarray
) -> dict[str, Any]:
    """Decides the rows in a folder by the thresholds of several labels (C,), and returns the metrics of that."""
    seed, own, changed = int(run.recipe["seed"]), found.predictions, dict(metrics)
    parts = {"estimate": (own, found.probabilities, OUT_OF_FOLD)}
    if (judged := metrics.get("judged_on")) is not None:
        _, predictions = read_predictions(place)
        parts[judged] = predictions, predictions.probabilities, (PREDICTIONS, PROBABILITIES)
    for role, (predictions, scaled, files) in parts.items():
        decided = SEVERAL_LABELS.decisions(scaled, thresholds)
        texts = texts_of(read_rows(place, range(len(predictions)), files[0]))
        write_predictions(place, texts, replace(predictions, decided=decided), found.names, files)
        scores = predictions.probabilities, predictions.labels, predictions.groups, seed, decided
        changed[role] = metrics[role] | SEVERAL_LABELS.with_intervals(*scores)
        if role == run.judge:
            changed["labels"] = each_label(*scores[:2], decided, found.names, thresholds)
    changed["estimate"]["label_thresholds"] = True
    for role in {"validation", "test"} & metrics.keys() - parts.keys():  # whose rows are not kept
        changed[role] = {name: value for name, value in metrics[role].items() if AT_THRESHOLDS not in name}
    return changed


def write_about(place: Path, run: Run, metrics: dict[str, Any], note: Callable[[str], None]) -> None:
    """Writes the metrics of a run, and its card anew."""
    write_json(place / METRICS, metrics)
    with optional("its card, README.md,", note):
        library = library_of(load_configuration(str(place)))
        card = model_card(run.recipe, run.labels, metrics, metrics, library, facts=run.facts)
        write_whole(place / "README.md", card)
