"""A trained classifier as an ONNX file, traced by torch.export and translated by torch.onnx."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from salience.batch import Batch
from salience.errors import InputError
from salience.hooks.hooks import evaluating, inputs_of

# A protobuf file holds at most 2 GB. Larger weights are written to a file beside it.
LARGEST_FILE = 2**31 - 2**24


class Logits(nn.Module):
    """A classifier whose forward pass returns nothing but its logits.

    Args:
        model: the classifier.
        names: its inputs, in order.
    """

    def __init__(self, model: PreTrainedModel, names: list[str]):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Tensor) -> Tensor:
        """The logits (B, C) of inputs (B, T)."""
        return self.model(**dict(zip(self.names, inputs, strict=True))).logits


def write_onnx(model: PreTrainedModel, example: Batch, file: Path) -> None:
    """Writes a classifier as ONNX. Batches of all sizes and texts of all lengths can be predicted with the file.

    Its inputs are `input_ids`, `attention_mask` and, if the model reads them, `token_type_ids`, all (B, T) int64; its
    output is `logits` (B, C) float32. It consists of standard operators.

    Args:
        model: the classifier, on a CPU, with weights in float32.
        example: two texts or more of different lengths, which are traced.
        file: the file to write. Weights of more than 2 GB are written to `file.data`.

    Raises:
        InputError: the exporter does not support the model.
    """
    from salience.export.first_token import read_first_token_only

    inputs = {name: value for name, value in inputs_of(model, example).items() if name != "word_mask"}
    batch, tokens = torch.export.Dim("batch"), torch.export.Dim("tokens")
    try:
        with quiet(), evaluating(model), plain_attention(model):
            program: Any = torch.onnx.export(
                Logits(model, list(inputs)), tuple(inputs.values()), dynamo=True, verbose=False,
                input_names=list(inputs), output_names=["logits"],
                dynamic_shapes=(({0: batch, 1: tokens},) * len(inputs),),
            )  # fmt: skip
            read_first_token_only(program.model)
            program.save(str(file), external_data=needs_two_files(model))
    except (RuntimeError, torch.onnx.OnnxExporterError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"models of the type {model.config.model_type} cannot be exported to ONNX: {reason[:200]}"
        ) from error


def needs_two_files(model: PreTrainedModel) -> bool:
    """Whether the weights are too large for one file."""
    return sum(weight.nbytes for weight in model.state_dict().values()) > LARGEST_FILE


@contextmanager
def plain_attention(model: PreTrainedModel) -> Iterator[None]:
    """Inside the `with`, attention is computed step by step.

    The exporter surrounds torch's fused attention with checks for rows without a token, which take as long as the
    attention itself.
    """
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(before)


@contextmanager
def quiet() -> Iterator[None]:
    """Inside the `with`, the exporter is silent: it warns of packages and operators that no text classifier needs."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
