"""Labels that the student gives to texts itself, in every step, beside moving averages of what it gave before.

    p       the probabilities of the texts of a step as they are, without dropout
    m       <- d m + (1 - d) mean of p                           moving shares of the classes
    a       =  normalise(p * prior / m)                          as `aligning.py`
    mu, s2  <- d (mu, s2) + (1 - d) mean and variance of max a   moving confidence
    label   =  normalise(a^2)                                    as `sharpening.py`
    weight  =  exp(-(max a - mu)^2 / (2 s2 / 4))                 1 above mu; as `weighting.py`

So the threshold moves while the student learns: Hao Chen et al. (ICLR 2023), "SoftMatch", arXiv:2301.10921, equations
5 to 8. There, training begins with a model that knows nothing, and d = 0.999. Here, it begins with a trained one, the
averages begin as those over all texts, and d = 1 - U / N for the U texts of a step and all N of them: the averages
reach back over as many texts as there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import TrainerControl, TrainerState, TrainingArguments

from salience.batch import Batch
from salience.hooks.hooks import evaluating, forward
from salience.models.problem import problem_of
from salience.training.beside_checkpoints import BesideCheckpoints
from salience.training.self_training.aligning import aligned
from salience.training.self_training.labelling import no_and_yes
from salience.training.self_training.sharpening import sharpened
from salience.training.self_training.weighting import Confidence, confidence_of, weights


class Averages:
    """The moving averages of one decision between C classes.

    Args:
        prior: shares of the classes among the labelled rows (C,).
        probabilities: of all N texts (N, C), with which the averages begin.
        decay: d, from 0 to 1.

    Attributes:
        shares: m (C,).
        confidence: mu and s2.
    """

    def __init__(self, prior: np.ndarray, probabilities: np.ndarray, decay: float):
        self.prior, self.decay = prior, decay
        self.shares = probabilities.mean(0)
        self.confidence = confidence_of(aligned(probabilities, prior))

    def label(self, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The labels (U, C) and weights (U,) of the texts of a step, after which the averages have moved.

        If a probability is not a number, as in a step that fp16 skips, the averages stay and all weights are 0.

        Args:
            probabilities: p (U, C).
        """
        if not np.isfinite(probabilities).all():
            return np.full_like(probabilities, 1 / probabilities.shape[1]), np.zeros(len(probabilities))
        self.shares = self.moved(self.shares, probabilities.mean(0))
        found = aligned(probabilities, self.prior, self.shares)
        self.confidence = Confidence(*map(self.moved, self.confidence, confidence_of(found)))
        return sharpened(found), weights(found, self.confidence)

    def moved(self, average: Any, value: Any) -> Any:
        """d times the average, and 1 - d times the value."""
        return self.decay * average + (1 - self.decay) * value


class MovingLabels(BesideCheckpoints):
    """Labels texts by the model that is trained. As a callback it is written beside checkpoints, to be resumed.

    Args:
        averages: of one decision between the classes; or of each of several labels, between no and yes.
        several: whether a text can have several labels.
    """

    name, what = "labels", "the moving averages of labels"

    def __init__(self, averages: list[Averages], several: bool):
        self.averages, self.several = averages, several

    @classmethod
    def beginning(cls, prior: np.ndarray, probabilities: np.ndarray, texts: int, several: bool) -> MovingLabels:
        """The averages at the beginning of a training.

        Args:
            prior: (C,), as of `Averages`; of several labels, the shares of the rows that have each.
            probabilities: (N, C) of all texts, by the model with which the training begins.
            texts: number of texts in a step.
        """
        decay = 1 - texts / len(probabilities)
        of_decisions = zip(
            decisions(prior, several), decisions(probabilities.astype(np.float64), several), strict=True
        )
        return cls([Averages(shares, first, decay) for shares, first in of_decisions], several)

    def of(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """The labels (U, C) and the weights of a batch of U texts in float32.

        Returns:
            Probabilities (U, C), and weights (U,), or of several labels (U, C).
        """
        with torch.no_grad(), evaluating(model):
            probabilities = problem_of(model).probabilities(forward(model, batch).double()).cpu().numpy()
        of_decisions = zip(self.averages, decisions(probabilities, self.several), strict=True)
        labels, weight = zip(*(averages.label(each) for averages, each in of_decisions), strict=True)
        if self.several:
            yes = [of_label[:, 1] for of_label in labels]
            return torch.tensor(np.stack(yes, 1)).float(), torch.tensor(np.stack(weight, 1)).float()
        return torch.tensor(labels[0]).float(), torch.tensor(weight[0]).float()

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_):
        """Called by the Trainer, which has loaded weights and state of the checkpoint if a run is resumed."""
        if state.global_step:
            tensors = self.read(args, state)
            for averages, shares, confidence in zip(
                self.averages, tensors["shares"], tensors["confidence"], strict=True
            ):
                averages.shares, averages.confidence = shares.numpy(), Confidence(*confidence.tolist())

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_):
        """Called by the Trainer."""
        tensors = {
            "shares": torch.from_numpy(np.stack([each.shares for each in self.averages])),
            "confidence": torch.tensor([each.confidence for each in self.averages], dtype=torch.float64),
        }
        self.write(tensors, args, state, control)


def decisions(probabilities: np.ndarray, several: bool) -> np.ndarray:
    """Probabilities (..., C) as those of one decision between C classes; of several labels, of C, no or yes."""
    return no_and_yes(probabilities) if several else probabilities[None]
