"""From onnx ops to tensorrt ops: a table of converters by ONNX op type, one file per family."""

from __future__ import annotations

from . import (  # noqa: F401  (each import enters its converters)
    activations,
    attention,
    comparisons,
    control_flow,
    convolution,
    elementwise,
    fourier,
    gather_scatter,
    integers,
    losses,
    matmul,
    normalization,
    padding,
    pooling,
    quantization,
    recurrent,
    reductions,
    reshaping,
    resize,
    rotary,
    selection,
    shapes,
    slicing,
    softmax,
    vision,
    windows,
)
from .function import FALLBACK, convert_function
from .node import CONVERTERS, Node, Refused

__all__ = ["CONVERTERS", "FALLBACK", "Node", "Refused", "convert_function"]
