"""Ops that hold engines and call them."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import func

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, Region, ResultDef
from ...ir.symbols import lookup
from ...ir.verifier import reject
from .common import example

__all__ = ["OPS"]


def _callee(op: Op) -> func.FuncOp:
    root = op.operation
    assert root is not None
    while root.parent is not None:
        root = root.parent.operation
    try:
        return lookup(root.opview, op.attr("callee"))
    except KeyError:
        reject(op, f"callee @{op.attr('callee').replace('::', '::@')} is not a function of this module")


def _verify_call(op: Op) -> None:
    assert op.operation is not None
    kind = _callee(op).type
    results = [value.type for value in op.operation.results]
    _check_types(op, "inputs", [value.type for value in op.group("inputs")], list(kind.inputs))
    if op.name == "tensorrt.call":
        _check_types(op, "outputs", [value.type for value in op.group("outputs")], list(kind.results))
        if not results:
            return
    _check_types(op, "results", results, list(kind.results))


def _check_types(op: Op, what: str, given: list[ir.Type], wanted: list[ir.Type]) -> None:
    callee = op.attr("callee")
    if len(given) != len(wanted):
        reject(op, f"has {len(given)} {what}; callee @{callee} has {len(wanted)}")
    for number, (have, want) in enumerate(zip(given, wanted, strict=True)):
        if not _fits(have, want):
            reject(op, f"{what}: number {number} is {have}; callee @{callee} has {want}")


def _fits(a: ir.Type, b: ir.Type) -> bool:
    if a == b:
        return True
    if not (isinstance(a, ir.ShapedType) and isinstance(b, ir.ShapedType)):
        return False
    return a.element_type == b.element_type and shapes.compatible(a.shape, b.shape)


_CALL_ATTRS = (
    Attr("callee", "symbol", doc="The engine function, `@engines::@name`."),
    Attr("arg_attrs", "array", optional=True, doc="A dictionary per input."),
    Attr("res_attrs", "array", optional=True, doc="A dictionary per result."),
)

_ENGINES = """tensorrt.module @engines {
  func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tensorrt.element_wise <kSUM>(%x, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""

OPS = (
    OpDef(
        "tensorrt.module",
        "Holds one function per engine.",
        attrs=(Attr("sym_name", "str", doc="Its symbol."),),
        results=(),
        regions=(Region("bodyRegion"),),
        assembly="$sym_name attr-dict-with-keyword $bodyRegion",
        traits=frozenset({"isolated", "symbol", "symbol_table", "no_terminator"}),
        example=_ENGINES,
    ),
    OpDef(
        "tensorrt.call",
        "Runs an engine into tensors that the caller gives.",
        operands=(
            Operand("inputs", variadic=True, doc="The function's arguments."),
            Operand("outputs", variadic=True, doc="Where the results go; one per result."),
        ),
        attrs=_CALL_ATTRS,
        results=(ResultDef("results", variadic=True),),
        assembly="$callee `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` $outputs `:` type($outputs) `)` "
        "attr-dict (`->` type($results)^)?",
        traits=frozenset(),
        verify=_verify_call,
        example=_ENGINES
        + example(
            "%x: tensor<4xf32>, %y: tensor<4xf32>",
            "%0 = tensorrt.call @engines::@double(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) "
            "-> tensor<4xf32>",
            "%0 : tensor<4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.call_alloc",
        "Runs an engine; its results are allocated for it.",
        operands=(Operand("inputs", variadic=True, doc="The function's arguments."),),
        attrs=_CALL_ATTRS,
        results=(ResultDef("results", variadic=True),),
        assembly="$callee `(` ($inputs^ `:` type($inputs))? `)` attr-dict (`->` type($results)^)?",
        traits=frozenset(),
        verify=_verify_call,
        example=_ENGINES
        + example(
            "%x: tensor<4xf32>",
            "%0 = tensorrt.call_alloc @engines::@double(%x : tensor<4xf32>) -> tensor<4xf32>",
            "%0 : tensor<4xf32>",
        ),
    ),
)
