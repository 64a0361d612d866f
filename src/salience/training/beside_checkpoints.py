"""What a training holds beside its weights: written beside each checkpoint, and read when a run is resumed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from salience.errors import InputError


class BesideCheckpoints(TrainerCallback):
    """A callback with tensors of its own. It comes after `ResumePoints` in the list of callbacks.

    The tensors are written before the checkpoint itself, so that each complete checkpoint has them.

    Attributes:
        name: what its files begin with; of subclasses.
        what: the tensors in words, for messages; of subclasses.
    """

    name: str
    what: str

    def read(self, args: TrainingArguments, state: TrainerState) -> dict[str, Tensor]:
        """The tensors as they were after the current step.

        Raises:
            InputError: they are missing.
        """
        file = self.file(args, state)
        if not file.is_file():
            raise InputError(f"{args.output_dir} lacks {file.name}, {self.what}: train again with --overwrite")
        return load_file(file)

    def write(
        self, tensors: Mapping[str, Tensor], args: TrainingArguments, state: TrainerState, control: TrainerControl
    ) -> None:
        """Writes the tensors, if a checkpoint is saved after the current step."""
        if control.should_save and args.should_save:
            save_file(dict(tensors), self.file(args, state))

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_):
        """Called by the Trainer when a checkpoint is complete: files that no checkpoint needs are removed."""
        if args.should_save:
            for file in Path(args.output_dir).glob(f"{self.name}-*"):
                if file != self.file(args, state):
                    file.unlink()

    def file(self, args: TrainingArguments, state: TrainerState) -> Path:
        """The file of the current step."""
        return Path(args.output_dir) / f"{self.name}-{state.global_step}.safetensors"
