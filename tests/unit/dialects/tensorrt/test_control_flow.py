"""Branches, loops, calls, assertions and plugins: ops whose rules reach into regions and other functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from torch_mlir import ir
from torch_mlir.dialects import func

from mlirtrt_nb.errors import VerificationError
from mlirtrt_nb.ir.builder import create
from mlirtrt_nb.ir.symbols import engines_module
from mlirtrt_nb.ir.verifier import errors_of, verify_op

from .cases import build, module, tensor, value

Body = Callable[..., Sequence[ir.Value]]


def _fill(
    op: ir.Operation, number: int, arguments: Sequence[str], body: Body, end: str = "tensorrt.yield"
) -> None:
    """One block for a region: `body` takes its arguments and gives what the terminator passes on."""
    block = op.regions[number].blocks.append(*[tensor(a) for a in arguments])
    with ir.InsertionPoint(block):
        values = list(body(*block.arguments))
        create(end, [values[0], values[1:]] if end == "tensorrt.condition" else [values])


def _if(results: list[str], then: Body, other: Body, condition: str = "i1") -> ir.Operation:
    op = build("if", [condition], {}, results)
    _fill(op, 0, [], then)
    _fill(op, 1, [], other)
    return op


def _for(init: list[str], results: list[str], body: Body, bound: str = "i32", **attrs) -> ir.Operation:
    op = build("for", [bound, bound, bound, init], attrs, results)
    _fill(op, 0, [bound, *init], body)
    return op


def _while(init: list[str], results: list[str], going: Body, body: Body, limit: str | None = None, **attrs):
    op = build("while", [init, limit], attrs, results)
    _fill(op, 0, init, going, "tensorrt.condition")
    _fill(op, 1, init, body)
    return op


def _pool(x: ir.Value) -> ir.Value:
    attrs = {"windowSize": [1, 1], "stride": [1, 1], "prePadding": [0, 0], "postPadding": [0, 0]}
    return create("tensorrt.pooling", [x], {**attrs, "poolingType": "kMAX"}).result


def _collect(axes=(0,), kinds=("kCONCATENATE",)):
    return {"collected": [ir.StringAttr.get(kind) for kind in kinds], "collect_axes": list(axes)}


@pytest.mark.parametrize(
    "make",
    [
        lambda: _if(["4xf32"], lambda: [value("4xf32")], lambda: [value("4xf32")]),
        lambda: _if(
            ["?xf32", "i1"], lambda: [value("4xf32"), value("i1")], lambda: [value("4xf32"), value("i1")]
        ),
        lambda: _if([], list, list),
        lambda: _if(["1x1x2x2xf32"], lambda: [_pool(value("1x1x2x2xf32"))], lambda: [value("1x1x2x2xf32")]),
        lambda: _for(["4xf32"], ["4xf32"], lambda i, a: [a]),
        lambda: _for(["?xf32", "i1"], ["?xf32", "i1"], lambda i, a, b: [a, b], bound="i64"),
        lambda: _for(["4xf32"], ["4xf32", "?x4xf32"], lambda i, a: [a, a], **_collect()),
        lambda: _for([], ["4x9xi64"], lambda i: [value("4xi64")], **_collect([1], ["kREVERSE"])),
        lambda: _while(["f32"], ["f32"], lambda a: [value("i1"), a], lambda a: [a]),
        lambda: _while(
            ["f32"], ["f32", "?xf32"], lambda a: [value("i1"), a], lambda a: [a, a], "i32", **_collect()
        ),
    ],
)
def test_accepted(make):
    """Branches and loops whose types agree verify, in MLIR too."""
    with module() as made:
        verify_op(make())
        assert errors_of(made) == []
        assert made.operation.verify()


def test_if_infers_from_its_branch():
    """A declared result that contradicts what the branches yield is rejected."""
    with module(), pytest.raises(VerificationError, match="tensor<5xf32> but inferred tensor<4xf32>"):
        verify_op(_if(["5xf32"], lambda: [value("4xf32")], lambda: [value("4xf32")]))


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (lambda: _if([], list, list, "1xi1"), ["condition is tensor<1xi1>", "rank 0"]),
        (
            lambda: _if(["4xf32"], lambda: [value("4xf32")], lambda: [value("1x4xf32")]),
            ["falseRegion", "tensor<1x4xf32>", "tensor<4xf32>"],
        ),
        (lambda: _if(["4xf32"], lambda: [value("4xf32")], list), ["falseRegion", "nothing"]),
        (lambda: build("if", ["i1"], {}, ["4xf32"]), ["trueRegion", "tensorrt.yield"]),
        (lambda: _for(["4xf32"], ["4xf32"], lambda i, a: [i]), ["bodyRegion yields", "tensor<i32>"]),
        (lambda: _for(["4xf32"], ["4xf32"], lambda i, a: []), ["yields 0 values", "1 carried"]),
        (
            lambda: _for(["4xf32"], ["5xf32"], lambda i, a: [a]),
            ["the result", "tensor<5xf32>", "tensor<4xf32>"],
        ),
        (lambda: _for(["4xf32"], ["4xf32"], lambda i, a: [a], bound="1xi32"), ["lowerBound is tensor<1xi32>"]),
        (
            lambda: _for(["4xf32"], ["4xf32", "?x5xf32"], lambda i, a: [a, a], **_collect()),
            ["the result", "tensor<?x5xf32>", "tensor<?x4xf32>"],
        ),
        (
            lambda: _for(["4xf32"], ["4xf32", "?xf32"], lambda i, a: [a, a], **_collect(kinds=["kLAST_VALUE"])),
            ["collected = ['kLAST_VALUE']"],
        ),
        (
            lambda: _for(["4xf32"], ["4xf32", "?xf32"], lambda i, a: [a, a], **_collect([0, 1])),
            ["collect_axes = [0, 1]"],
        ),
        (
            lambda: _for(["4xf32"], ["4xf32", "?x4xf32"], lambda i, a: [a, a], **_collect([2])),
            ["collect_axes: 2", "tensor<4xf32>"],
        ),
        (lambda: _while(["f32"], ["f32"], lambda a: [value("i1")], lambda a: [a]), ["condRegion passes on"]),
        (
            lambda: _while(["f32"], ["f32"], lambda a: [value("i1"), a], lambda a: [value("f16")]),
            ["tensor<f16>"],
        ),
        (
            lambda: _while(
                ["f32"], ["f32", "?xf32"], lambda a: [value("i1"), a], lambda a: [a, a], **_collect()
            ),
            ["collected", "maxIterations"],
        ),
    ],
)
def test_rejected(make, fragments):
    """Types that disagree between a loop or branch and its regions are named."""
    with module(), pytest.raises(VerificationError) as caught:
        verify_op(make())
    for fragment in fragments:
        assert fragment in caught.value.what


def test_bounds_must_agree():
    """The step must have the type of the lower bound."""
    with module(), pytest.raises(VerificationError, match="step is tensor<i64>"):
        op = build("for", ["i32", "i32", "i64", []], {}, [])
        _fill(op, 0, ["i32"], lambda i: [])
        verify_op(op)


def test_iterator_walks_inside_a_loop():
    """An iterator drops the axis that it walks along, and belongs into a body."""
    with module() as made:

        def body(i, a):
            return [create("tensorrt.iterator", [value("?x8x4xf32")], {"axis": 1}).result]

        op = _for(["?x4xf32"], ["?x4xf32"], body)
        assert errors_of(made) == []
        assert str(op.regions[0].blocks[0].operations[1].results[0].type) == "tensor<?x4xf32>"
        with pytest.raises(VerificationError, match="body of a"):
            verify_op(create("tensorrt.iterator", [value("8x4xf32")], {"axis": 0}))


def test_assertion_is_kept():
    """Canonicalization deletes neither an assertion nor a random draw used twice, as it would a pure op."""
    from torch_mlir.passmanager import PassManager

    with module() as made:
        build("assertion", ["1xi1"], {"message": "no"})
        build("softmax", ["2x3xf32"], {"axis": 1})
        PassManager.parse("builtin.module(canonicalize, cse)").run(made.operation)
        names = [op.operation.name for op in made.body.operations]
        assert "tensorrt.assertion" in names
        assert "tensorrt.softmax" not in names
        with pytest.raises(VerificationError, match=r"condition is tensor<1x1xi1>.*rank 0 or 1"):
            verify_op(build("assertion", ["1x1xi1"], {"message": "no"}))


@pytest.fixture
def engine():
    """A module with the function @e::@f : (?x8xf32) -> (?x4xf32)."""
    with module() as made:
        block = engines_module(made.operation.opview, "e")
        with ir.InsertionPoint(block):
            kind = ir.FunctionType.get([tensor("?x8xf32")], [tensor("?x4xf32")])
            func.FuncOp("f", kind, visibility="private")
        yield made


def test_calls_accepted(engine):
    """Types may refine dynamic dimensions; `call` may have no results."""
    verify_op(build("call_alloc", [["2x8xf32"]], {"callee": "e::f"}, ["2x4xf32"]))
    verify_op(build("call", [["2x8xf32"], ["2x4xf32"]], {"callee": "e::f"}, ["?x4xf32"]))
    verify_op(build("call", [["2x8xf32"], ["2x4xf32"]], {"callee": "e::f"}, []))


@pytest.mark.parametrize(
    ("name", "operands", "callee", "results", "fragments"),
    [
        ("call_alloc", [["2x8xf32"]], "e::g", ["2x4xf32"], ["callee @e::@g"]),
        ("call_alloc", [["2x8xf32", "2x8xf32"]], "e::f", ["2x4xf32"], ["2 inputs", "has 1"]),
        ("call_alloc", [["2x9xf32"]], "e::f", ["2x4xf32"], ["number 0 is tensor<2x9xf32>", "tensor<?x8xf32>"]),
        ("call_alloc", [["2x8xf32"]], "e::f", ["2x5xf32"], ["results", "tensor<2x5xf32>"]),
        ("call_alloc", [["2x8xf32"]], "e::f", [], ["0 results"]),
        ("call", [["2x8xf32"], ["2x4xf16"]], "e::f", [], ["outputs", "tensor<2x4xf16>"]),
        ("call", [["2x8xf32"], []], "e::f", [], ["0 outputs"]),
    ],
)
def test_calls_rejected(engine, name, operands, callee, results, fragments):
    """A call names a function of the module and agrees with its type."""
    with pytest.raises(VerificationError) as caught:
        verify_op(build(name, operands, {"callee": callee}, results))
    for fragment in fragments:
        assert fragment in caught.value.what


def _plugin(**more):
    names = {"plugin_name": "P", "plugin_version": "1", "plugin_namespace": ""}
    return build("opaque_plugin", [["2x3xf32"]], {**names, "creator_params": {}, **more}, ["4xf32"])


def test_plugin():
    """A creator function needs its library; a shapes region has a value per dimension."""
    with module() as made:
        op = _plugin(dso_path="lib.so", creator_func="make")
        verify_op(op)
        with pytest.raises(VerificationError, match="creator_func = make needs dso_path"):
            verify_op(_plugin(creator_func="make"))
        wide = ir.IntegerType.get_signless(64)
        block = op.regions[0].blocks.append(wide, wide)
        with ir.InsertionPoint(block):
            create("tensorrt.yield", [[block.arguments[0]]])
        verify_op(op)
        other = _plugin()
        block = other.regions[0].blocks.append(wide)
        with ir.InsertionPoint(block):
            create("tensorrt.yield", [[block.arguments[0]]])
        with pytest.raises(VerificationError, match="1 arguments; it must have 2"):
            verify_op(other)
        assert made.operation.verify()


def test_collective():
    """A reduction belongs to the reducing collectives."""
    with module():
        verify_op(build("dist_collective", ["2xf32"], {"collectiveOperation": "kALL_GATHER"}, ["4xf32"]))
        with pytest.raises(VerificationError, match="kALL_REDUCE"):
            verify_op(build("dist_collective", ["2xf32"], {"collectiveOperation": "kALL_REDUCE"}, ["2xf32"]))
