"""`SalienceClassifier`: a scikit-learn estimator of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from salience.errors import InputError
from salience.estimator.fitting import recipe_of, seed_from, train
from salience.estimator.inputs import as_groups, as_texts, class_names
from salience.estimator.parameters import NestedParameters
from salience.estimator.predicting import Predicting
from salience.estimator.saving import (
    loaded_parameters,
    loaded_targets,
    read_settings,
    save_folder,
    stored_parameters,
    stored_targets,
)
from salience.estimator.targets import targets_of
from salience.inference import load
from salience.models.precision import for_predictions
from salience.training.procedures import Standard, Turns


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
        self.out_of_fold_ = None if estimated is None else (np.array(estimated.texts.rows), estimated.probabilities)
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
