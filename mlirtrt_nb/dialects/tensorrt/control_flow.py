"""Branches, loops, and what ends their regions.

A `for` or `while` can give more than its last values. Values that its body yields beyond the loop-carried
ones are collected over the iterations: `collected` names how for each, `collect_axes` along which new axis.
Inside a body, `tensorrt.iterator` gives the current iteration's slice of a tensor.
"""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.context import shown_name
from ...ir.opdef import Attr, OpDef, Operand, Region, ResultDef
from ...ir.values import terminator
from ...ir.verifier import reject
from .common import TENSOR, check_rank, example, front_axis

__all__ = ["OPS"]


def _block(op: Op, number: int, ending: str) -> tuple[list[ir.Type], list[ir.Type]]:
    """A region's argument types, and the types of what its terminator gives on (a condition's flag left "
    "out)."""
    definition, operation = op.definition.regions[number], op.operation
    assert operation is not None
    region = operation.regions[number]
    if len(region.blocks) != 1 or len(region.blocks[0].operations) == 0:
        reject(op, f"{definition.name} must be one block that ends in {ending}")
    block = region.blocks[0]
    last = terminator(block)
    if last.name != ending:
        reject(op, f"{definition.name} ends in {shown_name(last.name)}; it must end in {ending}")
    group = "args" if ending == "tensorrt.condition" else "results"
    return [a.type for a in block.arguments], [v.type for v in Op.of(last).group(group)]


def _agree(a: ir.Type, b: ir.Type) -> bool:
    if a == b:
        return True
    if not (isinstance(a, ir.RankedTensorType) and isinstance(b, ir.RankedTensorType)):
        return False
    return shapes.same_element(a, b) and shapes.compatible(a.shape, b.shape)


def _expect(op: Op, what: str, given: list[ir.Type], wanted: list[ir.Type]) -> None:
    if len(given) != len(wanted) or not all(_agree(a, b) for a, b in zip(given, wanted, strict=True)):
        listed = [", ".join(map(str, types)) or "nothing" for types in (given, wanted)]
        reject(op, f"{what} is of types {listed[0]}; they must be {listed[1]}")


def _result_types(op: Op) -> list[ir.Type]:
    assert op.operation is not None
    return [value.type for value in op.operation.results]


def _infer_if(op: Op) -> list[ir.Type] | None:
    if op.operation is None:
        return None  # The branches that give the types are yet to be filled.
    _, first = _block(op, 0, "tensorrt.yield")
    _, second = _block(op, 1, "tensorrt.yield")
    _check_branches(op, first, second)
    return [_joined(a, b) for a, b in zip(first, second, strict=True)]


def _check_branches(op: Op, first: list[ir.Type], second: list[ir.Type]) -> None:
    """Branches give as many values, of the same element types and ranks; their dimensions may differ."""
    ranks = [[_joined(kind, kind, opened=True) for kind in types] for types in (first, second)]
    if ranks[0] != ranks[1]:
        listed = [", ".join(map(str, types)) or "nothing" for types in (second, first)]
        reject(op, f"what falseRegion yields is of types {listed[0]}; they must be {listed[1]}")


def _joined(a: ir.Type, b: ir.Type, *, opened: bool = False) -> ir.Type:
    """The type of a value that is of either type, of one rank; all dimensions open if `opened`."""
    if not (isinstance(a, ir.RankedTensorType) and isinstance(b, ir.RankedTensorType)):
        return a
    pairs = zip(a.shape, b.shape, strict=True)
    dims = [shapes.DYNAMIC if opened or x != y else x for x, y in pairs]
    return ir.RankedTensorType.get_unchecked(dims, a.element_type)


def _verify_if(op: Op) -> None:
    check_rank(op, "condition", 0)
    _, first = _block(op, 0, "tensorrt.yield")
    _, second = _block(op, 1, "tensorrt.yield")
    _check_branches(op, first, second)


def _verify_while(op: Op) -> None:
    carried = [value.type for value in op.group("operands")]
    check_rank(op, "maxIterations", 0)
    arguments, passed = _block(op, 0, "tensorrt.condition")
    _expect(op, "what condRegion takes", arguments, carried)
    _expect(op, "what condRegion passes on", passed, carried)
    arguments, yielded = _block(op, 1, "tensorrt.yield")
    _expect(op, "what bodyRegion takes", arguments, carried)
    _verify_outputs(op, carried, yielded)
    if op.attr("collected") and op.operand("maxIterations") is None:
        reject(op, f"collected = {op.attr('collected')} needs the operand maxIterations")


