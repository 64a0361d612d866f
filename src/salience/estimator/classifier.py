"""`SalienceClassifier`: a scikit-learn estimator of texts."""

from __future__ import annotations

import json
import logging
import os
import random
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, is_dataclass, replace
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from salience.classify import TextClassifier, load
from salience.data.splitting import default_share, group_numbers, split
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, listed, quoted, unknown
from salience.estimator.inputs import (
    OneLabelEach,
    SeveralLabelsEach,
    Targets,
    as_groups,
    as_texts,
    class_names,
    targets_of,
)
from salience.files import files_in, resolved, whole_folder, write_whole
from salience.mixing.choosing import choose_method, settable_fields, written_method
from salience.mixing.method import Method, Resolves
from salience.models.precision import for_predictions
from salience.runs.folder import write_manifest, written_by_run
from salience.runs.retired import RETIRED, without_retired
from salience.settings import name_and_options
from salience.training.estimate import Estimated, fit_with_estimate, plan_estimate
from salience.training.fit import Listeners
from salience.training.prepare import prepare
from salience.training.procedures import Standard, Turns, choose_procedure
from salience.training.recipe import Recipe

# From the parameters of the estimator, texts and labels to a trained classifier.

logger = logging.getLogger(__name__)
NOT_OF_RECIPE = ("random_state", "procedure")


def recipe_of(parameters: Mapping[str, Any], seed: int) -> tuple[Recipe, Any]:
    """The recipe for the parameters of the estimator, and the method if it is given as an object, else None.

    Raises:
        InputError: a parameter has a value that is not allowed.
    """
    settings = plain({name: value for name, value in parameters.items() if name not in NOT_OF_RECIPE})
    for name in ("method_options", "model_options"):
        settings[name] = {} if settings[name] is None else settings[name]
    method, procedure = parameters["method"], parameters["procedure"]
    if method is None or isinstance(method, str):
        settings["method"], method = method, None
    elif isinstance(method, type) or not callable(method):
        raise InputError(f'method={method!r}: give a name such as "ssmix", or an object such as SSMix(window=0.2)')
    else:
        if settings["method_options"]:
            raise InputError(
                "method_options are settings of a method given by name; set the fields of the object instead"
            )
        settings["method"] = f"{type(method).__name__}()"  # in messages; `prepare` is given the object
    if not isinstance(procedure, Standard | Turns | None):
        raise InputError(f"procedure={procedure!r}: give Standard(...) or Turns(...), or None for the defaults")
    if procedure is not None:
        settings["procedure_options"] = asdict(procedure)
    return Recipe(data="texts", seed=seed, **settings), method


