"""The training of small word models by Sun and Lu (ACL 2020): Adagrad, and the best of a fixed number of epochs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import PrinterCallback, TrainerCallback, TrainingArguments, set_seed

from salience.data.encoding import Encoded, encode_texts
from salience.data.task import Task
from salience.models.architectures import alignment_penalty
from salience.papers.attention_classifiers.building import build_attention_classifier
from salience.papers.attention_classifiers.classifier import AttentionClassifier
from salience.papers.attention_classifiers.options import AttentionOptions, WordRecipe
from salience.papers.datasets import accuracy
from salience.training.trainer import MixTrainer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FittedWordModel:
    """A trained word model."""

    model: AttentionClassifier  # the model with the weights of the best epoch
    tokenizer: Any  # its tokenizer
    accuracies: list[float]  # accuracy on the validation texts after every epoch, from 0 to 1
    test_accuracy: float | None  # accuracy on the test texts, from 0 to 1; None if there are none

    @property
    def best_epoch(self) -> int:
        """The first epoch with the highest accuracy, counted from 0."""
        return self.accuracies.index(max(self.accuracies))


def fit_words(
    options: AttentionOptions,
    recipe: WordRecipe,
    data: Task,
    seed: int,
    max_length: int | None = None,
    callbacks: Sequence[TrainerCallback] = (),
) -> FittedWordModel:
    """Trains one model on one data set, and selects the epoch with the best validation accuracy.

    Only the first texts of pairs are read.
    """
    if not len(data.validation):
        raise ValueError("there are no validation texts, by which the best epoch is chosen")
    set_seed(seed)
    model, tokenizer = build_attention_classifier(
        options, data.labels, data.training.texts, logger.info, split=not data.tokenised
    )
    training, validation, test = (
        encode_texts(tokenizer, part.texts, labels=part.labels, max_length=max_length)
        for part in (data.training, data.validation, data.test)
    )
    best = KeepBest(model, validation)
    steps = max(len(training) // recipe.batch_size, 1)
    with TemporaryDirectory() as folder:
        trainer = MixTrainer(
            model=model,
            args=TrainingArguments(
                folder, max_steps=recipe.epochs * steps, per_device_train_batch_size=recipe.batch_size, seed=seed,
                max_grad_norm=0, save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True,
                dataloader_pin_memory=False,
            ),
            penalty=alignment_penalty(recipe.alignment, recipe.alignment_form),
            train_dataset=training,
            processing_class=tokenizer,
            optimizers=adagrad(model, recipe),
            callbacks=[best, *callbacks],
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    model.load_state_dict(best.weights)
    return FittedWordModel(model, tokenizer, best.accuracies, accuracy(model, test) if len(test) else None)


def adagrad(model: AttentionClassifier, recipe: WordRecipe) -> tuple[Optimizer, LRScheduler]:
    """Adagrad with decay of the learning rate, and a constant schedule, because the optimiser does the decay."""
    # Duchi et al. (2011), Adaptive Subgradient Methods for Online Learning and Stochastic Optimization, JMLR 12
    embeddings = model.get_input_embeddings().weight
    weights = [weight for weight in model.parameters() if weight is not embeddings]
    optimizer = torch.optim.Adagrad(
        [{"params": [embeddings], "weight_decay": 0.0}, {"params": weights, "weight_decay": recipe.weight_decay}],
        lr=recipe.learning_rate,
        lr_decay=recipe.decay,
        fused=True,
    )
    return optimizer, LambdaLR(optimizer, lambda step: 1.0)


class KeepBest(TrainerCallback):
    """Evaluates after every epoch and keeps the weights of the best one, the first of equally good ones, in memory."""

    def __init__(self, model: AttentionClassifier, validation: Encoded):
        self.model, self.validation = model, validation
        self.accuracies: list[float] = []
        self.weights: dict[str, torch.Tensor] = {}

    def on_epoch_end(self, args, state, control, **_):
        self.accuracies.append(accuracy(self.model, self.validation))
        if self.accuracies[-1] > max(self.accuracies[:-1], default=-1.0):
            self.weights = {name: weight.detach().clone() for name, weight in self.model.state_dict().items()}
