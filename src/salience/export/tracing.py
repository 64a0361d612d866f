"""A trained classifier as an ONNX file, traced by torch.export and translated by torch.onnx.

What a classifier computes only to read the first token is computed for the first token only.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from salience.batch import Batch
from salience.errors import InputError
from salience.hooks.hooks import evaluating, inputs_of
from salience.work import doing

LARGEST_FILE = 2**31 - 2**24  # a protobuf file holds at most 2 GB; larger weights are written to a file beside it


class Logits(nn.Module):
    """A classifier whose forward pass returns its logits (B, C) alone, of inputs (B, T) in the order of `names`."""

    def __init__(self, model: PreTrainedModel, names: list[str]):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.model(**dict(zip(self.names, inputs, strict=True))).logits


@doing("tracing the model")
def write_onnx(model: PreTrainedModel, example: Batch, file: Path) -> None:
    """Writes a classifier, which is on a CPU in float32, as ONNX of standard operators.

    Its inputs are `input_ids`, `attention_mask` and, if the model reads them, `token_type_ids`, all (B, T) int64; its
    output is `logits` (B, C) float32. Two texts or more of different lengths are traced, and batches of all sizes and
    lengths can be predicted. Weights of more than 2 GB are written to `file.data`.
    """
    inputs = {name: value for name, value in inputs_of(model, example).items() if name != "word_mask"}
    batch, tokens = torch.export.Dim("batch"), torch.export.Dim("tokens")
    attention = model.config._attn_implementation
    # The exporter surrounds torch's fused attention with checks for rows without a token, which take as long as the
    # attention itself.
    model.set_attn_implementation("eager")
    try:
        with quiet(), evaluating(model):
            program: Any = torch.onnx.export(
                Logits(model, list(inputs)), tuple(inputs.values()), dynamo=True, verbose=False,
                input_names=list(inputs), output_names=["logits"],
                dynamic_shapes=(({0: batch, 1: tokens},) * len(inputs),),
            )  # fmt: skip
            read_first_token_only(program.model)
            program.save(str(file), external_data=needs_two_files(model))
    except (RuntimeError, torch.onnx.OnnxExporterError) as error:
        cause: BaseException = error  # the exporter's own message says in which of its steps
        while cause.__cause__ is not None:
            cause = cause.__cause__
        reason = next(iter(str(cause).strip().splitlines()), type(cause).__name__)
        raise InputError(
            f"models of the type {model.config.model_type} cannot be exported to ONNX: {reason[:200]}"
        ) from error
    finally:
        model.set_attn_implementation(attention)


def needs_two_files(model: PreTrainedModel) -> bool:
    """Whether the weights are too large for one file."""
    return sum(weight.nbytes for weight in model.state_dict().values()) > LARGEST_FILE


@contextmanager
def quiet() -> Iterator[None]:
    """Inside the `with`, the exporter is silent: it warns of packages and operators that no text classifier needs."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def read_first_token_only(model: ir.Model) -> None:
    """Moves the choice of the first position from the end of a network towards its beginning, as far as it goes."""
    graph = model.graph
    wanted: dict[tuple[ir.Node, int], int] = {}  # inputs of nodes of which only the first position is read: the axis
    narrowed: dict[ir.Value, int] = {}  # values that are computed at their first position only: the axis
    for node in reversed(list(graph)):
        if node.op_type == "Gather" and node.attributes.get_int("axis", 0) == 1 and is_zero(node.inputs[1]):
            wanted[node, 0] = 1
            continue
        value = node.outputs[0]
        uses = [(use.node, use.idx) for use in value.uses()]
        axes = {wanted[use] for use in uses if use in wanted}
        if len(axes) != 1 or not wanted.keys() >= set(uses) or value.is_graph_output() or value.shape is None:
            continue
        axis = axes.pop()
        inputs = RULES[node.op_type](node, axis) if node.op_type in RULES else None
        if inputs is not None:
            narrowed[value] = axis
            wanted |= {(node, index): own_axis for index, own_axis in inputs}
    for (node, index), axis in wanted.items():
        value = node.inputs[index]
        if value not in narrowed:
            cut = ir.node("Slice", [value, *(constant(graph, number) for number in (0, 1, axis))])
            graph.insert_before(node, cut)
            node.replace_input_with(index, cut.outputs[0])
    for value, axis in narrowed.items():
        value.shape = ir.Shape([1 if place == axis else size for place, size in enumerate(value.shape)])
        if value.producer().op_type == "Reshape":
            value.producer().replace_input_with(1, constant(graph, -1, *value.shape[1:]))


def is_zero(value: ir.Value) -> bool:
    return value.const_value is not None and value.const_value.numpy().tolist() == 0


def constant(graph: ir.Graph, *numbers: int) -> ir.Value:
    """Whole numbers as a constant (n,) of the graph."""
    name = "_".join(map(str, ("first_token", *numbers)))
    if name not in graph.initializers:
        tensor = ir.tensor(np.array(numbers, np.int64), name=name)
        graph.register_initializer(ir.val(name, const_value=tensor))
    return graph.initializers[name]


def on_states(node: ir.Node, axis: int) -> list[tuple[int, int]] | None:
    """Of a function of each position alone: its first input, unless the axis is the last, which it works along."""
    return [(0, axis)] if axis < len(node.outputs[0].shape) - 1 else None


def on_all(node: ir.Node, axis: int) -> list[tuple[int, int]] | None:
    """Of an operator on the values of several inputs: those that have the axis."""
    inputs = []
    for index, value in enumerate(node.inputs):
        if value.shape is None:
            return None
        own_axis = axis - len(node.outputs[0].shape) + len(value.shape)
        if own_axis >= 0 and value.shape[own_axis] != 1:
            inputs.append((index, own_axis))
    return inputs


def on_rows(node: ir.Node, axis: int) -> list[tuple[int, int]] | None:
    """Of a product of matrices: the rows of the first one."""
    return [(0, axis)] if axis == len(node.outputs[0].shape) - 2 else None


def permuted(node: ir.Node, axis: int) -> list[tuple[int, int]] | None:
    """Of a transposition: the axis that becomes this one."""
    return [(0, node.attributes["perm"].as_ints()[axis])]


def split_or_merged(node: ir.Node, axis: int) -> list[tuple[int, int]] | None:
    """Of a change of shape that keeps the first two axes and splits or merges the others, whose sizes are known."""
    before, after = node.inputs[0].shape, node.outputs[0].shape
    keeps = before is not None and axis == 1 and before[:2] == after[:2]
    return [(0, 1)] if keeps and all(isinstance(size, int) for size in after[2:]) else None


# A rule gives, for a node and an axis of its output, the inputs that can be cut to their first position, each with
# its axis; None if the node needs other positions, too.
RULES: dict[str, Callable[[ir.Node, int], list[tuple[int, int]] | None]] = {
    "LayerNormalization": on_states, "Softmax": on_states, "Gelu": on_all, "Tanh": on_all, "Erf": on_all,
    "Add": on_all, "Mul": on_all, "Div": on_all, "Sub": on_all, "MatMul": on_rows, "Transpose": permuted,
    "Reshape": split_or_merged,
}  # fmt: skip
