"""How long a run will take on this machine, from a trial step before it starts; and a plan that fits into a limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from salience.data.batching import LengthGrouped
from salience.data.task import Task
from salience.errors import InputError, duration
from salience.explainers.class_words import EXPLAINED
from salience.models.architectures import architecture
from salience.models.precision import computing
from salience.training.estimate import SHARES, Folds, choose_folds, steps_of_folds
from salience.training.fit import build_trainer
from salience.training.prepare import Prepared, silent
from salience.training.recipe import MOST

TIMED = 32  # texts of the mean length whose prediction is timed
AN_EXPLANATION = 5  # predictions that take as long as the explanation of a text in the report
A_REPORT = 4.0  # seconds of its page and baselines
FEWEST = 0.1  # share of the steps, below which the head alone is trained
CUT = ("estimate", "steps", "trained_layers")  # settings that a limit of time changes


@dataclass(frozen=True)
class Pace:
    """Seconds on this machine.

    Args:
        model: of the checks before it trains, such as of loading the model.
        step: of a training step.
        text: of the prediction of a text.
        report: of the page and the baselines, whatever the texts are.
    """

    model: float
    step: float
    text: float
    report: float = 0.0

    def seconds(self, prepared: Prepared, task: Task, folds: Folds | None) -> float:
        """About how long a checked run takes from here on, with its initial head, estimate and report."""
        plan, rows = prepared.plan, len(prepared.training)
        steps, begins = plan.steps, plan.head_start == "logistic"  # with a regression
        ends = plan.head_end == "logistic" and plan.trained_layers != 0
        judging = (prepared.test, None if folds is None else folds.rows, prepared.validation)  # as in the report
        judged = next((len(rows) for rows in judging if rows is not None and len(rows)), 0)
        texts = AN_EXPLANATION * min(judged, EXPLAINED)
        for part, times in ((prepared.validation, plan.evaluations), (prepared.test, 1)):
            texts += times * (0 if part is None else len(part))
        texts += (begins + ends) * min(rows, MOST)
        if folds is not None and begins and rows > MOST:
            texts += rows  # the heads alone are of all rows
        if folds is not None and plan.trained_layers != 0:
            steps += steps_of_folds(plan, task, folds)
            # Predictions with a share of 0 are those of the head alone, whose vectors the run has.
            texts += len(folds.rows) * (1 if plan.trained_share is not None else len(SHARES) - 1)
            if ends:
                texts += sum(min(MOST, int((folds.numbers != number).sum())) for number in folds.predicted)
        return steps * self.step + texts * self.text + self.report

    def within(self, limit: float, prepared: Prepared, task: Task, folds: Folds | None) -> dict[str, Any]:
        """The settings that a run has to change in order to end within a limit, in seconds; none if it does anyway.

        The estimate gets fewer folds first, and is left out at last; then there are fewer steps; then no layer is
        trained.

        Raises:
            InputError: the head alone takes longer.
        """
        plan, changed = prepared.plan, dict[str, Any]()
        if self.seconds(prepared, task, folds) <= limit:
            return changed
        limit -= self.model  # a plan that is cut is checked anew
        for kind, fewer in fewer_folds(prepared, task, folds):
            changed, folds = {"estimate": kind}, fewer
            if self.seconds(prepared, task, folds) <= limit:
                return changed
        if plan.trained_layers != 0:
            whole, fixed = (pace.seconds(prepared, task, folds) for pace in (self, replace(self, step=0.0)))
            steps = int(plan.steps * (limit - fixed) / (whole - fixed))
            if steps >= max(1, FEWEST * plan.steps):
                return changed | {"steps": steps}
        least = replace(self, step=0.0).seconds(prepared, task, None)
        if plan.head_start != "logistic" or plan.teacher is not None:
            raise InputError(
                f"--time-limit is too short for any training of this model: give it {duration(2 * self.model + whole)}"
            )
        if least > limit:
            raise InputError(
                f"--time-limit is too short: even the head alone takes {duration(2 * self.model + least)}"
            )
        return {
            "trained_layers": 0, "steps": 0, "effort": None, "method": None, "method_options": {}, "contrastive": None,
        }  # fmt: skip


def fewer_folds(prepared: Prepared, task: Task, folds: Folds | None) -> Iterator[tuple[str, Folds | None]]:
    """The estimates with fewer models, the largest first, that the other settings of a run admit."""
    plan, now = prepared.plan, 0 if folds is None else len(folds.predicted)
    for kind, models in (("folds:5", 5), ("folds:2", 2), ("none", 0)):
        if models < now:
            try:
                yield kind, choose_folds(replace(plan, estimate=kind), task, silent)
            except InputError:  # a setting needs an estimate, or the rows cannot be divided so
                continue


def measured(prepared: Prepared, seconds: float) -> Pace | None:
    """The pace of a checked run, whose model stays as it is; None if the model is trained by turns.

    Args:
        seconds: those that the checks took.
    """
    if architecture(prepared.model).procedure == "turns":
        return None
    lengths = prepared.training.lengths
    usual = np.argsort(np.abs(lengths - lengths.mean()), kind="stable")[:TIMED]  # few texts of all lengths are padded
    texts = prepared.training.take(usual)
    classifier = prepared.classifier
    classifier.probabilities(texts)  # the first time takes longer
    started = time.perf_counter()
    classifier.probabilities(texts)
    text = (time.perf_counter() - started) / len(texts)
    step = 0.0 if prepared.plan.trained_layers == 0 else trial_step(prepared)
    return Pace(seconds, step, text, A_REPORT)


def trial_step(prepared: Prepared) -> float:
    """The seconds of a training step on a batch of the usual number of tokens, at a learning rate of 0."""
    model, training = prepared.model, prepared.training
    with TemporaryDirectory() as place, torch.random.fork_rng():
        trainer = build_trainer(prepared, Path(place))
        rows = trainer.args.train_batch_size * trainer.args.gradient_accumulation_steps
        batches = np.array(list(LengthGrouped(training.lengths, rows, 0))).reshape(-1, min(rows, len(training)))
        tokens = training.lengths[batches].sum(1)
        usual = batches[np.abs(tokens - tokens.mean()).argmin()].tolist()
        trainer.args.learning_rate = 0.0
        optimizer = trainer.create_optimizer()
        for batch in (usual[:2], usual):  # the first step takes longer, and may keep states
            started = time.perf_counter()
            inputs = trainer.data_collator([training[row] for row in batch])
            with computing(model, "bf16" if trainer.args.bf16 else "fp32"), trainer.economical():
                trainer.training_step(model, inputs)
            torch.nn.utils.clip_grad_norm_(model.parameters(), trainer.args.max_grad_norm)
            optimizer.step()
            model.zero_grad()
            seconds = time.perf_counter() - started
        if trainer.used_words is not None:
            trainer.used_words.end()
    model.eval()
    return seconds
