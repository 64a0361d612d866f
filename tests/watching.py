"""A callback that records trainings and kills one at a step, for tests of runs that are resumed."""

from __future__ import annotations

from transformers import TrainerCallback

from word_models import bits


class Killed(Exception):
    """Stands for a process that is killed."""


class Watch(TrainerCallback):
    """Records the weights with which every training begins and those after its steps, and kills one at a step."""

    def __init__(self, at: tuple[int, int] | None = None):
        self.at = at  # seed and step
        self.begun: list[object] = []
        self.weights: dict[tuple[int, int], object] = {}
        self.rates: dict[tuple[int, int], float] = {}

    def on_train_begin(self, args, state, control, model, **_):
        self.begun.append(bits(model))

    def on_step_end(self, args, state, control, model, lr_scheduler, **_):
        place = args.seed, state.global_step
        self.weights[place], self.rates[place] = bits(model), lr_scheduler.get_last_lr()[0]
        if place == self.at:
            raise Killed