def _verify_for(op: Op) -> None:
    for name in ("lowerBound", "upperBound", "step"):
        check_rank(op, name, 0)
        if op.type(name) != op.type("lowerBound"):
            reject(
                op, f"{name} is {op.type(name)}; it must be of the type of lowerBound, {op.type('lowerBound')}"
            )
    carried = [value.type for value in op.group("init")]
    arguments, yielded = _block(op, 0, "tensorrt.yield")
    _expect(op, "what bodyRegion takes", arguments, [op.type("lowerBound"), *carried])
    _verify_outputs(op, carried, yielded)


def _verify_outputs(op: Op, carried: list[ir.Type], yielded: list[ir.Type]) -> None:
    """A loop's results: the carried values, then what is collected, with one more axis."""
    how, axes, results = op.attr("collected") or [], op.attr("collect_axes") or [], _result_types(op)
    if any(kind not in ("kCONCATENATE", "kREVERSE") for kind in how) or len(how) != len(axes):
        reject(op, f"collected = {how} must say kCONCATENATE or kREVERSE for each of collect_axes = {axes}")
    if len(yielded) != len(carried) + len(how):
        reject(
            op,
            f"bodyRegion yields {len(yielded)} values; it must yield {len(carried)} carried ones and "
            f"{len(how)} that are collected",
        )
    _expect(op, "what bodyRegion yields", yielded[: len(carried)], carried)
    wanted = [_with_axis(op, kind, axis) for kind, axis in zip(yielded[len(carried) :], axes, strict=True)]
    _expect(op, "the result", results, [*carried, *wanted])


def _with_axis(op: Op, kind: ir.Type, axis: int) -> ir.Type:
    ranked = ir.RankedTensorType(kind)
    shape = ranked.shape
    if not 0 <= axis <= len(shape):
        reject(op, f"collect_axes: {axis} is not from 0 to {len(shape)}, for values of type {ranked}")
    shape.insert(axis, shapes.DYNAMIC)
    return shapes.tensor(shape, ranked.element_type)


def _infer_iterator(op: Op) -> list[ir.Type]:
    kind = op.type("input")
    shape = kind.shape
    del shape[front_axis(op, kind.rank)]
    return [shapes.tensor(shape, kind.element_type)]


def _verify_iterator(op: Op) -> None:
    assert op.operation is not None
    parent = op.operation.parent
    if parent is None or parent.operation.name not in ("tensorrt.for", "tensorrt.while"):
        reject(op, "must stand in the body of a tensorrt.for or tensorrt.while")


_COLLECT = (
    Attr(
        "collected",
        "array",
        optional=True,
        doc="kCONCATENATE or kREVERSE for each value beyond the carried ones.",
    ),
    Attr("collect_axes", "array<i64>", optional=True, doc="Where each collected result's new axis is."),
)
_LIMIT = Operand("maxIterations", "i32 i64", optional=True, doc="Rank 0: length of what is collected.")

_IF = example(
    "%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>",
    """%0 = tensorrt.if (%c : tensor<i1>) -> tensor<4xf32> {
      tensorrt.yield %x : tensor<4xf32>
    } else {
      tensorrt.yield %y : tensor<4xf32>
    }""",
    "%0 : tensor<4xf32>",
)
_WHILE = example(
    "%x: tensor<f32>, %n: tensor<f32>",
    """%0 = tensorrt.while (%x : tensor<f32>) -> tensor<f32> {
    ^bb0(%a: tensor<f32>):
      %c = tensorrt.element_wise <kLESS>(%a, %n : tensor<f32>, tensor<f32>) -> tensor<i1>
      tensorrt.condition (%c : tensor<i1>) %a : tensor<f32>
    }, {
    ^bb0(%a: tensor<f32>):
      %b = tensorrt.element_wise <kSUM>(%a, %a : tensor<f32>, tensor<f32>) -> tensor<f32>
      tensorrt.yield %b : tensor<f32>
    }""",
    "%0 : tensor<f32>",
)

