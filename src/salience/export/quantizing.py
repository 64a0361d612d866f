"""Weights in int8: products of matrices are computed with 8-bit numbers, everything else in float32."""

from __future__ import annotations

import logging
from pathlib import Path

from salience.inference.onnx_model import needed


def quantize(file: Path, external: bool = False) -> None:
    """Replaces a model by one whose linear layers have weights in int8, and round what they read to 8 bits.

    Every column of a weight matrix has its own scale. Weights are rounded to 7 bits: on processors without VNNI, the
    products of 8-bit numbers are added in pairs in 16 bits, which would overflow. So the results are the same on all
    processors.

    Args:
        file: a model in float32.
        external: whether its weights are in a second file, `file.data`.

    Raises:
        InputError: onnxruntime is not installed.
    """
    quantization = needed("onnxruntime.quantization")
    source = file.rename(file.with_name("float32.onnx"))  # a second file keeps its name, to which the model refers
    logging.disable(logging.WARNING)  # it advises, on the root logger, to infer shapes first, which gains nothing here
    try:
        quantization.quantize_dynamic(
            source, file, weight_type=quantization.QuantType.QInt8, per_channel=True, reduce_range=True,
            op_types_to_quantize=["MatMul", "Gemm"], use_external_data_format=external,
            extra_options={"MatMulConstBOnly": True},
        )  # fmt: skip
    finally:
        logging.disable(logging.NOTSET)
    source.unlink()
