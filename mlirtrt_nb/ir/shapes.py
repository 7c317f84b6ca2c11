"""Shape arithmetic that type inference shares. A dimension is an int; `DYNAMIC` stands for one not known.

Functions return None where shapes contradict each other; the caller knows the op and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch_mlir import ir

__all__ = [
    "DYNAMIC",
    "axis_of",
    "broadcast",
    "compatible",
    "element_name",
    "is_static",
    "same_element",
    "tensor",
    "text",
    "unit_axes",
    "volume",
    "windowed",
]

DYNAMIC: int = ir.ShapedType.get_dynamic_size()

_FLOAT_NAMES = {
    ir.F32Type: "f32",
    ir.F16Type: "f16",
    ir.BF16Type: "bf16",
    ir.F64Type: "f64",
    ir.Float8E4M3FNType: "f8E4M3FN",
    ir.Float4E2M1FNType: "f4E2M1FN",
    ir.Float8E8M0FNUType: "f8E8M0FNU",
}


def tensor(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    """The tensor type of this shape and element type; needs no current location."""
    return ir.RankedTensorType.get_unchecked(list(shape), element)


def text(dims: Sequence[int]) -> str:
    """`2x?x3`, as in a tensor type."""
    return "x".join("?" if d == DYNAMIC else str(d) for d in dims)


def element_name(kind: ir.Type) -> str:
    """The spelling of an element type; a quantized type counts as its storage type ("i8")."""
    known = _FLOAT_NAMES.get(type(kind))
    if known is not None:
        return known
    spelling = str(kind)
    return spelling.removeprefix("!quant.uniform<").partition(":")[0].partition("<")[0]


def same_element(a: ir.RankedTensorType, b: ir.RankedTensorType) -> bool:
    """Whether both have one element type."""
    return a.element_type == b.element_type


def is_static(shape: Sequence[int]) -> bool:
    """Whether every dimension is known."""
    return DYNAMIC not in shape


def volume(shape: Sequence[int]) -> int | None:
    """How many elements; None where a dimension is not known."""
    return prod(shape) if is_static(shape) else None


def axis_of(axis: int, rank: int) -> int | None:
    """A possibly negative axis counted from the front; None if out of range."""
    if not -rank <= axis < rank:
        return None
    return axis + rank if axis < 0 else axis


def broadcast(*shapes: Sequence[int]) -> list[int] | None:
    """The shape that shapes of one rank broadcast to: equal, 1 against anything, dynamic against static."""
    result = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(result):
            return None
        for i, dim in enumerate(shape):
            have = result[i]
            if dim in (have, 1):
                continue
            if have in (1, DYNAMIC):
                result[i] = dim
            elif dim != DYNAMIC:
                return None
    return result


def compatible(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes can be the same at run time."""
    return len(a) == len(b) and all(x == y or DYNAMIC in (x, y) for x, y in zip(a, b, strict=True))


def unit_axes(small: Sequence[int], large: Sequence[int]) -> list[int] | None:
    """The dimensions of length 1 that `large` has more than `small`; None if they differ in anything else."""
    if not large:
        return None if small else []
    place = len(large) - 1
    if small and compatible(small[-1:], large[-1:]):
        axes = unit_axes(small[:-1], large[:-1])
        if axes is not None:
            return axes
    axes = unit_axes(small, large[:-1]) if large[-1] == 1 else None
    return None if axes is None else [*axes, place]


def windowed(
    size: int,
    window: int,
    stride: int = 1,
    before: int = 0,
    after: int = 0,
    dilation: int = 1,
    mode: str = "kEXPLICIT_ROUND_DOWN",
) -> int:
    """How many positions a window takes along a dimension, in TensorRT's padding `mode`.

    Negative where the window does not fit. Unknown if the size or window is.
    """
    if size == DYNAMIC:
        return DYNAMIC
    if mode.startswith("kSAME"):
        return -(-size // stride)
    if window == DYNAMIC:
        return DYNAMIC
    span = size + before + after - dilation * (window - 1) - 1
    return (-(-span // stride) if mode == "kEXPLICIT_ROUND_UP" else span // stride) + 1
