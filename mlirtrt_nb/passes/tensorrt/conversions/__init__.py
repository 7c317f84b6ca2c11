"""From onnx ops to tensorrt ops: a table of converters by ONNX op type, one file per family."""

from __future__ import annotations

from . import (
    activations,
    comparisons,
    convolution,
    elementwise,
    gather_scatter,
    matmul,
    normalization,
    padding,
    pooling,
    quantization,
    reductions,
    reshaping,
    resize,
    selection,
    shapes,
    slicing,
    softmax,
)
from .node import CONVERTERS, Node, Refused

__all__ = ["CONVERTERS", "FAMILIES", "Node", "Refused"]

FAMILIES = (
    activations,
    comparisons,
    convolution,
    elementwise,
    gather_scatter,
    matmul,
    normalization,
    padding,
    pooling,
    quantization,
    reductions,
    reshaping,
    resize,
    selection,
    shapes,
    slicing,
    softmax,
)
