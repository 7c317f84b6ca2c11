"""The `tensorrt` dialect: the ops of MLIR-TensorRT, and ops for the layers of TensorRT 11 beyond those."""

from __future__ import annotations

from ...ir.context import register_dialect
from ...ir.opdef import DialectDef
from . import (
    assertion,
    constants,
    control_flow,
    convolution,
    elementwise,
    gather_scatter,
    linear_algebra,
    normalization,
    plugin,
    pooling,
    quantization,
    recurrent,
    reductions,
    resize,
    shape,
    slicing,
    structure,
    transformer,
    vision,
)
from .arguments import ARGUMENTS
from .enums import ENUMS

__all__ = ["DIALECT", "FAMILIES"]

# In the order of the reference page.
FAMILIES = (
    structure,
    elementwise,
    constants,
    reductions,
    normalization,
    convolution,
    pooling,
    linear_algebra,
    shape,
    slicing,
    gather_scatter,
    resize,
    quantization,
    control_flow,
    transformer,
    recurrent,
    vision,
    assertion,
    plugin,
)

DIALECT = DialectDef(
    "tensorrt",
    ops={op.name: op for family in FAMILIES for op in family.OPS},
    enums=ENUMS,
    params={"shape_profile": ("min", "opt", "max")},
    arguments=ARGUMENTS,
)

register_dialect(DIALECT)
