"""What goes on beside the steps of a training: checkpoints, the best weights, those in between, trackers."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch
from accelerate.utils import broadcast
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import (
    EarlyStoppingCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from salience.errors import InputError, unknown

SECONDS = 60.0  # of training between two checkpoints
now = time.monotonic
STATE = "trainer_state.json"  # the last file of a checkpoint that the Trainer writes
# Parts of torch.save's messages about a failed write, which do not name the error of the operating system.
WRITE_FAILURES = ("PytorchStreamWriter failed", "inline_container", "iostream error")

# Tracker of experiments -> the modules of which the Trainer needs one.
TRACKERS = {
    "tensorboard": ["tensorboard", "tensorboardX"],
    "mlflow": ["mlflow"],
    "wandb": ["wandb"],
    "trackio": ["trackio"],
}
PLACE = "TENSORBOARD_LOGGING_DIR"  # the environment variable from which the Trainer's callback takes the folder


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint in `folder`. Newer, incomplete ones, of a run that was killed, are removed."""
    checkpoints = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True)
    for checkpoint in checkpoints:
        try:
            TrainerState.load_from_json(str(checkpoint / STATE))
            return checkpoint
        except (OSError, ValueError):
            shutil.rmtree(checkpoint, ignore_errors=True)  # another process may be removing it, too
    return None


@contextmanager
def using_files(folder: str | Path) -> Iterator[None]:
    """Inside the `with`, errors of torch, safetensors and tokenizers about a file are turned into an `OSError`.

    Their own exceptions name the error of the operating system in the message; that of torch not even a full disk.
    """
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        unnamed = any(words in str(error) for words in WRITE_FAILURES)
        for number in (errno.EACCES, errno.EROFS, errno.EDQUOT, errno.ENOSPC):
            if os.strerror(number) in str(error) or (unnamed and number == errno.ENOSPC):
                raise OSError(number, os.strerror(number), str(folder)) from error
        raise


