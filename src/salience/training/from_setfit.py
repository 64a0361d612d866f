"""SetFit as a baseline for few labels (Tunstall et al., 2022, arXiv:2209.11055), by its own package `setfit`.

SetFit trains a sentence encoder on pairs of texts, the same label or not, and then a logistic regression on its
vectors. The number of pairs grows with the square of the number of rows: it is made for tens of rows, not thousands.
"""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from tempfile import TemporaryDirectory

import numpy as np

from salience.data.texts import Texts
from salience.errors import InputError
from salience.models.loading import model_source
from salience.training.baselines import joined, with_all_columns

PAIRS = 16  # in a step, of two texts each: the package's default


def setfit_probabilities(
    training: Texts, test: Texts, classes: int, model: str = "minilm", seed: int = 0, steps: int | None = None
) -> np.ndarray:
    """The probabilities of the test rows by SetFit, with all settings of the package's release (1.2 was tested).

    These are: one epoch over pairs, "oversampling" of the rarer kind of pair, batches of 16 pairs, a learning rate of
    2e-5, the cosine-similarity loss, and scikit-learn's logistic regression with C=1. What a text is cut to is the
    setting of the model's folder. Nothing is saved or reported, and the global random states are seeded.
    The package computes on a GPU if there is one.

    Args:
        training: the training rows, of at least two classes.
        test: the N test rows.
        classes: number of classes C. Those without a training row get the probability 0.
        model: "minilm", a folder, or a name on the hub. Only safetensors weights are loaded, and no code.
        seed: of the pairs' order and of everything that is drawn.
        steps: number of training steps; None for the package's one epoch over pairs.

    Returns:
        Probabilities (N, C) in float32, the column of a class is its label's number.

    Raises:
        InputError: the package is not installed, the training rows are of one class only, or there is no such model.
    """
    try:
        from sentence_transformers import SentenceTransformer
        from setfit import SetFitModel, Trainer, TrainingArguments
    except ImportError as error:
        raise InputError(f"SetFit needs the package setfit: pip install 'salience[setfit]' ({error})") from error
    from datasets import Dataset
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(training.known_labels)) < 2:
        raise InputError("SetFit needs training rows of at least two classes: add rows of another class")
    source = model_source(model)
    # The package prints progress even where it is told not to.
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        # `SetFitModel.from_pretrained` would load a pickled head from the folder, if there is one.
        body = SentenceTransformer(source, trust_remote_code=False, model_kwargs={"use_safetensors": True})
        setfit = SetFitModel(model_body=body, model_head=LogisticRegression())
        own = {} if steps is None else {"max_steps": steps}
        arguments = TrainingArguments(
            output_dir=folder, seed=seed, report_to="none", save_strategy="no", logging_strategy="no",
            show_progress_bar=False, **own,
        )  # fmt: skip
        rows = Dataset.from_dict({"text": joined(training), "label": training.known_labels.tolist()})
        Trainer(model=setfit, args=arguments, train_dataset=rows).train()
        probabilities = setfit.predict_proba(joined(test), as_numpy=True, show_progress_bar=False)
    return with_all_columns(probabilities, setfit.model_head.classes_, classes)
