"""How each op of the tensorrt dialect becomes layers, one file per family of ops."""

from . import (  # noqa: F401  (each import registers its encoders)
    constants,
    control_flow,
    convolution,
    elementwise,
    indexing,
    linear,
    plugin,
    quantization,
    reductions,
    shape,
    slicing,
    transformer,
    vision,
)
from .registry import ENCODERS, Encoder

__all__ = ["ENCODERS", "Encoder"]
