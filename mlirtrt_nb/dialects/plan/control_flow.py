"""Control flow of a Plan: branches and loops around engines, on values first and then on memory.

`plan.if` and `plan.loop` stand where one engine cannot hold a branch or a loop whole. Clustering goes into
their regions. In the schedule `plan.loop` becomes `plan.repeat`, whose body fills memory, and `plan.if` loses
its results: each branch fills the memory that they lie in.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op, create
from ...ir.context import shown_name
from ...ir.opdef import OpDef, Operand, Region, ResultDef
from ...ir.values import terminator
from ...ir.verifier import reject

__all__ = ["OPS", "end_region"]

_EFFECT: frozenset[str] = frozenset()
_END = "plan.yield"


def end_region(block: ir.Block, values: Sequence[ir.Value]) -> None:
    """Put a `plan.yield` of `values` in the place of the block's terminator."""
    old = terminator(block)
    create(_END, [list(values)], loc=old.location, ip=ir.InsertionPoint(old))
    old.erase()


def _yielded(op: Op, number: int) -> tuple[list[ir.Type], list[ir.Type]]:
    """A region's argument types and the types that it yields."""
    name = op.definition.regions[number].name
    region = op.operation.regions[number]
    if len(region.blocks) != 1 or not len(region.blocks[0].operations):
        reject(op, f"{name} must be one block that ends in {_END}")
    block = region.blocks[0]
    last = terminator(block)
    if last.name != _END:
        reject(op, f"{name} ends in {shown_name(last.name)}; it must end in {_END}")
    return [argument.type for argument in block.arguments], [value.type for value in last.operands]


def _fits(given: ir.Type, wanted: ir.Type) -> bool:
    """Whether a value of type `given` may be what is declared `wanted`, which may leave more open."""
    if given == wanted:
        return True
    if not isinstance(given, ir.ShapedType) or not isinstance(wanted, ir.ShapedType):
        return False
    if given.element_type != wanted.element_type:
        return False
    if not (given.has_rank and wanted.has_rank):
        return True
    return given.rank == wanted.rank and shapes.compatible(_dims(given), _dims(wanted))


def _dims(kind: ir.ShapedType) -> list[int]:
    return list(kind.shape) if isinstance(kind, ir.RankedTensorType | ir.MemRefType) else []


def _expect(op: Op, what: str, given: list[ir.Type], wanted: list[ir.Type]) -> None:
    if len(given) != len(wanted) or not all(map(_fits, given, wanted)):
        listed = [", ".join(map(str, types)) or "nothing" for types in (given, wanted)]
        reject(op, f"{what} is of types {listed[0]}; they must be {listed[1]}")


def _is_one(value: ir.Value, *elements: str) -> bool:
    """Whether a value is one element, of one of the types."""
    kind = value.type
    if not isinstance(kind, ir.ShapedType) or str(kind.element_type) not in elements:
        return False
    return not kind.has_rank or all(dim == 1 or dim == shapes.DYNAMIC for dim in _dims(kind))


def _check_one(op: Op, name: str, *elements: str) -> None:
    value = op.operand(name)
    if value is not None and not _is_one(value, *elements):
        reject(op, f"{name} must be one element of {' or '.join(elements)}, got {value.type}")


def _verify_if(op: Op) -> None:
    _check_one(op, "condition", "i1")
    results = [value.type for value in op.operation.results]
    for number, region in enumerate(op.definition.regions):
        _expect(op, f"what {region.name} yields", _yielded(op, number)[1], results)


def _verify_loop(op: Op) -> None:
    _check_one(op, "trips", "i64")
    _check_one(op, "going", "i1")
    carried = [value.type for value in op.group("init")]
    results = [value.type for value in op.operation.results]
    arguments, yielded = _yielded(op, 0)
    if not arguments or not _is_one(op.operation.regions[0].blocks[0].arguments[0], "i64"):
        reject(op, "the first argument of body is the number of the turn, a tensor<i64>")
    _expect(op, "init", carried, arguments[1:])
    if len(yielded) != 1 + len(results) or len(results) < len(carried):
        reject(
            op,
            f"body yields {len(yielded)} values; it must yield whether to go on, {len(carried)} carried ones "
            f"and {len(results) - len(carried)} that are collected",
        )
    end = op.operation.regions[0].blocks[0].operations
    if not _is_one(end[len(end) - 1].operation.operands[0], "i1"):
        reject(op, f"the first value that body yields is whether to go on, got {yielded[0]}")
    _expect(op, "what body carries on", yielded[1 : 1 + len(carried)], arguments[1:])
    _expect(op, "init", carried, results[: len(carried)])
    parts = [_stacked(kind) for kind in yielded[1 + len(carried) :]]
    _expect(op, "what body collects", parts, results[len(carried) :])


def _stacked(kind: ir.Type) -> ir.Type:
    """The type of values of one type laid along a new first axis."""
    if isinstance(kind, ir.RankedTensorType):
        return shapes.tensor([shapes.DYNAMIC, *kind.shape], kind.element_type)
    return kind


def _verify_repeat(op: Op) -> None:
    _check_one(op, "number", "i64")
    _check_one(op, "trips", "i64")
    _check_one(op, "going", "i1")
    _yielded(op, 0)


