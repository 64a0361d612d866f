"""Averages of the weights over the steps of a training, which are kept in place of the last weights.

    tail   the mean over the last half of the steps (Izmailov et al., 2018, arXiv:1803.05407, Algorithm 1, without a
           learning rate of its own)
    ema    the exponential moving average a_t = d a_(t-1) + (1 - d) w_t, begun at the first step (Tarvainen and
           Valpola, 2017, arXiv:1703.01780), with d = 1 - 10 / steps: it reaches back over a tenth of the steps

Averaging the iterates of stochastic gradient descent goes back to Polyak and Juditsky (1992, doi 10.1137/0330046). The
averages are computed by `torch.optim.swa_utils`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers import TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import IntervalStrategy

from salience.training.beside_checkpoints import BesideCheckpoints

TAIL = 0.5  # of the steps, over which the mean goes
MEMORY = 0.1  # of the steps: the mean age of the weights in the moving average


def first_step(kind: str, steps: int) -> int:
    """The first step whose weights enter the average, from 1 on.

    Args:
        kind: "tail" or "ema".
        steps: of the whole training.
    """
    return 1 + int(steps * (1 - TAIL)) if kind == "tail" else 1


def ema_decay(steps: int) -> float:
    """The decay of the moving average for a training of so many steps; 0, the last weights, for 10 steps and fewer."""
    return max(0.0, 1 - 1 / (MEMORY * steps))


class AveragedWeights(BesideCheckpoints):
    """Averages the weights that are trained; the model has the average when training ends.

    With validation rows, `evaluate` of the Trainer is to be replaced by `evaluating_average` of it. Evaluations then
    see the average as soon as there is one, and `BestWeights` keeps the best of them. Training itself goes on from the
    weights that are not averaged.

    All processes hold the same weights, and so the same average.

    Args:
        kind: "tail" or "ema".
    """

    name, what = "average", "the average of the weights so far"

    def __init__(self, kind: str):
        self.kind = kind

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control, *, model: nn.Module, **_):
        """Called by the Trainer, which has loaded weights and state of the checkpoint if a run is resumed."""
        self.first = first_step(self.kind, state.max_steps)
        self.weights = nn.ParameterList(weight for weight in model.parameters() if weight.requires_grad)
        rule = get_ema_multi_avg_fn(ema_decay(state.max_steps)) if self.kind == "ema" else None  # None is the mean
        self.average = AveragedModel(self.weights, multi_avg_fn=rule)
        if state.global_step >= self.first:
            self.average.load_state_dict(self.read(args, state))

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_):
        """Called by the Trainer."""
        if state.global_step >= self.first:
            self.average.update_parameters(self.weights)
            self.write(self.average.state_dict(), args, state, control)

    def evaluating_average(self, evaluate: Callable[..., dict[str, float]]) -> Callable[..., dict[str, float]]:
        """The function `evaluate` of a Trainer, during which the model has the average, if there is one yet."""

        @wraps(evaluate)
        def of_average(*arguments, **named) -> dict[str, float]:
            if not self.average.n_averaged:
                return evaluate(*arguments, **named)
            self.exchange()
            try:
                return evaluate(*arguments, **named)
            finally:
                self.exchange()

        return of_average

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control, **_):
        """Called by the Trainer. With validation rows the model has the weights of the best evaluation already."""
        if args.eval_strategy == IntervalStrategy.NO and state.global_step >= self.first:
            self.exchange()

    def exchange(self) -> None:
        """Gives the model the average, and the average's place the weights of the model; or the other way round."""
        for weight, average in zip(self.weights, self.average.module.parameters(), strict=True):
            weight.data, average.data = average.data, weight.data
