"""A fitted estimator as a folder: a plain Hugging Face checkpoint, and what the estimator adds to it in one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from salience.errors import InputError, listed, quoted, unknown
from salience.estimator.fitting import plain
from salience.estimator.inputs import class_names
from salience.files import files_in, whole_folder, write_whole
from salience.mixing.choosing import written_method
from salience.outputs import resolved
from salience.training.manifest import BEFORE_MANIFESTS, write_manifest, written_by_run
from salience.training.procedures import Turns, choose_procedure
from salience.training.recipe import from_earlier

SETTINGS = "salience.json"


def save_folder(folder: str | Path, model, tokenizer, settings: Mapping[str, Any]) -> None:
    """Writes model, tokenizer and settings. Of what the folder holds, only the files of an earlier save are replaced.

    Raises:
        InputError: `folder` is a file, or holds a file of the same name that no save has written.
        OSError: the folder cannot be written; what was there is as it was.
    """
    target = resolved(Path(folder).expanduser())
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; choose another folder to save to")
    with whole_folder(target) as unfinished:
        model.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        write_whole(
            unfinished / SETTINGS, json.dumps(settings, indent=2) + "\n"
        )  # ASCII: labels may be half characters
        write_manifest(unfinished)
        new = set(files_in(unfinished))
        present = set(files_in(target)) if target.exists() else set()
        earlier = written_by_save(target) & present
        if foreign := sorted(new & present - earlier):
            raise InputError(
                f"{target} holds {listed(map(quoted, foreign), 3)}, which an estimator has not saved and does not "
                "overwrite; choose another folder, or move these files away"
            )
    for name in earlier - new:  # of another model, which would be mixed with this one
        (target / name).unlink(missing_ok=True)


def written_by_save(folder: Path) -> set[str]:
    """The files of a folder that `save_folder` wrote; none of a run folder of `salience train`."""
    written = written_by_run(folder)
    if written or not (folder / SETTINGS).is_file():
        return written if SETTINGS in written else set()
    try:  # earlier versions wrote no manifest
        return {SETTINGS, *BEFORE_MANIFESTS} if "classes" in read_settings(folder) else set()
    except InputError:
        return set()


def read_settings(folder: Path) -> dict[str, Any]:
    """What `save_folder` was given as settings; nothing if the folder has none.

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
        raise damaged(file, "not the settings of a classifier")
    return settings


def damaged(file: Path, reason: object) -> InputError:
    return InputError(f"{file} is damaged ({reason}); save the classifier again")


def stored_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as JSON can hold them. A method or a procedure is stored by its name and its settings.

    Raises:
        InputError: JSON cannot hold one; names it.
    """
    parameters = dict(parameters)
    if not isinstance(parameters["method"], str):
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
    """The parameters that `stored_parameters` took down, by this version or an earlier one.

    Raises:
        InputError: an unknown parameter, or settings that do not fit.
    """
    stored, _ = from_earlier(settings.get("parameters", {}))
    options = stored.pop("procedure_options", {}) or stored.pop("procedure", None)
    for name in stored:
        if name not in known:
            raise unknown(f"parameter in {folder}:", name, known)
    if options:
        procedure = "turns" if options.keys() <= {field.name for field in fields(Turns)} else "standard"
        stored["procedure"] = choose_procedure(procedure, options)
    return stored


def stored_classes(classes: np.ndarray) -> dict[str, Any]:
    """Classes and their type, as JSON can hold them.

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
    """The classes (C,) that `stored_classes` took down, of their type; the model's names where there are none.

    Raises:
        InputError: the settings are damaged, or belong to another model.
    """
    if "classes" not in settings:
        return np.array(names)
    try:
        kind = np.dtype(settings["classes_type"]) if "classes_type" in settings else None
        classes = np.array(settings["classes"], dtype=kind)
        same = class_names(classes) == list(names)
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(folder / SETTINGS, error) from error
    if not same:
        raise damaged(folder / SETTINGS, "its classes are not those of config.json")
    return classes