def plain(value: Any) -> Any:
    """The value with NumPy numbers and arrays as Python objects and paths as strings, also in lists and dicts."""
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {plain(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(plain(entry) for entry in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def seed_from(random_state: int | np.random.RandomState | None) -> int:
    """The seed for a `random_state` of scikit-learn: the number itself, or a number drawn from the generator.

    Args:
        random_state: None stands for NumPy's global generator.

    Raises:
        InputError: `random_state` has another type.
    """
    if isinstance(random_state, Integral):
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r}: give a whole number, a numpy.random.RandomState, or None"
        ) from error


def train(
    recipe: Recipe,
    method: Any,
    texts: Texts,
    names: Sequence[str],
) -> tuple[TextClassifier, Estimated | None]:
    """A classifier trained on labelled texts, and its estimate. The global random generators are not changed.

    Args:
        recipe: the settings.
        method: an object that is used instead of the method of the recipe, or None.
        texts: N texts, or N pairs of texts, with labels.
        names: the names of the classes, in the order of their numbers.

    Returns:
        The classifier; and the estimate, whose texts have their places in `texts` as rows, or None if the recipe asks
        for none.

    Raises:
        InputError: a setting does not fit the model or the data.
    """
    texts = replace(texts, rows=list(range(len(texts))))
    training_rows, validation_rows = parted(texts, recipe, names)
    held_out = texts.take([] if validation_rows is None else validation_rows)
    task = Task(list(names), texts.take(training_rows), held_out)
    with restored_generators(), TemporaryDirectory() as checkpoints:
        prepared = prepare(recipe, task, logger.info, method=method)
        folds = plan_estimate(prepared, task, logger.info)
        fitted, estimated = fit_with_estimate(prepared, task, folds, Path(checkpoints), Listeners(logger.info), method)
        return fitted.classifier, estimated


def parted(
    texts: Texts, recipe: Recipe, names: Sequence[str]
) -> tuple[Sequence[int] | np.ndarray, Sequence[int] | np.ndarray | None]:
    """The indices of training texts and of validation texts; None if no texts are held out.

    Args:
        texts: with labels. Neither their groups nor equal texts are divided.
        recipe: the settings.
        names: the names of the classes.

    Raises:
        InputError: a class has a single text, which cannot be in both parts; or as `split`.
    """
    labels = texts.known_labels
    share = default_share(len(labels)) if recipe.validation_share is None else recipe.validation_share
    if share == 0:
        return np.arange(len(labels)), None
    if labels.ndim == 2:
        several = [tuple(names[number] for number in np.flatnonzero(row).tolist()) for row in labels]
        return split(several, share, recipe.seed, units=group_numbers(texts))
    for number, count in enumerate(np.bincount(labels)):
        if count == 1:
            raise InputError(
                f"the class {quoted(names[number])} has a single text, too few to hold some out for validation; "
                "add texts, or set validation_share=0"
            )
    return split([names[number] for number in labels], share, recipe.seed, units=group_numbers(texts))


@contextmanager
def restored_generators() -> Iterator[None]:
    """Restores the states of the global random generators at the end of the `with`.

    Otherwise training, which seeds these generators, would decide which seeds are drawn after it.
    """
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


# What a fitted estimator predicts.


class Predicting:
    """An estimator that has been fitted.

    Attributes:
        targets_: whether it predicts one label for each text, or several, and which.
        classifier_: the trained classifier.
        pairs_: whether it was fitted on pairs of texts; None if that is not known.
    """

    targets_: Targets
    classifier_: TextClassifier
    pairs_: bool | None

    @property
    def classes_(self) -> np.ndarray:
        """The labels (C,), in the order of the probabilities."""
        return self.targets_.classes

    @property
    def multilabel_(self) -> bool:
        """Whether a text can have several labels."""
        return isinstance(self.targets_, SeveralLabelsEach)

    @property
    def model_(self) -> PreTrainedModel:
        """The trained Hugging Face model."""
        return self.classifier_.model

    @property
    def tokenizer_(self) -> PreTrainedTokenizerBase:
        """The tokenizer of `model_`."""
        return self.classifier_.tokenizer

    @property
    def max_length_(self) -> int:
        """The number of tokens that are read of a text; saved as the tokenizer's `model_max_length`."""
        return self.classifier_.max_length

    def predict_proba(self, X: Sequence) -> np.ndarray:
        """The probabilities of the labels (N, C), in the order of `classes_`.

        With one label for each text they sum to 1. With several, each label has a probability by itself.

        Args:
            X: N texts, or N pairs of texts, as in `fit`.

        Raises:
            NotFittedError: `fit` was not called.
            ValueError: `X` is empty, or contains values that are not texts.
        """
        check_is_fitted(self)
        texts = as_texts(X, allow_empty=True)
        if self.pairs_ is not None and self.pairs_ != (texts.second is not None):
            actual, expected = (
                ("single texts", "pairs of texts") if self.pairs_ else ("pairs of texts", "single texts")
            )
            raise InputError(f"X contains {actual}, but the classifier was fitted on {expected}: give {expected}")
        return self.classifier_.predict_proba(texts)

    def predict(self, X: Sequence) -> np.ndarray:
        """The most probable class of each text (N,); with several labels a matrix (N, C) of 0 and 1.

        A label is 1 where its probability reaches its threshold in the model: 0.5, or its own one, which an estimate
        may have found. Errors as in `predict_proba`.
        """
        probabilities = self.predict_proba(X)
        return self.targets_.predicted(probabilities, self.classifier_)

    def score(self, X: Sequence, y: Any, sample_weight: Any = None) -> float:
        """The accuracy; with several labels the subset accuracy, as scikit-learn has it: all labels must be right.

        Args:
            X: N texts, or N pairs of texts.
            y: N labels; of several, a matrix (N, C) of 0 and 1, or N lists of names.
            sample_weight: (N,), weights of the texts.

        Raises:
            ValueError: `y` has a label that `fit` has not seen; and as in `predict_proba`.
        """
        predicted = self.predict(X)
        return float(accuracy_score(self.targets_.known(y), predicted, sample_weight=sample_weight))


# Nested parameters of the estimator: `method__window` is the field `window` of the method.


class NestedParameters(BaseEstimator):
    """An estimator whose parameters `method` and `procedure` have settings that are parameters, too."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Args:
            deep: whether to include the settings of the method and of the procedure, as `method__window`.
        """
        parameters = super().get_params(deep=False)
        if not deep:
            return parameters
        return parameters | nested_parameters(parameters)

    def set_params(self, **parameters: Any) -> Self:
        """Sets parameters by name, and settings of the method and of the procedure as `method__window`.

        Raises:
            ValueError: an unknown name.
        """
        nested = {name: value for name, value in parameters.items() if "__" in name}
        super().set_params(**{name: value for name, value in parameters.items() if name not in nested})
        for name, value in replaced_parameters(super().get_params(deep=False), nested).items():
            setattr(self, name, value)
        return self


def named(method: str, options: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """A method that is given as a string, without its options, and all its options: ("ssmix", {"window": 0.2}).

    Args:
        method: such as "ssmix:window=0.2".
        options: `method_options`. As in a recipe, an option that is written behind the name is used before these.

    Raises:
        InputError: the options behind the name cannot be read.
    """
    name, written = name_and_options(method, "method")
    return name, {**(options or {}), **written}


def choose(method: str, options: Mapping[str, Any] | None) -> Method | None:
    """The method that a string and `method_options` stand for; None if none is named.

    Raises:
        InputError: an unknown method, or an option that does not fit.
    """
    return choose_method(*named(method, options))


def nested_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the method and of the procedure, as `method__window` and `procedure__beta`.

    Args:
        parameters: the parameters of the estimator by name. Values that do not fit are left to `fit` to report.
    """
    method, procedure = parameters["method"], parameters["procedure"]
    try:
        if isinstance(method, str):
            method = choose(method, parameters["method_options"])
    except (TypeError, ValueError, AttributeError):  # `fit` reports the error
        method = None
    has_settings = isinstance(method, Resolves) and not isinstance(method, type)
    nested = {name: getattr(method, name) for name in settable_fields(method)} if has_settings else {}
    settings = asdict(procedure) if isinstance(procedure, Standard | Turns) else {}
    return {f"method__{name}": value for name, value in nested.items()} | {
        f"procedure__{name}": value for name, value in settings.items()
    }


def replaced_parameters(parameters: Mapping[str, Any], nested: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that change when nested parameters are set. Objects are replaced, not changed in place.

    Args:
        parameters: the parameters of the estimator by name.
        nested: new values, by names such as `method__window`.

    Raises:
        InputError: an unknown name.
    """
    changed: dict[str, Any] = {}
    before = nested_parameters(parameters)
    for name, value in nested.items():
        if name in before and before[name] == value:
            continue
        owner, _, field = name.partition("__")
        if owner not in ("method", "procedure"):
            raise unknown("parameter", name, [*parameters, *before])
        now = {**parameters, **changed}
        check_field(owner, now[owner], field)
        if isinstance(now[owner], str):
            changed["method"], options = named(now["method"], now["method_options"])
            changed["method_options"] = options | {field: value}
        else:
            changed[owner] = replace(now[owner], **{field: value})
    return changed


def check_field(owner: str, value: Any, field: str) -> None:
    """Checks that a method or a procedure has a field.

    Args:
        owner: "method" or "procedure".
        value: the value of this parameter.
        field: the name of the field.

    Raises:
        InputError: it has no such field.
    """
    known = fields_of(owner, value)
    if field in known:
        return
    name = f"{owner}__{field}"
    if value is None:
        raise InputError(f"{name} cannot be set, because no {owner} is given: set {owner} too")
    if not known:
        raise InputError(f"{name} cannot be set: {owner}={value!r} has no settings")
    raise unknown("parameter", name, [f"{owner}__{field}" for field in known])


def fields_of(owner: str, value: Any) -> list[str]:
    """The names of the fields that can be set of a method or a procedure.

    Args:
        owner: "method" or "procedure".
        value: the value of this parameter: the name of a method, or an object.

    Raises:
        InputError: an unknown method.
    """
    if owner == "method" and isinstance(value, str):
        method = choose(value.partition(":")[0], {})
        return [] if method is None else settable_fields(method)
    if isinstance(value, type) or not is_dataclass(value):
        return []
    return [declared.name for declared in fields(value)]


# The folder of a fitted estimator: a Hugging Face checkpoint and a file with the settings of the estimator.

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


class SalienceClassifier(Predicting, ClassifierMixin, NestedParameters):
    """A text classifier, trained by the default recipe of `salience train`.

    Args:
        method: an object such as `SSMix(window=0.2)`, a name of `salience.METHODS`, such as "ssmix", "plain" for
            training without mixing.
            None mixes sentence vectors (senMixup) where the head reads a mean, and nothing elsewhere.
            `set_params` and searches can set its fields, as `method__window`.
        model: "minilm", a folder, a name on the hub, or an attention classifier such as "attention:dot".
        method_options: settings of a method that is given by name, such as {"window": 0.2}.
        model_options: settings of an attention classifier, such as {"encoder": "embeddings", "scale": 10}.
        clean: weight of the loss on the unmixed texts, from 0 to 0.99.
        procedure: settings of the training procedure that the model needs: `Turns(iterations=2)` for VAT,
            `Standard(alignment=0.1)` for other attention classifiers. None for the defaults.
        steps: number of training steps. Here and below, None is replaced by a value that depends on the data.
        batch_size: number of texts in a step.
        learning_rate: highest learning rate.
        pooling: what the head reads: "cls", "mean" or "auto"; see docs/recipe.md.
        head_rate: learning rate of the head, as a multiple of that of the encoder. None is 10 with mean
            pooling, else 1.
        max_length: number of tokens that are read at once.
        long: what is read of longer texts: "head", "head-tail" or "windows".
        validation_share: part of the texts that is held out to select the best checkpoint; 0 for training on all.
        estimate: "holdout" or "folds:K" trains further models, each on a part of the texts, to predict the others.
            `salience train` does so by itself without validation texts; here, "none" is the default,
            because searches and cross-validation measure the model themselves.
        calibrate: fold a temperature into the model, fitted on the texts that the estimate predicts. None does so if
            there is an estimate.
        class_weights: "none", "auto", "name=weight,...", or a mapping from names to weights. Where a text can have
            several labels, the weight of a label is that of the texts that have it.
        label_smoothing: part of every label that is spread evenly over all classes.
        precision: "auto", "fp32", "bf16" or "fp16". "auto" is bf16 where the device computes it faster.
        device: "auto", "cpu" or "cuda".
        random_state: seed of the validation split, the new head, and all random numbers of the training. With a whole
            number, every `fit` gives the same result; with None or a numpy RandomState, every `fit` draws a seed.

    Attributes:
        classes_: the labels (C,), sorted, with their type in `y`. Of several labels, the names, the columns of a
            table, or 0 to C - 1 for the columns of a matrix.
        multilabel_: whether a text can have several labels.
        classifier_: the trained `salience.TextClassifier`, which `salience.explain` and `salience.evaluate` take.
        pairs_: whether it was fitted on pairs of texts; None if the loaded folder does not say so.
        seed_: the seed of the last `fit`; `set_params(random_state=seed_)` repeats it.
        estimate_: the scores of the estimate with their intervals, as `metrics.json` has them; None without one. It is
            not saved.
        out_of_fold_: the texts that the estimate predicts, as places in `X` (R,), and their probabilities (R, C), by
            models that have not seen them and before the temperature; None without an estimate. It is not saved.
    """

    def __init__(
        self,
        method: Any = None,
        model: str = "minilm",
        *,
        method_options: dict[str, Any] | None = None,
        model_options: dict[str, Any] | None = None,
        clean: float = 0.5,
        procedure: Standard | Turns | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        pooling: str = "auto",
        head_rate: float | None = None,
        max_length: int | None = None,
        long: str = "head",
        validation_share: float | None = 0.0,
        estimate: str = "none",
        calibrate: bool | None = None,
        class_weights: str | Mapping[str, float] = "none",
        label_smoothing: float = 0.0,
        precision: str = "auto",
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.method = method
        self.model = model
        self.method_options = method_options
        self.model_options = model_options
        self.clean = clean
        self.procedure = procedure
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.pooling = pooling
        self.head_rate = head_rate
        self.max_length = max_length
        self.long = long
        self.validation_share = validation_share
        self.estimate = estimate
        self.calibrate = calibrate
        self.class_weights = class_weights
        self.label_smoothing = label_smoothing
        self.precision = precision
        self.device = device
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        """The tags of the estimator: its input is texts, one-dimensional."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Sequence, y: Sequence, groups: Sequence | None = None) -> SalienceClassifier:
        """Trains on N texts with N labels. If it fails, the estimator is unchanged.

        Args:
            X: N texts or N pairs of texts.
            y: N labels: strings, whole numbers or bools. For texts with several labels a matrix (N, C) of 0 and 1,
                as `MultiLabelBinarizer` makes it, or N lists of names, some of which may be empty.
            groups: N groups, such as authors, which the estimate does not divide; they need an estimate.

        Raises:
            ValueError: no texts, other numbers of labels or groups, fewer than two classes, or a parameter that does
                not fit.
        """
        texts = as_texts(X)
        targets, numbers = targets_of(y, len(texts))
        seed = seed_from(self.random_state)
        recipe, method = recipe_of(self.get_params(deep=False), seed)
        if groups is not None and recipe.estimate == "none":
            raise InputError('groups are those of the estimate: set estimate="folds:2", or leave them out')
        labelled = replace(texts, labels=numbers, groups=as_groups(groups, len(texts)))
        classifier, estimated = train(recipe, method, labelled, class_names(targets.classes))
        self.targets_, self.classifier_ = targets, classifier
        self.seed_: int | None = seed
        self.estimate_ = None if estimated is None else estimated.metrics
        self.out_of_fold_ = (
            None if estimated is None else (np.array(estimated.texts.rows), estimated.predictions.probabilities)
        )
        self.pairs_: bool | None = texts.second is not None
        return self

    def save(self, folder: str | Path) -> None:
        """Writes a Hugging Face checkpoint and the settings of the estimator. Nothing is pickled.

        A new folder is created in one step. In an existing folder, only files of an earlier `save` are replaced.

        Raises:
            NotFittedError: `fit` was not called.
            InputError: labels that are not strings, numbers or bools, a parameter that cannot be written as JSON, or
                a folder with other files of the same names. Nothing has been written then.
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        if isinstance(self.random_state, np.random.RandomState):
            parameters["random_state"] = self.seed_
        settings = {"parameters": stored_parameters(parameters), **stored_targets(self.targets_)}
        settings |= {"pairs": self.pairs_, "seed": self.seed_}
        save_folder(folder, self.model_, self.tokenizer_, settings)

    @classmethod
    def load(cls, folder: str | Path) -> SalienceClassifier:
        """Loads an estimator from a folder that `save` wrote; of a run of `salience train`, its model alone.

        The model is on the CPU. It predicts in the saved `precision`; fp16 is for training only and becomes fp32.

        Raises:
            InputError: the folder has no trained classifier, or its settings are damaged.
        """
        place = Path(folder).expanduser()
        settings = read_settings(place)
        estimator = cls(**loaded_parameters(place, settings, cls().get_params(deep=False)))
        estimator.classifier_ = load(folder, None, "cpu", for_predictions(estimator.precision))
        estimator.targets_ = loaded_targets(place, settings, estimator.classifier_)
        estimator.pairs_, estimator.seed_ = settings.get("pairs"), settings.get("seed")
        estimator.estimate_ = estimator.out_of_fold_ = None
        return estimator
