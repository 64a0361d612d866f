"""Checkpoints of an interrupted run, written at intervals of time, and the best weights, which are kept in memory.

A checkpoint of the Trainer holds the weights and twice as much for the optimizer. It is needed only to resume a run
that was killed. So a short run writes none, and a long one loses little more than the interval when it is killed.
"""

from __future__ import annotations

import time
from pathlib import Path

import torch
from accelerate.utils import broadcast
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import EarlyStoppingCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from salience.errors import InputError
from salience.training.phases import copied_weights

SECONDS = 60.0  # of training between two checkpoints
now = time.monotonic


class ResumePoints(TrainerCallback):
    """Has the Trainer write a checkpoint after the first step that ends `SECONDS` after the last checkpoint.

    None is written after the last step, because training is done then. A run that is killed later, while its results
    are written, is resumed from its last checkpoint.
    """

    def on_train_begin(self, args: TrainingArguments, state, control, **_):
        """Called by the Trainer."""
        self.saved = now()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_):
        """Called by the Trainer. It has decided to save by the number of the step, which is not the rule here."""
        control.should_save = state.global_step < state.max_steps and self.due(args)

    def on_save(self, args, state, control, **_):
        """Called by the Trainer."""
        self.saved = now()

    def due(self, args: TrainingArguments) -> bool:
        """Whether a checkpoint is to be written; of several processes the clock of the main one decides."""
        due = torch.tensor(int(now() - self.saved >= SECONDS), device=args.device)
        return bool(broadcast(due) if args.world_size > 1 else due)


class BestWeights(EarlyStoppingCallback):
    """Early stopping that keeps the weights of the best evaluation in memory, on the CPU.

    The model has them when training ends. They are also written beside a checkpoint, because a resumed run may not
    find better ones: once for each checkpoint that has new ones, before it, so that what a complete checkpoint needs
    is complete. No checkpoint is written where training stops early.

    It comes after `ResumePoints` in the list of callbacks. The evaluation's metric is `args.metric_for_best_model`,
    whose highest value is the best.

    Args:
        early_stopping_patience: number of evaluations without improvement before training stops.
        early_stopping_threshold: difference that counts as an improvement.
    """

    def __init__(self, early_stopping_patience: int = 1, early_stopping_threshold: float = 0.0):
        super().__init__(early_stopping_patience, early_stopping_threshold)
        self.weights: dict[str, Tensor] | None = None
        self.step = self.written = 0  # of the best evaluation; of the one whose weights lie on the disk

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control, **_):
        """Called by the Trainer, which has loaded the state of the checkpoint if a run is resumed."""
        if state.best_global_step:
            self.step = self.written = state.best_global_step
            if not self.file(args).is_file():
                raise InputError(
                    f"{args.output_dir} lacks {self.file(args).name}, the best weights so far: train again with "
                    "--overwrite"
                )
            self.weights = load_file(self.file(args))

    def on_step_end(self, args: TrainingArguments, state, control: TrainerControl, **_):
        """Called by the Trainer."""
        if control.should_save and not control.should_evaluate:
            self.write(args)

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, metrics, **others):
        """Called by the Trainer, before it updates `state.best_metric`."""
        super().on_evaluate(args, state, control, metrics, **others)
        if state.best_metric is None or metrics[f"eval_{args.metric_for_best_model}"] > state.best_metric:
            self.step = state.global_step
            self.weights = copied_weights(others["model"])
        control.should_save = control.should_save and not control.should_training_stop
        if control.should_save:
            self.write(args)

    def on_save(self, args: TrainingArguments, state, control, **_):
        """Called by the Trainer when a checkpoint is complete: weights that no checkpoint needs are removed."""
        if args.should_save:
            for file in Path(args.output_dir).glob("best-*"):
                if file != self.file(args):
                    file.unlink()

    def on_train_end(self, args, state, control, *, model: nn.Module, **_):
        """Called by the Trainer."""
        if self.weights is not None:
            model.load_state_dict(self.weights)

    def file(self, args: TrainingArguments) -> Path:
        """The file of the best weights."""
        return Path(args.output_dir) / f"best-{self.step}.safetensors"

    def write(self, args: TrainingArguments) -> None:
        """Writes the weights, unless they are written, or there has been no evaluation yet."""
        if self.weights is not None and self.written != self.step and args.should_save:
            save_file({name: weight.contiguous() for name, weight in self.weights.items()}, self.file(args))
        self.written = self.step
