"""Computing onnx ops whose operands are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from torch_mlir import ir

from mlirtrt_nb.dialects.onnx.evaluate import evaluate
from mlirtrt_nb.dialects.onnx.ops import constant, make
from mlirtrt_nb.dialects.onnx.ort_session import open_session
from mlirtrt_nb.ir.context import new_context

CONTEXT = new_context()
OPSET = {"": 21}


@pytest.fixture(autouse=True)
def building() -> Iterator[None]:
    """Ops are made in a module of each test's own."""
    with CONTEXT, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield


def tensor(shape: list[int], element: str) -> ir.Type:
    return ir.RankedTensorType.get(shape, ir.Type.parse(element))


def integers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_chain_of_ops() -> None:
    """Every result is there, intermediate ones too, and constants need not be listed."""
    weights: dict[str, np.ndarray] = {}
    one, two = (constant(integers(*v), weights) for v in ((1, 2, 3), (10, 20, 30)))
    total = make("Add", [one, two], {}, [one.type])
    turned = make("Neg", [total.results[0]], {}, [one.type])
    got = evaluate([total, turned], weights, OPSET)
    assert list(got[total.results[0]]) == [11, 22, 33]
    assert list(got[turned.results[0]]) == [-11, -22, -33]
    assert len(got) == 2


def test_known_values_and_weights() -> None:
    """Operands may be any values whose arrays are given; weights are read from the table, large ones too."""
    weights: dict[str, np.ndarray] = {}
    big = constant(np.ones((300, 300), np.float32), weights, "big")
    given = make("Neg", [big], {}, [big.type]).results[0]
    total = make("Sub", [big, given], {}, [big.type])
    got = evaluate([total], weights, OPSET, {given: np.full((300, 300), 3, np.float32)})
    assert set(got) == {total.results[0]}
    np.testing.assert_array_equal(got[total.results[0]], np.full((300, 300), -2, np.float32))


@pytest.mark.parametrize(
    ("element", "number", "dtype"),
    [
        ("bf16", 16, ml_dtypes.bfloat16),
        ("f8E4M3FN", 17, ml_dtypes.float8_e4m3fn),
        ("i4", 22, ml_dtypes.int4),
        ("ui4", 21, ml_dtypes.uint4),
        ("i1", 9, np.bool_),
    ],
)
def test_every_element_type(element: str, number: int, dtype: type) -> None:
    """Types that NumPy lacks come back in theirs, packed ones unpacked."""
    weights: dict[str, np.ndarray] = {}
    source = constant(np.array([0, 1, 2, 3, 7], np.float32), weights)
    to = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    cast = make("Cast", [source], {"to": to}, [tensor([5], element)])
    back = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
    again = make("Cast", [cast.results[0]], {"to": back}, [tensor([5], "f32")])
    got = evaluate([cast, again], weights, OPSET)
    expected = np.array([0, 1, 2, 3, 7]).astype(dtype)
    assert got[cast.results[0]].dtype == dtype
    np.testing.assert_array_equal(got[cast.results[0]], expected)
    np.testing.assert_array_equal(got[again.results[0]], expected.astype(np.float32))
    alone = evaluate([again], weights, OPSET, {cast.results[0]: expected})
    np.testing.assert_array_equal(alone[again.results[0]], expected.astype(np.float32))


def test_what_fails_is_missing_and_the_rest_is_there() -> None:
    """An op that cannot be computed, and what depends on it, are left out; the others are not."""
    weights: dict[str, np.ndarray] = {}
    source = constant(integers(*range(6)), weights)
    good = make("Neg", [source], {}, [source.type])
    bad = make("Reshape", [source, constant(integers(4), weights)], {}, [tensor([4], "i64")])
    after = make("Neg", [bad.results[0]], {}, [tensor([4], "i64")])
    last = make("Abs", [good.results[0]], {}, [source.type])
    got = evaluate([good, bad, after, last], weights, OPSET)
    assert set(got) == {good.results[0], last.results[0]}


def test_regions() -> None:
    """An If with a known condition is computed, with constants of its branches."""
    weights: dict[str, np.ndarray] = {}
    condition = constant(np.array(False), weights)
    value = constant(integers(1, 2), weights)
    op = make("If", [condition], {}, [value.type])
    for region, kind in zip(op.regions, ("Neg", "Abs"), strict=True):
        block = region.blocks.append()
        with ir.InsertionPoint(block):
            inner = constant(integers(-5, -6), weights)
            made = make(kind, [inner], {}, [value.type])
            make_yield(made.results[0])
    assert list(evaluate([op], weights, OPSET)[op.results[0]]) == [5, 6]


def make_yield(value: ir.Value) -> None:
    from mlirtrt_nb.ir.builder import create

    create("onnx.yield", [[value]], {}, [])


def test_hundreds_of_ops_share_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four hundred ops run in one session."""
    opened = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        opened.append(open_session(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr("mlirtrt_nb.dialects.onnx.evaluate.open_session", counted)
    weights: dict[str, np.ndarray] = {}
    value = constant(integers(1, 2, 3), weights)
    one = constant(integers(1), weights)
    ops = []
    for _ in range(400):
        ops.append(make("Add", [value, one], {}, [value.type]))
        value = ops[-1].results[0]
    assert list(evaluate(ops, weights, OPSET)[value]) == [401, 402, 403]
    assert len(opened) == 1
