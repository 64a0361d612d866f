"""Training as Sun and Lu (ACL 2020) train small models: Adagrad, a fixed number of epochs, the best by validation.

What the paper leaves open is taken from the authors' notebook for SST: batches of 100, learning rate 0.02 with decay
0.001, dropout 0.5 of embeddings and of the pooled vector, 40 epochs.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase, PrinterCallback, TrainerCallback, TrainingArguments, set_seed

from salience.data.datasets import DataSet
from salience.data.encoding import Encoded, encode_texts
from salience.inference.probabilities import predict_probabilities
from salience.models.attention_classifier import AttentionClassifier
from salience.models.attention_models import AttentionOptions, build_attention_classifier
from salience.training.alignment import penalty
from salience.training.procedures import Standard
from salience.training.trainer import MixTrainer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class WordRecipe:
    epochs: int = 40
    batch_size: int = 100
    learning_rate: float = 0.02
    decay: float = 0.001  # of the learning rate, over steps
    weight_decay: float = 0.0  # L2, of all weights but the embeddings
    alignment: float = 0.0  # what |V^T W| costs
    alignment_form: str = "absolute"  # or "square"

    def __post_init__(self):
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        Standard(self.alignment, self.alignment_form)  # checks both


@dataclass(frozen=True)
class Fitted:
    model: AttentionClassifier
    tokenizer: PreTrainedTokenizerBase
    accuracies: list[float]  # on validation, an epoch each
    best_epoch: int  # counted from 0
    test_accuracy: float | None  # where there are test texts


def fit_words(
    options: AttentionOptions,
    recipe: WordRecipe,
    data: DataSet,
    seed: int,
    max_length: int | None = None,
    callbacks: Sequence[TrainerCallback] = (),
) -> Fitted:
    """Trains one model on one data set.

    Raises:
        ValueError: the penalty does not fit the model.
    """
    set_seed(seed)
    model, tokenizer = build_attention_classifier(
        options, data.labels, data.training.texts, logger.info, split=not data.tokenised
    )
    encoded = [
        encode_texts(tokenizer, part.texts, labels=part.labels, max_length=max_length)
        for part in (data.training, data.validation, data.test)
    ]
    best = KeepBest(model, encoded[1])
    steps = max(len(data.training.labels) // recipe.batch_size, 1)
    with TemporaryDirectory() as folder:
        trainer = MixTrainer(
            model=model,
            args=TrainingArguments(
                folder, max_steps=recipe.epochs * steps, per_device_train_batch_size=recipe.batch_size, seed=seed,
                max_grad_norm=0, save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True,
                dataloader_pin_memory=False,
            ),
            penalty=penalty(recipe.alignment, recipe.alignment_form),
            train_dataset=encoded[0],
            processing_class=tokenizer,
            optimizers=adagrad(model, recipe),
            callbacks=[best, *callbacks],
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    model.load_state_dict(best.weights)
    tested = accuracy(model, encoded[2]) if len(encoded[2]) else None
    return Fitted(model, tokenizer, best.accuracies, best.epoch, tested)


def adagrad(model: AttentionClassifier, recipe: WordRecipe):
    """torch's Adagrad, whose learning rate decays by itself, and a schedule that changes nothing."""
    table = model.get_input_embeddings().weight
    others = [weight for weight in model.parameters() if weight is not table]
    optimizer = torch.optim.Adagrad(
        [{"params": [table], "weight_decay": 0.0}, {"params": others, "weight_decay": recipe.weight_decay}],
        lr=recipe.learning_rate,
        lr_decay=recipe.decay,
        fused=True,
    )
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)


class KeepBest(TrainerCallback):
    """Looks at validation after every epoch and keeps the best weights, the first among equals, in memory."""

    def __init__(self, model: torch.nn.Module, validation: Encoded):
        self.model, self.validation = model, validation
        self.accuracies: list[float] = []
        self.weights: dict[str, torch.Tensor] = {}

    @property
    def epoch(self) -> int:
        return int(np.argmax(self.accuracies))

    def on_epoch_end(self, args, state, control, **_):
        self.accuracies.append(accuracy(self.model, self.validation))
        if self.epoch == len(self.accuracies) - 1:
            self.weights = {name: weight.detach().clone() for name, weight in self.model.state_dict().items()}


def accuracy(model: torch.nn.Module, encoded: Encoded) -> float:
    predicted = predict_probabilities(model, encoded, "fp32").argmax(1)
    return float((predicted == np.asarray(encoded.labels)).mean())
