"""How each tensorrt op becomes ONNX nodes; one file per family, as in the dialect."""

from . import (  # noqa: F401  (each import registers its emitters)
    constants,
    control_flow,
    convolution,
    elementwise,
    gather_scatter,
    linear_algebra,
    normalization,
    plugin,
    quantization,
    recurrent,
    reductions,
    resize,
    shape,
    slicing,
    transformer,
    vision,
)
from .registry import EMITTERS

__all__ = ["EMITTERS"]
