"""A classifier that was exported to ONNX: a file that onnxruntime computes."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from transformers import PreTrainedConfig

from salience.batch import Batch
from salience.errors import InputError, one_line, pip_install, quoted

FILE = "model.onnx"
# Padded tokens in a batch, for each thread. onnxruntime computes the operators one after the other; between them, the
# states of few tokens stay in the cache of a core.
TOKENS = 128
# One operator for addition and LayerNorm takes three times as long as two, because it is not vectorised.
SLOWER = ["SkipLayerNormFusion"]


class OnnxModel:
    """The network of an exported classifier: `model.onnx`, with inputs named as in transformers and output `logits`.

    It has neither gradients nor hidden states, and computes with as many threads as torch has when it is loaded.
    """

    device = torch.device("cpu")

    def __init__(self, folder: Path, config: PreTrainedConfig):
        self.folder, self.config, self.threads = folder, config, torch.get_num_threads()
        runtime = needed("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 4  # errors are raised, and need not be printed, too
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other processes need the cores, too
        try:
            # It reads no weights from files outside the folder, by itself, since 1.32.
            self.session = runtime.InferenceSession(
                str(folder / FILE), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER
            )
        except Exception as error:  # onnxruntime has an error class of its own for each of its codes
            raise InputError(
                f"{folder / FILE} is damaged, or reads files outside its folder ({one_line(error, 300)}): export the "
                "model again"
            ) from error
        self.inputs = [value.name for value in self.session.get_inputs()]
        outputs = [value.name for value in self.session.get_outputs()]
        known = {"input_ids", "attention_mask", "token_type_ids"}
        if not {"input_ids"} <= set(self.inputs) <= known or "logits" not in outputs:
            raise InputError(
                f"{folder / FILE} is not a classifier of texts: it reads {', '.join(map(quoted, self.inputs))} and "
                f"returns {', '.join(map(quoted, outputs))}; export one with salience export"
            )

    def logits(self, batch: Batch) -> np.ndarray:
        """The logits (B, C) of a batch, in float32."""
        given = {name: getattr(batch, name) for name in self.inputs}
        # A file may read types that its tokenizer gives no model: they are 0, as in transformers.
        read = {name: torch.zeros_like(batch.input_ids) if value is None else value for name, value in given.items()}
        return self.session.run(["logits"], {name: value.numpy() for name, value in read.items()})[0]

    def modules(self) -> NoReturn:
        """Refuses every use that needs the layers of the network."""
        raise InputError(
            f"{self.folder} was exported to ONNX: it predicts, but has no gradients and no hidden states. Name the "
            "run that it was exported from"
        )


def needed(package: str) -> Any:
    """A package of the optional extra `onnx`. Raises an `InputError` if it is not installed."""
    # From version 1.32 on, onnxruntime collects telemetry as soon as it is imported, on Linux too.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(f"exported models need the package {package}: {pip_install('onnx')}") from error
