"""Branches and loops, encoded and built for real."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from torch_mlir import ir
from torch_mlir.dialects import func

from mlirtrt_nb.engine.base import BuildRequest, Engine
from mlirtrt_nb.engine.tensorrt import TensorRtBuilder
from mlirtrt_nb.errors import EngineBuildError
from mlirtrt_nb.ir.builder import create
from mlirtrt_nb.ir.context import new_context

from .trt_cases import tensor

Values = Sequence[ir.Value]


def build(inputs: list[str], results: list[str], body: Callable[[Values], Values]) -> Engine:
    """The engine of a function whose ops `body` makes from its arguments."""
    with new_context(), ir.Location.name("source"):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", ([tensor(t) for t in inputs], [tensor(t) for t in results]))
            block = function.add_entry_block()
            with ir.InsertionPoint(block):
                func.ReturnOp(list(body(list(block.arguments))))
        return TensorRtBuilder().build(BuildRequest("f", function.operation, {}, "sm89"))


def region(op: ir.Operation, index: int, types: list[str], body: Callable[[Values], None]) -> None:
    """Fill a region of `op`."""
    locations = [ir.Location.unknown()] * len(types)
    block = op.regions[index].blocks.append(*(tensor(t) for t in types), arg_locs=locations)
    with ir.InsertionPoint(block):
        body(list(block.arguments))


def yields(*values: ir.Value) -> None:
    create("tensorrt.yield", [list(values)], {}, [])


def binary(kind: str, a: ir.Value, b: ir.Value, result: str) -> ir.Value:
    return create("tensorrt.element_wise", [a, b], {"elementwiseOperation": kind}, [tensor(result)]).result


def constant(text: str) -> ir.Value:
    attribute = ir.Attribute.parse(text)
    return create("tensorrt.constant", [], {"weights": attribute}, [attribute.type]).result


def test_if_uses_values_and_constants_from_outside() -> None:
    """A branch sees outer tensors and constants, and one may pass a tensor through."""

    def body(args: Values) -> Values:
        two = constant("dense<2.0> : tensor<4xf32>")
        op = create("tensorrt.if", [args[0]], {}, [tensor("4xf32"), tensor("4xf32")])
        region(op, 0, [], lambda _: yields(binary("kPROD", args[1], two, "4xf32"), args[2]))
        region(op, 1, [], lambda _: yields(args[2], two))
        return op.results

    engine = build(["i1", "4xf32", "4xf32"], ["4xf32", "4xf32"], body)
    assert [b.shape for b in engine.outputs] == [(4,), (4,)]
    assert len(engine.report.layers) > 0


def test_while_carries_values() -> None:
    """A while doubles its value until it passes a limit from outside."""

    def body(args: Values) -> Values:
        op = create("tensorrt.while", [[args[0]], None], {}, [tensor("f32")])
        region(
            op,
            0,
            ["f32"],
            lambda a: create("tensorrt.condition", [binary("kLESS", a[0], args[1], "i1"), list(a)], {}, []),
        )
        region(op, 1, ["f32"], lambda a: yields(binary("kSUM", a[0], a[0], "f32")))
        return op.results

    assert len(build(["f32", "f32"], ["f32"], body).blob) > 0


def test_while_that_forwards_other_values_is_refused() -> None:
    """A condition may forward only the carried values; anything else is said, not miscompiled."""

    def body(args: Values) -> Values:
        op = create("tensorrt.while", [[args[0]], None], {}, [tensor("f32")])

        def condition(a: Values) -> None:
            keep_going = binary("kLESS", a[0], args[1], "i1")
            create("tensorrt.condition", [keep_going, [binary("kSUM", a[0], a[0], "f32")]], {}, [])

        region(op, 0, ["f32"], condition)
        region(op, 1, ["f32"], lambda a: yields(a[0]))
        return op.results

    with pytest.raises(EngineBuildError, match="forward other values"):
        build(["f32", "f32"], ["f32"], body)


@pytest.mark.parametrize("kind", ["kCONCATENATE", "kREVERSE"])
def test_for_iterates_and_collects(kind: str) -> None:
    """A for adds the slices of a tensor, and collects the running sums along a new axis."""

    def body(args: Values) -> Values:
        bounds = [constant(f"dense<{n}> : tensor<i32>") for n in (0, 8, 1)]
        attrs = {"collected": ir.ArrayAttr.get([ir.StringAttr.get(kind)]), "collect_axes": [0]}
        op = create("tensorrt.for", [*bounds, [args[1]]], attrs, [tensor("4xf32"), tensor("8x4xf32")])

        def step(a: Values) -> None:
            part = create("tensorrt.iterator", [args[0]], {"axis": 0}, [tensor("4xf32")]).result
            total = binary("kSUM", a[1], part, "4xf32")
            yields(total, total)

        region(op, 0, ["i32", "4xf32"], step)
        return op.results

    engine = build(["8x4xf32", "4xf32"], ["4xf32", "8x4xf32"], body)
    assert [b.shape for b in engine.outputs] == [(4,), (8, 4)]


def test_for_gives_its_number() -> None:
    """A for from 2 up to 9 by 3 uses its number; its bounds are run-time values."""

    def body(args: Values) -> Values:
        op = create("tensorrt.for", [*args[:3], [args[3]]], {}, [tensor("i32")])
        region(op, 0, ["i32", "i32"], lambda a: yields(binary("kSUM", a[0], a[1], "i32")))
        return op.results

    assert len(build(["i32", "i32", "i32", "i32"], ["i32"], body).blob) > 0


def test_assertion_is_kept() -> None:
    """An assertion on a shape becomes part of the network, and one that cannot hold refuses the build."""

    def body(expected: int) -> Callable[[Values], Values]:
        def make(args: Values) -> Values:
            size = create("tensorrt.shape", [args[0]], {}, [tensor("1xi32")]).result
            same = binary("kEQUAL", size, constant(f"dense<{expected}> : tensor<1xi32>"), "1xi1")
            create("tensorrt.assertion", [same], {"message": "wrong length"}, [])
            return [binary("kSUM", args[0], args[0], "4xf32")]

        return make

    assert len(build(["4xf32"], ["4xf32"], body(4)).blob) > 0
    with pytest.raises(EngineBuildError, match="wrong length"):
        build(["4xf32"], ["4xf32"], body(5))
