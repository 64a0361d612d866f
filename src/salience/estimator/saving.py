"""The folder of a fitted estimator: a Hugging Face checkpoint and a file with the settings of the estimator."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from salience.errors import InputError, listed, quoted, unknown
from salience.estimator.fitting import plain
from salience.estimator.inputs import class_names
from salience.estimator.targets import OneLabelEach, SeveralLabelsEach, Targets
from salience.files import files_in, whole_folder, write_whole
from salience.inference import TextClassifier
from salience.mixing.choosing import written_method
from salience.outputs import resolved
from salience.training.manifest import write_manifest, written_by_run
from salience.training.procedures import Turns, choose_procedure
from salience.training.recipe import RETIRED, without_retired

SETTINGS = "salience.json"


def save_folder(folder: str | Path, model, tokenizer, settings: Mapping[str, Any]) -> None:
    """Writes model, tokenizer and settings. Only files that an earlier save wrote are replaced.

    Raises:
        InputError: `folder` is a file, or has files of the same names that no save wrote.
        OSError: the folder cannot be written; it is unchanged then.
    """
    target = resolved(Path(folder).expanduser())
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; choose another folder to save to")
    with whole_folder(target) as unfinished:
        model.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        # ASCII, because labels may contain lone surrogates, which UTF-8 cannot encode.
        write_whole(unfinished / SETTINGS, json.dumps(settings, indent=2) + "\n")
        write_manifest(unfinished)
        new = set(files_in(unfinished))
        present = set(files_in(target)) if target.exists() else set()
        earlier = written_by_save(target) & present
        if foreign := sorted(new & present - earlier):
            raise InputError(
                f"{target} contains {listed(map(quoted, foreign), 3)}, which no estimator saved and which is not "
                "overwritten; choose another folder, or move these files elsewhere"
            )
    for name in earlier - new:  # they belong to the earlier model
        (target / name).unlink(missing_ok=True)


def written_by_save(folder: Path) -> set[str]:
    """The files that `save_folder` wrote to a folder; an empty set for a run folder of `salience train`."""
    written = written_by_run(folder)
    return written if SETTINGS in written else set()


def read_settings(folder: Path) -> dict[str, Any]:
    """The settings that `save_folder` wrote to a folder; empty if there are none.

    Raises:
        InputError: the file is damaged.
    """
    file = folder / SETTINGS
    if not file.is_file():
        return {}
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(file, error) from error
    if not isinstance(settings, dict) or not isinstance(settings.get("parameters", {}), dict):
        raise damaged(file, "it does not contain settings")
    return settings


def damaged(file: Path, reason: object) -> InputError:
    """The error for a damaged settings file."""
    return InputError(f"{file} is damaged ({reason}); save the classifier again")


def stored_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as values of JSON. A method or procedure is stored by its name and its settings.

    Raises:
        InputError: a parameter cannot be written as JSON; names it.
    """
    parameters = dict(parameters)
    if not isinstance(parameters["method"], str | None):
        parameters["method"], parameters["method_options"] = written_method(parameters["method"])
    if parameters["procedure"] is not None:
        parameters["procedure"] = asdict(parameters["procedure"])
    stored = plain(parameters)
    for name, value in stored.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the parameter {name}={value!r} cannot be saved ({error}); set it to numbers, strings, lists and "
                "dicts of these before saving"
            ) from error
    return stored


def loaded_parameters(folder: Path, settings: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """The parameters that `stored_parameters` stored.

    Args:
        folder: the folder of the estimator, for messages.
        settings: as `read_settings` gives them.
        known: the names of all parameters.

    Raises:
        InputError: an unknown parameter, or a value that does not fit.
    """
    parameters = settings.get("parameters", {})
    try:
        without_retired(parameters, str(folder))
    except InputError as error:  # it predicts as before
        warnings.warn(f"{error}; a further fit does without it", stacklevel=3)
    stored = {name: value for name, value in parameters.items() if name not in RETIRED}
    options = stored.pop("procedure", None)
    for name in stored:
        if name not in known:
            raise unknown(f"parameter in {folder}:", name, known)
    if options:
        procedure = "turns" if options.keys() <= {field.name for field in fields(Turns)} else "standard"
        stored["procedure"] = choose_procedure(procedure, options)
    return stored


def stored_targets(targets: Targets) -> dict[str, Any]:
    """What is predicted, as values of JSON. Raises as `stored_classes`."""
    stored = stored_classes(targets.classes)
    return stored if isinstance(targets, OneLabelEach) else stored | {"predicted_type": targets.dtype.str}


def loaded_targets(folder: Path, settings: Mapping[str, Any], classifier: TextClassifier) -> Targets:
    """What `stored_targets` stored, or what a model predicts that `salience train` has written.

    Args:
        folder: the folder of the estimator, for messages.
        settings: as `read_settings` gives them.
        classifier: the trained classifier.

    Raises:
        InputError: the settings are damaged, or belong to another model.
    """
    classes = loaded_classes(folder, settings, classifier.labels)
    if not classifier.multi_label:
        return OneLabelEach(classes)
    try:
        dtype = np.dtype(settings.get("predicted_type", "int64"))
    except TypeError as error:
        raise damaged(folder / SETTINGS, error) from error
    if dtype.kind not in "biuf":
        raise damaged(folder / SETTINGS, f"{quoted(dtype)} is no type of numbers")
    return SeveralLabelsEach(classes, dtype)


def stored_classes(classes: np.ndarray) -> dict[str, Any]:
    """Classes (C,) and their type as values of JSON.

    Raises:
        InputError: they are neither strings nor numbers nor bools.
    """
    values = [plain(value) for value in classes.tolist()]
    for value in values:
        if type(value) not in (str, int, float, bool) or value != value or classes.dtype.kind in "mM":
            raise InputError(
                f"labels of type {type(value).__name__}, such as {quoted(value)}, cannot be saved; fit with labels "
                "that are strings, whole numbers or bools, for example [str(label) for label in y]"
            )
    return {"classes": values, "classes_type": classes.dtype.str}


def loaded_classes(folder: Path, settings: Mapping[str, Any], names: Sequence[str]) -> np.ndarray:
    """The classes (C,) that `stored_classes` stored, with their type; the labels of the model if none are stored.

    Args:
        folder: the folder of the estimator, for messages.
        settings: as `read_settings` gives them.
        names: the labels of the model.

    Raises:
        InputError: the settings are damaged, or belong to another model.
    """
    if "classes" not in settings:
        return np.array(names)
    try:
        classes = np.array(settings["classes"], dtype=np.dtype(settings["classes_type"]))
        matches = class_names(classes) == list(names)
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise damaged(folder / SETTINGS, error) from error
    if not matches:
        raise damaged(folder / SETTINGS, "its classes differ from the labels in config.json")
    return classes
