"""What the op families share: element type lists, frequent pieces of syntax, and how examples are spelled."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.verifier import reject

__all__ = [
    "ALL_TYPES",
    "FLOATS",
    "INS",
    "INS_ONE",
    "MOVED",
    "SAME",
    "TENSOR",
    "check_axes",
    "check_rank",
    "check_same_element",
    "check_shape_tensor",
    "elements_type",
    "example",
    "front_axis",
    "result_type",
    "same_as",
]

# Element types, in the notation of `Operand.types`.
TENSOR = "i1 i8 i32 i64 f16 bf16 f32"
ALL_TYPES = f"{TENSOR} i4 f8E4M3FN"
FLOATS = "f16 bf16 f32"
# What moves take: bytes too, which `apply-workarounds` moves as i32 inside an engine.
MOVED = f"{ALL_TYPES} ui8"

# Syntax.
INS = "attr-dict `ins` `(` operands `:` type(operands) `)` `->` type(results)"
INS_ONE = "attr-dict $input `:` type($input) `->` type(results)"
SAME = "attr-dict $input `:` type($input)"


def example(arguments: str, body: str, returns: str = "") -> str:
    """A whole function: `arguments` as in its signature, ops in `body`, `returns` as "%0 : type"."""
    values, _, types = returns.partition(" : ")
    lines = cleandoc(body).splitlines()
    result = f" -> ({types})" if "," in types else f" -> {types}" if types else ""
    text = "".join(f"  {line}\n" for line in [*lines, f"return {returns}" if values else "return"])
    return f"func.func @main({arguments}){result} {{\n{text}}}\n"


def same_as(name: str) -> Callable[[Op], list[ir.Type]]:
    """Inference for ops whose result has the type of an operand."""
    return lambda op: [op.type(name)]


def elements_type(op: Op, name: str) -> ir.RankedTensorType | None:
    """The type of a constant attribute, if it is there."""
    found = op.raw(name)
    return None if found is None else ir.RankedTensorType(found.type)  # type: ignore[attr-defined]


def result_type(op: Op) -> ir.RankedTensorType:
    """The type of the first result. For verifiers: the op exists."""
    assert op.operation is not None
    return ir.RankedTensorType(op.operation.results[0].type)


def front_axis(op: Op, rank: int, name: str = "axis") -> int:
    """The attribute `name` as an axis of `rank` dimensions, counted from the front."""
    axis = shapes.axis_of(op.attr(name), rank)
    if axis is None:
        reject(op, f"{name} = {op.attr(name)} is not a dimension of a tensor of rank {rank}")
    return axis


def check_axes(op: Op, name: str, rank: int) -> None:
    """`name` must list dimensions of `rank`, strictly increasing and not negative."""
    axes = op.attr(name)
    if not axes or axes != sorted(set(axes)) or axes[0] < 0 or axes[-1] >= rank:
        reject(op, f"{name} = {axes} must be strictly increasing dimensions of a tensor of rank {rank}")


def check_rank(op: Op, name: str, *ranks: int) -> None:
    """The operand must have one of these ranks, if it is there."""
    if op.operand(name) is not None and op.type(name).rank not in ranks:
        wanted = " or ".join(map(str, ranks))
        reject(op, f"{name} is {op.type(name)}; it must have rank {wanted}")


def check_same_element(op: Op, first: str, second: str) -> None:
    """Two operands must have the same element type, if both are there."""
    if op.operand(first) is None or op.operand(second) is None:
        return
    if not shapes.same_element(op.type(first), op.type(second)):
        reject(
            op, f"{first} is {op.type(first)} and {second} is {op.type(second)}; element types must be equal"
        )


def check_shape_tensor(op: Op, name: str, length: int | None = None) -> None:
    """The operand must be of rank 1 and static length (of `length`, if given), if it is there."""
    if op.operand(name) is None:
        return
    shape = op.type(name).shape
    if len(shape) != 1 or not shapes.is_static(shape):
        reject(op, f"{name} is {op.type(name)}; it must have rank 1 and a static length")
    if length is not None and shape[0] != length:
        reject(op, f"{name} is {op.type(name)}; it must have {length} values, one per dimension")
