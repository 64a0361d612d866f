"""Finished phases of a training that has several, stored so that a killed run goes on with the next phase."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from salience.training.checkpoints import using_files


def write_phase(model: PreTrainedModel, phase: Path, state: dict[str, Any]) -> None:
    """Writes a finished phase: its weights, and then its state, whose presence marks the phase as finished.

    Args:
        phase: the folder of the phase.
        state: what is to be known of the phase later, as values of JSON.

    Raises:
        OSError: the folder cannot be written.
    """
    phase.mkdir(parents=True, exist_ok=True)
    # Copies, because safetensors refuses tensors that share their memory, such as tied embeddings.
    weights = {name: weight.contiguous() for name, weight in copied_weights(model).items()}
    with using_files(phase):
        save_file(weights, phase / "weights.safetensors")
    (phase / "unfinished.json").write_text(json.dumps(state), encoding="utf-8")
    (phase / "unfinished.json").rename(phase / "state.json")


def copied_weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model by their names, copied to the CPU."""
    return {name: weight.to("cpu", copy=True) for name, weight in model.state_dict().items()}


def read_phase(model: PreTrainedModel, phase: Path) -> dict[str, Any] | None:
    """Loads the weights of a finished phase into the model and gives its state; None if the phase is not finished."""
    if not (phase / "state.json").is_file():
        return None
    model.load_state_dict(load_file(phase / "weights.safetensors", device=str(model.device)))
    return json.loads((phase / "state.json").read_text(encoding="utf-8"))
