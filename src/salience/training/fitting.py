"""From encoded texts to a fitted model: what the command line and the estimator share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from transformers import (
    EarlyStoppingCallback,
    EvalPrediction,
    PreTrainedModel,
    PrinterCallback,
    TrainerCallback,
    TrainerState,
)

from salience.data.encoding import Encoded
from salience.models.attention_classifier import AttentionClassifier
from salience.models.loading import load_trained
from salience.training.alignment import penalty
from salience.training.arguments import training_arguments
from salience.training.checkpoints import is_finished, last_checkpoint, read_state, using_files
from salience.training.metrics import scores, selection
from salience.training.recipe import Recipe
from salience.training.trainer import MixTrainer, diverged


def build_trainer(
    recipe: Recipe,
    checkpoints: Path,
    *,
    model: PreTrainedModel,
    tokenizer,
    method: Callable | None,
    training: Encoded,
    validation: Encoded | None,
    class_weights: Sequence[float] | None = None,
    callbacks: Sequence[TrainerCallback] = (),
) -> MixTrainer:
    """A trainer for a resolved recipe, which stops early where there is something to choose by."""
    stopping = [] if validation is None else [EarlyStoppingCallback(recipe.patience)]
    trainer = MixTrainer(
        model=model,
        method=method,
        clean=recipe.clean,
        args=training_arguments(recipe, checkpoints, has_validation=validation is not None),
        class_weights=class_weights,
        penalty=penalty(recipe.alignment, recipe.alignment_form),
        train_dataset=training,
        eval_dataset=by_length(validation),
        processing_class=tokenizer,
        callbacks=[*callbacks, *stopping],
    )
    trainer.compute_metrics = partial(validation_scores, trainer)
    trainer.remove_callback(PrinterCallback)  # raw dicts; whoever wants to see progress brings a callback
    return trainer


def width_of(model: PreTrainedModel) -> int | None:
    """Of a transformer, by which its learning rate goes; None over words."""
    over_words = isinstance(model, AttentionClassifier) and model.config.encoder != "transformer"
    return None if over_words else model.config.hidden_size


def by_length(encoded: Encoded | None) -> Encoded | None:
    """Long texts with long ones: evaluation pads little, and its order changes no score."""
    return None if encoded is None else encoded.take(np.argsort(encoded.lengths, kind="stable"))


def validation_scores(trainer: MixTrainer, prediction: EvalPrediction) -> dict[str, float]:
    """The scores that validation is reported and chosen by.

    Raises:
        InputError: the model's answers are not numbers.
    """
    if not np.isfinite(prediction.predictions).all():
        raise diverged(trainer, "model's output on the validation texts")
    probabilities = torch.tensor(prediction.predictions).double().softmax(1).numpy()
    progress = trainer.state.global_step / max(trainer.state.max_steps, 1)
    found = scores(probabilities, prediction.label_ids)
    return found | {"selection": selection(probabilities, prediction.label_ids, progress)}


def fit(trainer: MixTrainer, recipe: Recipe) -> tuple[PreTrainedModel, TrainerState]:
    """Trains, or goes on from the last checkpoint, up to the model that validation chose.

    Raises:
        InputError: the loss, or the model, is no longer a number.
    """
    last = last_checkpoint(Path(trainer.args.output_dir))
    if last is None or not is_finished(last, recipe.patience):
        with using_files(trainer.args.output_dir):
            trainer.train(resume_from_checkpoint=str(last) if last else None)
        # Without validation nobody has looked at what the last step made of the weights.
        if not all(weight.isfinite().all() for weight in trainer.model.parameters()):
            raise diverged(trainer, "model")
        return trainer.model, trainer.state
    # Killed after its last step: training on would wait for a better checkpoint once more, and might find one.
    state = read_state(last)
    model, _ = load_trained(state.best_model_checkpoint or last)
    return model.to(trainer.args.device), state