def copied_weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model by their names, copied to the CPU."""
    return {name: weight.to("cpu", copy=True) for name, weight in model.state_dict().items()}


class ResumePoints(TrainerCallback):
    """Has the Trainer write a checkpoint `SECONDS` after the one before, but none after the last step."""

    def on_train_begin(self, args: TrainingArguments, state, control, **_):
        self.saved = now()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_):
        # The Trainer has decided to save by the number of the step, which is not the rule here.
        control.should_save = state.global_step < state.max_steps and self.due(args)

    def on_save(self, args, state, control, **_):
        self.saved = now()

    def due(self, args: TrainingArguments) -> bool:
        # Of several processes, the clock of the main one decides.
        due = torch.tensor(int(now() - self.saved >= SECONDS), device=args.device)
        return bool(broadcast(due) if args.world_size > 1 else due)


class BestWeights(EarlyStoppingCallback):
    """Early stopping that keeps the weights of the best evaluation in memory, and gives them to the model in the end.

    They are also written beside a checkpoint, because a resumed run may not find better ones: once for each checkpoint
    that has new ones, before it, so that what a complete checkpoint needs is complete. No checkpoint is written where
    training stops early.

    It comes after `ResumePoints` in the list of callbacks. The evaluation's metric is `args.metric_for_best_model`,
    whose highest value is the best.
    """

    def __init__(self, early_stopping_patience: int = 1, early_stopping_threshold: float = 0.0):
        super().__init__(early_stopping_patience, early_stopping_threshold)
        self.weights: dict[str, Tensor] | None = None
        self.step = self.written = 0  # of the best evaluation; of the one whose weights lie on the disk

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control, **_):
        if state.best_global_step:  # of the checkpoint from which a run is resumed
            self.step = self.written = state.best_global_step
            if not self.file(args).is_file():
                raise InputError(
                    f"{args.output_dir} lacks {self.file(args).name}, the best weights so far: train again with "
                    "--overwrite"
                )
            self.weights = load_file(self.file(args))

    def on_step_end(self, args: TrainingArguments, state, control: TrainerControl, **_):
        if control.should_save and not control.should_evaluate:
            self.write(args)

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, metrics, **others):
        super().on_evaluate(args, state, control, metrics, **others)
        # The Trainer updates `state.best_metric` later.
        if state.best_metric is None or metrics[f"eval_{args.metric_for_best_model}"] > state.best_metric:
            self.step = state.global_step
            self.weights = copied_weights(others["model"])
        control.should_save = control.should_save and not control.should_training_stop
        if control.should_save:
            self.write(args)

    def on_save(self, args: TrainingArguments, state, control, **_):
        if args.should_save:  # the checkpoint is complete: weights that no checkpoint needs are removed
            for file in Path(args.output_dir).glob("best-*"):
                if file != self.file(args):
                    file.unlink()

    def on_train_end(self, args, state, control, *, model: nn.Module, **_):
        if self.weights is not None:
            model.load_state_dict(self.weights)

    def file(self, args: TrainingArguments) -> Path:
        return Path(args.output_dir) / f"best-{self.step}.safetensors"

    def write(self, args: TrainingArguments) -> None:
        if self.weights is not None and self.written != self.step and args.should_save:
            save_file({name: weight.contiguous() for name, weight in self.weights.items()}, self.file(args))
        self.written = self.step


class Beginning:
    """The initial weights of a model, for weight interpolation with the fine-tuned ones: WiSE-FT.

    Wortsman et al. (2022), arXiv:2109.01903, Eq. 1. It is made before the training, also before one that is resumed.
    """

    def __init__(self, model: nn.Module):
        self.weights = [weight for weight in model.parameters() if weight.requires_grad]
        self.before = [weight.detach().clone() for weight in self.weights]

    def at(self, shares: Sequence[float]) -> Iterator[float]:
        """Yields each weight while the model has the interpolated weights; it has the fine-tuned ones in the end."""
        after = [weight.detach().clone() for weight in self.weights]
        for share in shares:
            self.mix(after, share)
            yield share
        self.mix(after, 1.0)

    def keep(self, share: float) -> None:
        """Gives the model this share of its weights, and of those before training the rest."""
        self.mix([weight.detach() for weight in self.weights], share)

    @torch.no_grad()
    def mix(self, after: Sequence[Tensor], share: float) -> None:
        for weight, before, trained in zip(self.weights, self.before, after, strict=True):
            weight.copy_(torch.lerp(before.to(trained), trained, share))


@dataclass(frozen=True)
class Tracking:
    """Where a run is reported: to trackers named in `TRACKERS`.

    The name of the output is the name of the run. TensorBoard's files go to logs/NAME beside it, or to the folder in
    TENSORBOARD_LOGGING_DIR. The other trackers have settings of their own for their place and project:
    MLFLOW_TRACKING_URI, WANDB_DIR, TRACKIO_DIR.
    """

    trackers: Sequence[str] = ()
    output: Path = Path()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Inside the `with`, the Trainer is made and trains. Then the run is finished in every tracker."""
        before = os.environ.get(PLACE)
        if "tensorboard" in self.trackers and before is None:
            os.environ[PLACE] = str(self.output.parent / "logs" / self.output.name)
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(PLACE, None)
            if "wandb" in self.trackers:  # the others finish with the Trainer; wandb would go on with the same run
                import wandb

                wandb.finish()


UNTRACKED = Tracking()


def check_trackers(names: Sequence[str]) -> None:
    """Raises an `InputError` if a tracker is unknown, or is not installed."""
    for name in names:
        if name not in TRACKERS:
            raise unknown("--report-to", name, TRACKERS)
        if not any(find_spec(module) for module in TRACKERS[name]):
            raise InputError(f"--report-to {name} needs the package {name}: pip install {name}")
