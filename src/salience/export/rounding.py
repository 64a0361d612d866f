"""The linear layers of an ONNX file in 8 bits, with a scale for each token and not one for a whole batch.

So what is said of a text does not depend on the texts beside it, up to the rounding of float32.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_ir as ir

from salience.work import doing

STATES, WEIGHTS = 127, 63  # the largest numbers
ZERO = np.uint8(128)  # that stands for 0 of a state; products of unsigned and signed numbers are the fast ones
TINY = np.float32(1e-30)  # in place of a largest magnitude of 0, by which nothing can be divided


@doing("rounding the weights")
def round_products(file: Path, external: bool = False) -> None:
    """Replaces a model by one that multiplies the states of tokens by weights in whole numbers of 8 bits.

    The states of a token are divided by the largest magnitude among them, and rounded to 255 levels. Every column of a
    weight matrix has its own scale. Weights are rounded to 7 bits: on processors without VNNI, the products of 8-bit
    numbers are added in pairs in 16 bits, which would overflow. So the results are the same on all processors. All
    else is computed in float32, the maps of single vectors in the head included.

    Args:
        external: whether weights are written to `file.data`.
    """
    model = ir.load(file)
    graph = model.graph

    def stored(name: str, values: np.ndarray | np.generic) -> ir.Value:
        value = ir.val(name, const_value=ir.tensor(np.asarray(values), name=name))
        graph.register_initializer(value)
        return value

    zero, tiny, last = stored("zero", ZERO), stored("tiny", TINY), stored("last_axis", np.array([-1]))
    level = stored("level", np.float32(1 / STATES))
    states: dict[ir.Value, tuple[ir.Value, ir.Value]] = {}  # in whole numbers, and the largest of each token
    weights: dict[ir.Value, tuple[ir.Value, ir.Value]] = {}  # in whole numbers, and the scale of each column
    for node in list(graph):
        if node.op_type != "MatMul" or (known := node.inputs[1].const_value) is None or len(known.shape) != 2:
            continue
        read, weight = node.inputs

        def computed(operator: str, *inputs: ir.Value, before=node, **attributes) -> ir.Value:
            made = ir.node(operator, inputs, attributes)
            graph.insert_before(before, made)
            return made.outputs[0]

        if weight not in weights:
            values = known.numpy()
            scales = np.maximum(abs(values).max(0), TINY) / WEIGHTS
            whole = stored(f"{weight.name}_in_8_bits", np.rint(values / scales).astype(np.int8))
            weights[weight] = whole, stored(f"{weight.name}_scales", (scales / STATES).astype(np.float32))
        if read not in states:
            largest = computed("Max", computed("ReduceMax", computed("Abs", read), last, keepdims=1), tiny)
            states[read] = computed("QuantizeLinear", computed("Div", read, largest), level, zero), largest
        whole, largest = states[read]
        product = computed("Cast", computed("MatMulInteger", whole, weights[weight][0], zero), to=ir.DataType.FLOAT)
        node.op_type = "Mul"  # the node keeps its output, which may be that of the graph
        node.replace_input_with(0, computed("Mul", product, weights[weight][1]))
        node.replace_input_with(1, largest)
    for weight in weights:
        del graph.initializers[weight.name]
    ir.save(model, file, external_data=f"{file.name}.data" if external else None)