_HOST = "#plan.memory_space<host>"
_ENGINE = """tensorrt.module @trt_engines {
  func.func private @main_0(tensor<4xf32>) -> tensor<4xf32>
}
"""
_IF = f"""{_ENGINE}func.func private @host_0(tensor<4xf32>) -> tensor<?xf32>
func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<?xf32> {{
  %y = plan.if (%c : tensor<i1>) -> tensor<?xf32> {{
    %a = tensorrt.call_alloc @trt_engines::@main_0(%x : tensor<4xf32>) -> tensor<4xf32>
    plan.yield %a : tensor<4xf32>
  }} else {{
    %b = func.call @host_0(%x) : (tensor<4xf32>) -> tensor<?xf32>
    plan.yield %b : tensor<?xf32>
  }}
  return %y : tensor<?xf32>
}}"""
_LOOP = f"""{_ENGINE}func.func @main(%n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {{
  %r:2 = plan.loop trips(%n : tensor<i64>) init(%x : tensor<4xf32>) -> tensor<4xf32>, tensor<?x4xf32> {{
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    %on = tensorrt.constant dense<true> : tensor<i1>
    %b = tensorrt.call_alloc @trt_engines::@main_0(%a : tensor<4xf32>) -> tensor<4xf32>
    plan.yield %on, %b, %b : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }}
  return %r#0, %r#1 : tensor<4xf32>, tensor<?x4xf32>
}}"""
_REPEAT = f"""plan.program @main_cpu(%n: memref<i64, {_HOST}>, %x: memref<4xf32, {_HOST}>)
    -> (memref<4xf32, {_HOST}>, memref<?x4xf32, {_HOST}>)
    attributes {{arena_bytes = 192 : i64, device = "cpu", peak_live_bytes = 192 : i64, targets = ["cpu"]}} {{
  %turn = plan.buffer at 0 size 8 live [1, 4] : memref<i64, {_HOST}>
  %a = plan.buffer at 64 size 16 live [0, 5] : memref<4xf32, {_HOST}>
  %b = plan.buffer at 128 size 16 live [2, 4] : memref<4xf32, {_HOST}>
  %y = plan.output 0 : memref<4xf32, {_HOST}>
  %all = plan.output 1 dynamic : memref<?x4xf32, {_HOST}>
  plan.copy %x to %a
  plan.repeat %turn trips(%n) collects(%all) {{
    plan.call @trt_engines::@main_0 ins(%a) outs(%b)
    plan.append %b to %all
    plan.move %b to %a
    plan.yield
  }}
  plan.copy %a to %y
  plan.return %y, %all
}}"""

OPS = (
    OpDef(
        "plan.if",
        "Runs one of two regions. In a schedule it has no results: the branches fill memory.",
        operands=(Operand("condition", doc="One i1, in host memory."),),
        results=(ResultDef("results", variadic=True),),
        regions=(Region("thenRegion", "none"), Region("elseRegion", "none")),
        assembly="`(` $condition `:` type($condition) `)` attr-dict-with-keyword (`->` type($results)^)? "
        "$thenRegion `else` $elseRegion",
        traits=_EFFECT,
        verify=_verify_if,
        example=_IF,
    ),
    OpDef(
        "plan.loop",
        "Runs its body turn after turn, carrying values on and collecting others along a new first axis.",
        operands=(
            Operand("trips", optional=True, doc="One i64: the most turns. Absent: no limit."),
            Operand("going", optional=True, doc="One i1: whether to begin. Absent: true."),
            Operand("init", variadic=True, doc="The carried values at the start."),
        ),
        results=(ResultDef("results", variadic=True),),
        regions=(Region("body", "the number of the turn, then the carried values"),),
        assembly="attr-dict (`trips` `(` $trips^ `:` type($trips) `)`)? "
        "(`while` `(` $going^ `:` type($going) `)`)? (`init` `(` $init^ `:` type($init) `)`)? "
        "(`->` type($results)^)? $body",
        traits=_EFFECT,
        verify=_verify_loop,
        example=_LOOP,
    ),
    OpDef(
        "plan.repeat",
        "Runs its body while there are turns left and the flag is set, which the body writes anew.",
        operands=(
            Operand("number", doc="Host memory of one i64, set to the number of the turn before each."),
            Operand("trips", optional=True, doc="Host memory of one i64: the most turns."),
            Operand("going", optional=True, doc="Host memory of one i1, looked at before each turn."),
            Operand("collected", variadic=True, doc="What the body appends to; empty at first."),
        ),
        results=(),
        regions=(Region("body", "none"),),
        assembly="attr-dict $number (`trips` `(` $trips^ `)`)? (`while` `(` $going^ `)`)? "
        "(`collects` `(` $collected^ `)`)? $body",
        traits=_EFFECT,
        verify=_verify_repeat,
        example=_REPEAT,
    ),
    OpDef(
        "plan.append",
        "Adds what lies in memory to what a loop collects; it is joined along a new first axis at its end.",
        operands=(Operand("part"), Operand("collected")),
        results=(),
        assembly="$part `to` $collected attr-dict",
        traits=_EFFECT,
    ),
    OpDef(
        "plan.move",
        "Hands on what lies in memory: by its address where neither side has a place in the arena, else by a "
        "copy. The source is written anew before it is read again.",
        operands=(Operand("source"), Operand("target"), Operand("stream", optional=True)),
        results=(),
        assembly="$source `to` $target (`on` $stream^)? attr-dict",
        traits=_EFFECT,
    ),
)
