"""`SalienceClassifier`: a scikit-learn estimator of texts."""

from __future__ import annotations

import json
import logging
import os
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict, dataclass, fields, is_dataclass, replace
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
from salience.data.corrections import agreed_words
from salience.data.splitting import default_share, group_numbers, split
from salience.data.task import Task
from salience.data.texts import Texts, TextsLike
from salience.errors import InputError, listed, one_line, quoted, unknown
from salience.estimator.inputs import (
    Targets,
    as_groups,
    check_some,
    class_names,
    targets_of,
    texts_to_learn,
    with_marks_given,
)
from salience.files import files_in, resolved, whole_folder, write_whole
from salience.mixing.choosing import choose_method, settable_fields, written_method
from salience.models.precision import for_predictions
from salience.runs.folder import ESTIMATOR, write_manifest, written_by_run
from salience.runs.retired import RETIRED, without_retired
from salience.settings import name_and_options
from salience.training.procedures import Standard, Turns, choose_procedure
from salience.training.recipe import Recipe

logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class SalienceClassifier(ClassifierMixin, BaseEstimator):
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
        pooling: what the head reads: "cls", "mean", "first" or "auto"; see docs/research/defaults.md.
        trained_layers: encoder layers that are trained, counted from the top, or "all"; 0 is the head alone, a
            logistic regression on the frozen encoder.
        effort: compute budget of training, "quick", "normal" or "best"; see docs/research/defaults.md. None is
            "normal" with mean pooling, one label a text and up to 10,000 texts.
        head_rate: learning rate of the head, as a multiple of that of the encoder. None is 10 with mean
            pooling, else 1.
        max_length: number of tokens that are read at once.
        long: what is read of longer texts: "head", "head-tail" or "windows".
        validation_share: part of the texts that is held out to select the best checkpoint; 0 for training on all.
        estimate: "folds:K" (K-fold cross-validation) or "holdout" trains further models, which predict the texts they
            were not trained on. `salience train` does so by itself without validation texts; here "none" is the
            default, because searches and cross-validation measure the model themselves.
        calibrate: divide the logits by a temperature that is fitted on the out-of-fold predictions. None does so if
            there is an estimate.
        class_weights: "none", "auto", "name=weight,...", or a mapping from names to weights. In multi-label data, the
            weight of a label is that of the texts that have it.
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
        out_of_fold_: the texts that the estimate predicts, as places in `X` (R,), and their out-of-fold probabilities
            (R, C), before the temperature; None without an estimate. It is not saved.
    """

    method: Any = None
    model: str = "minilm"
    _: KW_ONLY
    method_options: dict[str, Any] | None = None
    model_options: dict[str, Any] | None = None
    clean: float = 0.5
    procedure: Standard | Turns | None = None
    steps: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    pooling: str = "auto"
    trained_layers: int | str = "all"
    effort: str | None = None
    head_rate: float | None = None
    max_length: int | None = None
    long: str = "head"
    validation_share: float | None = 0.0
    estimate: str = "none"
    calibrate: bool | None = None
    class_weights: str | Mapping[str, float] = "none"
    label_smoothing: float = 0.0
    precision: str = "auto"
    device: str = "auto"
    random_state: int | np.random.RandomState | None = 0

    def __sklearn_tags__(self) -> Tags:
        """The tags of the estimator: its input is texts, one-dimensional."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` adds the settings of the method and of the procedure, as `method__window`."""
        parameters = super().get_params(deep=False)
        if not deep:
            return parameters
        method, procedure = settings_of(self.method, self.method_options), fields_of(self.procedure)
        parameters |= {f"method__{name}": value for name, value in method.items()}
        return parameters | {f"procedure__{name}": value for name, value in procedure.items()}

    def set_params(self, **parameters: Any) -> Self:
        """Sets parameters by name, and settings of the method and of the procedure as `method__window`.

        Objects are replaced, not changed in place.

        Raises:
            ValueError: an unknown name.
        """
        nested = {name: parameters.pop(name) for name in list(parameters) if "__" in name}
        super().set_params(**parameters)
        for name, value in nested.items():
            known = self.get_params()
            owner, _, field = name.partition("__")
            if name not in known:
                if owner in known and not any(each.startswith(f"{owner}__") for each in known):
                    raise InputError(f"{name} cannot be set: {owner}={known[owner]!r} has no settings")
                raise unknown("parameter", name, known)
            if known[name] == value:
                continue
            if isinstance(known[owner], str):
                self.method, options = named(known[owner], self.method_options)
                self.method_options = options | {field: value}
            else:
                setattr(self, owner, replace(known[owner], **{field: value}))
        return self

    def fit(
        self, X: TextsLike, y: Sequence, groups: Sequence | None = None, marks: Sequence | None = None,
        ignore: Sequence | None = None,
    ) -> SalienceClassifier:  # fmt: skip
        """Trains on N texts with N labels. If it fails, the estimator is unchanged.

        Args:
            X: N texts or N pairs of texts.
            y: N labels: strings, whole numbers or bools. For multi-label texts a matrix (N, C) of 0 and 1,
                as `MultiLabelBinarizer` makes it, or N lists of names, some of which may be empty.
            groups: N groups, such as authors, which the estimate does not divide; they need an estimate.
            marks: for each text, the words that decide its label, which is trained on them as on a text; None or []
                for a text without. Spans of characters, as [[0, 4]], or a mark for each word, 1 or the name of the
                label; of pairs {"text": [[0, 4]], "text_pair": []}. See docs/guides/correct.md.
            ignore: likewise, the words that must not count, for which counterexamples are trained on.

        Raises:
            ValueError: no texts, other numbers of labels, groups or marks, marks that do not fit their text, fewer
                than two classes, or a parameter that does not fit.
        """
        # A fitted estimator predicts without what trains it.
        from salience.training.estimate import fit_with_estimate, plan_estimate
        from salience.training.fit import Listeners
        from salience.training.prepare import prepare

        texts = texts_to_learn(X)
        targets, numbers = targets_of(y, len(texts))
        seed = seed_from(self.random_state)
        recipe, method = recipe_of(self.get_params(deep=False), seed)
        if groups is not None and recipe.estimate == "none":
            raise InputError('groups are those of the estimate: set estimate="folds:2", or leave them out')
        names, rows = class_names(targets.classes), list(range(len(texts)))
        labelled = replace(texts, labels=numbers, groups=as_groups(groups, len(texts)), rows=rows)
        labelled = with_marks_given(labelled, names, {"marks": marks, "ignore": ignore})
        training, held_out = parted(labelled, recipe, names)
        known = labelled.take(training)
        task = Task(names, known, labelled.take(held_out), ignored_words=agreed_words(known))
        with restored_generators(), TemporaryDirectory() as checkpoints:
            prepared = prepare(recipe, task, logger.info, method=method)
            folds = plan_estimate(prepared, task, logger.info)
            listeners = Listeners(logger.info)
            fitted, estimated = fit_with_estimate(prepared, task, folds, Path(checkpoints), listeners, method)
        self.targets_, self.classifier_ = targets, fitted.classifier
        self.seed_: int | None = seed
        self.estimate_ = self.out_of_fold_ = None
        if estimated is not None:
            self.estimate_ = estimated.metrics
            self.out_of_fold_ = np.array(estimated.texts.rows), estimated.predictions.probabilities
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The labels (C,), in the order of the probabilities."""
        return self.targets_.classes

    @property
    def multilabel_(self) -> bool:
        """Whether a text can have several labels."""
        return self.targets_.dtype is not None

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

    @property
    def pairs_(self) -> bool | None:
        """Whether it was fitted on pairs of texts; None if the loaded folder does not say so."""
        return self.classifier_.pairs

    def predict_proba(self, X: TextsLike) -> np.ndarray:
        """The probabilities (N, C) of the labels for N texts or pairs of texts, in the order of `classes_`.

        With one label for each text they sum to 1. With several, each label has a probability by itself.

        Raises:
            NotFittedError: `fit` was not called.
            ValueError: `X` contains values that are not texts, or pairs where it was fitted on single texts, or the
                reverse.
        """
        check_is_fitted(self)
        return self.classifier_.predict_proba(Texts.of(X, "X"))

    def predict(self, X: TextsLike) -> np.ndarray:
        """The most probable class of each text (N,); with several labels a matrix (N, C) of 0 and 1.

        A label is 1 where its probability reaches its threshold in the model: 0.5, or its own one, which an estimate
        may have found. Errors as in `predict_proba`.
        """
        probabilities = self.predict_proba(X)  # checks first that it is fitted
        return self.targets_.predicted(probabilities, self.classifier_)

    def score(self, X: TextsLike, y: Any, sample_weight: Any = None) -> float:
        """The accuracy; with several labels the subset accuracy, as scikit-learn has it: all labels must be right.

        `y` is as in `fit`, with labels that it has seen. Errors as in `predict_proba`; and there must be a text.
        """
        predicted = self.predict(X)
        check_some(predicted)
        return float(accuracy_score(self.targets_.known(y), predicted, sample_weight=sample_weight))

    def save(self, folder: str | Path) -> None:
        """Writes a Hugging Face checkpoint and the settings of the estimator. Nothing is pickled.

        A new folder is created in one step. In an existing folder, only files of an earlier `save` are replaced.

        Raises:
            NotFittedError: `fit` was not called.
            InputError: labels that are not strings, numbers or bools, a parameter that cannot be written as JSON, or
                a folder with other files of the same names. Nothing has been written then.
            OSError: the folder cannot be written; it is unchanged then.
        """
        check_is_fitted(self)
        settings = {"parameters": stored_parameters(self), **stored_targets(self.targets_)}
        settings |= {"pairs": self.pairs_, "seed": self.seed_}
        target = resolved(Path(folder).expanduser())
        if target.exists() and not target.is_dir():
            raise InputError(f"{target} is a file; choose another folder to save to")
        written = written_by_run(target)
        earlier = written if ESTIMATOR in written else set()  # not the run of `salience train`
        with whole_folder(target, own=earlier) as unfinished:
            self.model_.save_pretrained(unfinished)
            self.tokenizer_.save_pretrained(unfinished)
            # ASCII, because labels may contain lone surrogates, which UTF-8 cannot encode.
            write_whole(unfinished / ESTIMATOR, json.dumps(settings, indent=2) + "\n")
            write_manifest(unfinished)
            present = set(files_in(target)) if target.exists() else set()
            if foreign := sorted(present & set(files_in(unfinished)) - earlier):
                raise InputError(
                    f"{target} contains {listed(map(quoted, foreign), 3)}, which no estimator saved and which is not "
                    "overwritten; choose another folder, or move these files elsewhere"
                )

    @classmethod
    def load(cls, folder: str | Path) -> SalienceClassifier:
        """Loads an estimator from a folder that `save` wrote; of a run of `salience train`, its model alone.

        The model is on the CPU. It predicts in the saved `precision`; fp16 is for training only and becomes fp32.

        Raises:
            InputError: the folder has no trained classifier, or its settings are damaged.
        """
        place = Path(folder).expanduser()
        file = place / ESTIMATOR
        with undamaged(file):
            settings = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
            parameters = dict(settings.get("parameters", {}))
            try:
                without_retired(parameters, str(place))
            except InputError as error:  # it predicts as before
                warnings.warn(f"{error}; a further fit does without it", stacklevel=2)
            parameters = {name: value for name, value in parameters.items() if name not in RETIRED}
            if options := parameters.get("procedure"):
                name = "turns" if options.keys() <= {field.name for field in fields(Turns)} else "standard"
                parameters["procedure"] = choose_procedure(name, options)
            estimator = cls(**parameters)
        estimator.classifier_ = load(folder, None, "cpu", for_predictions(estimator.precision))
        with undamaged(file):
            estimator.targets_ = loaded_targets(settings, estimator.classifier_)
        estimator.seed_ = settings.get("seed")
        estimator.estimate_ = estimator.out_of_fold_ = None
        return estimator


def recipe_of(parameters: Mapping[str, Any], seed: int) -> tuple[Recipe, Any]:
    """The recipe for the parameters of the estimator, and the method if it is given as an object, else None."""
    settings = plain({name: value for name, value in parameters.items() if name not in ("random_state", "procedure")})
    settings |= {name: settings[name] or {} for name in ("method_options", "model_options")}
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
    """The seed for a `random_state` of scikit-learn: the number itself, or a number drawn from the generator."""
    if isinstance(random_state, Integral):
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r}: give a whole number, a numpy.random.RandomState, or None"
        ) from error


def parted(texts: Texts, recipe: Recipe, names: Sequence[str]) -> tuple[Sequence[int], Sequence[int]]:
    """The indices of training texts and of validation texts. Neither groups nor equal texts are divided."""
    labels = texts.known_labels
    share = default_share(len(labels)) if recipe.validation_share is None else recipe.validation_share
    if share == 0:
        return range(len(labels)), []
    classes = np.array(names, dtype=object)
    if labels.ndim == 1:
        for name in classes[np.bincount(labels, minlength=len(classes)) == 1]:
            raise InputError(
                f"the class {quoted(name)} has a single text, too few to hold some out for validation; add texts, or "
                "set validation_share=0"
            )
    found = classes[labels].tolist() if labels.ndim == 1 else [tuple(classes[row == 1]) for row in labels]
    return split(found, share, recipe.seed, units=group_numbers(texts))


@contextmanager
def restored_generators() -> Iterator[None]:
    """Restores the global random generators: else training, which seeds them, would decide what is drawn after it."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