OPS = (
    OpDef(
        "tensorrt.yield",
        "Ends a region and gives its values.",
        operands=(Operand("results", variadic=True),),
        results=(),
        assembly="attr-dict ($results^ `:` type($results))?",
        traits=frozenset({"pure", "terminator"}),
        example=_IF,
    ),
    OpDef(
        "tensorrt.condition",
        "Ends a while's first region: whether to go on, and the values for the body or the result.",
        operands=(Operand("condition", "i1", doc="Rank 0."), Operand("args", variadic=True)),
        results=(),
        assembly="`(` $condition `:` type($condition) `)` attr-dict ($args^ `:` type($args))?",
        traits=frozenset({"pure", "terminator"}),
        example=_WHILE,
    ),
    OpDef(
        "tensorrt.if",
        "Runs one of two regions.",
        operands=(Operand("condition", "i1", doc="Rank 0."),),
        results=(ResultDef("results", "i1 i32 i64 f16 bf16 f32", variadic=True),),
        regions=(Region("trueRegion", "none"), Region("falseRegion", "none")),
        assembly="`(` $condition `:` type($condition) `)` attr-dict `->` type($results) $trueRegion `else` "
        "$falseRegion",
        traits=frozenset(),
        infer=_infer_if,
        verify=_verify_if,
        layer="addIfConditional",
        example=_IF,
    ),
    OpDef(
        "tensorrt.while",
        "Runs its second region for as long as the first says so.",
        operands=(Operand("operands", TENSOR, variadic=True, doc="The carried values at the start."), _LIMIT),
        attrs=_COLLECT,
        results=(ResultDef("results", TENSOR, variadic=True),),
        regions=(Region("condRegion", "the carried values"), Region("bodyRegion", "the carried values")),
        assembly="attr-dict `(` $operands `:` type($operands) `)` "
        "(`max` `(` $maxIterations^ `:` type($maxIterations) `)`)? `->` type($results) $condRegion `,` "
        "$bodyRegion",
        traits=frozenset(),
        verify=_verify_while,
        layer="addLoop",
        example=_WHILE,
    ),
    OpDef(
        "tensorrt.for",
        "Runs its region for each number from a lower bound up to, not including, an upper bound.",
        operands=(
            Operand("lowerBound", "i32 i64", doc="Rank 0."),
            Operand("upperBound", "i32 i64", doc="Rank 0."),
            Operand("step", "i32 i64", doc="Rank 0."),
            Operand("init", TENSOR, variadic=True, doc="The carried values at the start."),
        ),
        attrs=_COLLECT,
        results=(ResultDef("results", TENSOR, variadic=True),),
        regions=(Region("bodyRegion", "the number, then the carried values"),),
        assembly="custom<For>($lowerBound, $upperBound, $step, $init, type($results), $bodyRegion) attr-dict",
        traits=frozenset(),
        verify=_verify_for,
        layer="addLoop",
        example=example(
            "%lb: tensor<i32>, %ub: tensor<i32>, %step: tensor<i32>, %x: tensor<4xf32>",
            """%0 = tensorrt.for %i = %lb to %ub step %step init(%a = %x) -> (tensor<4xf32>) {
              %b = tensorrt.element_wise <kSUM>(%a, %a : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              tensorrt.yield %b : tensor<4xf32>
            }""",
            "%0 : tensor<4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.iterator",
        "In a loop's body: the slice of a tensor at the current iteration's number.",
        operands=(Operand("input", TENSOR, doc="From outside the loop."),),
        attrs=(
            Attr("axis", "i64", doc="The axis that is walked along; it is not in the result."),
            Attr("reverse", "i1", default=False, doc="Whether it walks from the end."),
        ),
        assembly="attr-dict $input `:` type($input) `->` type($result)",
        # Not pure: its value depends on the iteration, so it must not leave the body.
        traits=frozenset(),
        infer=_infer_iterator,
        verify=_verify_iterator,
        layer="addIterator",
        example=example(
            "%lb: tensor<i32>, %ub: tensor<i32>, %step: tensor<i32>, %xs: tensor<8x4xf32>, %x: tensor<4xf32>",
            """%0 = tensorrt.for %i = %lb to %ub step %step init(%a = %x) -> (tensor<4xf32>) {
              %s = tensorrt.iterator {axis = 0 : i64} %xs : tensor<8x4xf32> -> tensor<4xf32>
              %b = tensorrt.element_wise <kSUM>(%a, %s : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              tensorrt.yield %b : tensor<4xf32>
            }""",
            "%0 : tensor<4xf32>",
        ),
    ),
)
