"""raise-attention."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.passes.tensorrt.raise_attention import RaiseAttention

from .before_after import check_unchanged, function, mnemonics, run

PASS = RaiseAttention.name
CLUSTERING = "plan-clustering,plan-outline-clusters"
Q, K, TURNED = "tensor<2x4x6x8xf32>", "tensor<2x4x5x8xf32>", "tensor<2x4x8x5xf32>"
SCORES, MASK, ONE = "tensor<2x4x6x5xf32>", "tensor<2x1x1x5xf32>", "tensor<1x1x1x1xf32>"
NUMBER = f"%c = tensorrt.constant dense<2.5> : {ONE}\n"


def _product(name: str, a: str, b: str, kinds: tuple[str, str, str], turn: str = "kNONE") -> str:
    readings = f"op0 = #tensorrt.matrix_operation<kNONE>, op1 = #tensorrt.matrix_operation<{turn}>"
    values = f"ins(%{a}, %{b} : {kinds[0]}, {kinds[1]}) -> {kinds[2]}"
    return f"%{name} = tensorrt.matrix_multiply {{{readings}}} {values}\n"


def _binary(name: str, kind: str, a: str, b: str, kinds: tuple[str, str]) -> str:
    return f"%{name} = tensorrt.element_wise <{kind}>(%{a}, %{b} : {kinds[0]}, {kinds[1]}) -> {SCORES}\n"


def _softmax(value: str, axis: int = 3) -> str:
    return f"%s = tensorrt.softmax {{axis = {axis} : i64}} %{value} : {SCORES}\n"


FIRST = {
    "key turned by the product": ("k", K, _product("p", "q", "k", (Q, K, SCORES), "kTRANSPOSE")),
    "key turned before": ("k", TURNED, _product("p", "q", "k", (Q, TURNED, SCORES))),
}
MIDDLE = {
    "plain": _softmax("p"),
    "divided": NUMBER + _binary("d", "kDIV", "p", "c", (SCORES, ONE)) + _softmax("d"),
    "multiplied": NUMBER + _binary("d", "kPROD", "c", "p", (ONE, SCORES)) + _softmax("d"),
    "masked": _binary("m1", "kSUM", "m", "p", (MASK, SCORES)) + _softmax("m1"),
    "divided and masked": NUMBER
    + _binary("d", "kDIV", "p", "c", (SCORES, ONE))
    + _binary("m1", "kSUM", "d", "m", (SCORES, MASK))
    + _softmax("m1"),
}
LAST = _product("y", "s", "v", (SCORES, K, Q))


def _text(first: str, middle: str, last: str = LAST, result: str = f"%y : {Q}") -> str:
    _, kind, product = FIRST[first]
    arguments = f"%q: {Q}, %k: {kind}, %v: {K}, %m: {MASK}"
    return function(arguments, product + middle + last, result)


def _outputs(text: str, passes: str) -> np.ndarray:
    rng = np.random.default_rng(5)
    program = mt.from_mlir(text)
    inputs = [rng.standard_normal(entry.shape, dtype=np.float32) for entry in program.inputs]
    pipeline = f"{passes}{CLUSTERING}"
    return np.asarray(mt.compile(program, target="cpu", pipeline=pipeline, cache=False).session("cpu")(*inputs))


@pytest.mark.parametrize("middle", MIDDLE)
@pytest.mark.parametrize("first", FIRST)
def test_raised(first: str, middle: str) -> None:
    """Every spelling is one layer, with the scale on the query, and gives the same numbers."""
    text = _text(first, MIDDLE[middle])
    expected = [
        *(["element_wise"] if NUMBER in MIDDLE[middle] else []),
        *(["transpose"] if first == "key turned before" else []),
        "attention",
    ]
    assert mnemonics(run(text, PASS)) == expected
    np.testing.assert_allclose(_outputs(text, f"{PASS},"), _outputs(text, ""), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        _text("key turned before", _softmax("p", axis=2)),
        _text("key turned before", MIDDLE["plain"], result=f"%y, %s : {Q}, {SCORES}"),
        _text("key turned before", MIDDLE["plain"], result=f"%y, %p : {Q}, {SCORES}"),
        _text("key turned before", MIDDLE["plain"])
        .replace("%k: tensor<2x", "%k: tensor<1x")
        .replace(f"{Q}, {TURNED}", f"{Q}, tensor<1x4x8x5xf32>"),
        _text(
            "key turned before",
            MIDDLE["plain"],
            _product("y", "s", "k", (SCORES, TURNED, "tensor<2x4x6x8xf32>"), "kTRANSPOSE"),
        ),
    ],
)
def test_near_misses_stay(text: str) -> None:
    """Another axis, inner values read elsewhere, a key for the whole batch, a value read as its transpose."""
    check_unchanged(text, PASS)


def test_dynamic_shapes() -> None:
    """Batch and lengths may be unknown."""
    text = _text("key turned before", MIDDLE["masked"])
    for kind in ("2x4x6x8", "2x4x5x8", "2x4x8x5", "2x4x6x5"):
        text = text.replace(kind, "?" + kind[1:].replace("5", "?").replace("6", "?"))
    assert "attention" in mnemonics(run(text, PASS))


def test_heads_in_the_batch_stay() -> None:
    """Of tensors of rank 3 the builder itself makes fewer layers than of the layer."""
    text = _text("key turned before", MIDDLE["plain"]).replace("axis = 3", "axis = 2")
    check_unchanged(text.replace("2x4x", "8x"), PASS)


@pytest.mark.parametrize("middle", ["plain", "divided and masked"])
@pytest.mark.parametrize(("element", "most"), [("f32", 8), ("f16", 2)])
def test_the_engine_has_fewer_layers(element: str, most: int, middle: str) -> None:
    """For sm89 the layer is built with fewer layers than the chain; in f16 by a fused kernel."""
    text = _text("key turned by the product", MIDDLE[middle]).replace("x8x", "x64x").replace("f32", element)
    raised, chain = (
        len(mt.compile(mt.from_mlir(text), target="sm89", pipeline=f"{passes}{CLUSTERING}", cache=False).layers)
        for passes in (f"{PASS},", "")
    )
    assert raised < chain
    assert raised <= most