def named(method: str, options: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """A method that is given as a string, without its options, and all its options: ("ssmix", {"window": 0.2}).

    As in a recipe, an option that is written behind the name is used before those of `method_options`.
    """
    name, written = name_and_options(method, "method")
    return name, {**(options or {}), **written}


def settings_of(method: Any, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings of a method with their values; empty for what is no method, which `fit` reports."""
    if not isinstance(method, str):
        return fields_of(method)
    try:
        name, given = named(method, options)
        usual = choose_method(name)
    except (TypeError, ValueError):
        return {}
    return {} if usual is None else {each: given.get(each, getattr(usual, each)) for each in settable_fields(usual)}


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of an object of a dataclass; empty for anything else."""
    if isinstance(value, type) or not is_dataclass(value):
        return {}
    return {field.name: getattr(value, field.name) for field in fields(value)}


@contextmanager
def undamaged(file: Path) -> Iterator[None]:
    """Inside the `with`, errors on the content of the file of settings are reported in one line."""
    try:
        yield
    except (OSError, ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError) as error:
        raise InputError(f"{file} is damaged ({one_line(error, 200)}); save the classifier again") from error


def stored_parameters(estimator: SalienceClassifier) -> dict[str, Any]:
    """The parameters as values of JSON. A method or procedure is stored by its name and its settings."""
    parameters = estimator.get_params(deep=False)
    if isinstance(estimator.random_state, np.random.RandomState):
        parameters["random_state"] = estimator.seed_
    if not isinstance(estimator.method, str | None):
        parameters["method"], parameters["method_options"] = written_method(estimator.method)
    if estimator.procedure is not None:
        parameters["procedure"] = asdict(estimator.procedure)
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


def stored_targets(targets: Targets) -> dict[str, Any]:
    """What is predicted, as values of JSON."""
    values = [plain(value) for value in targets.classes.tolist()]
    for value in values:
        if type(value) not in (str, int, float, bool) or value != value or targets.classes.dtype.kind in "mM":
            raise InputError(
                f"labels of type {type(value).__name__}, such as {quoted(value)}, cannot be saved; fit with labels "
                "that are strings, whole numbers or bools, for example [str(label) for label in y]"
            )
    several = {} if targets.dtype is None else {"predicted_type": targets.dtype.str}
    return {"classes": values, "classes_type": targets.classes.dtype.str} | several


def loaded_targets(settings: Mapping[str, Any], classifier: TextClassifier) -> Targets:
    """What `stored_targets` stored, or what a model predicts that `salience train` has written."""
    classes, dtype = np.array(classifier.labels), None
    if "classes" in settings:
        classes = np.array(settings["classes"], np.dtype(settings["classes_type"]))
        if class_names(classes) != list(classifier.labels):
            raise ValueError("its classes differ from the labels in config.json")
    if classifier.multi_label:
        dtype = np.dtype(settings.get("predicted_type", "int64"))
        if dtype.kind not in "biuf":
            raise ValueError(f"{quoted(dtype)} is no type of numbers")
    return Targets(classes, dtype)
