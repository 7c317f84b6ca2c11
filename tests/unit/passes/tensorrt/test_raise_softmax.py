"""raise-softmax."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.passes.tensorrt.raise_softmax import RaiseSoftmax

from .before_after import check, check_unchanged, function

PASS = RaiseSoftmax.name
X, ONE, FLAT = "tensor<2x5x3xf32>", "tensor<2x1x3xf32>", "tensor<2x3xf32>"


def _reduce(name: str, value: str, kind: str, kept: bool = True, axis: int = 1) -> str:
    if kept:
        keep = f"{{keepDimensions = true, reduceAxes = array<i64: {axis}>}}"
        return f"%{name} = tensorrt.reduce <{kind}> %{value} {keep} : {X} -> {ONE}\n"
    dropped = (
        f"%{name}0 = tensorrt.reduce <{kind}> %{value} {{reduceAxes = array<i64: {axis}>}} : {X} -> {FLAT}\n"
    )
    return f"{dropped}%{name} = tensorrt.expand_rank %{name}0 : {FLAT} to {ONE}\n"


def _binary(name: str, kind: str, a: str, b: str, kinds: tuple[str, str] = (X, ONE)) -> str:
    return f"%{name} = tensorrt.element_wise <{kind}>(%{a}, %{b} : {kinds[0]}, {kinds[1]}) -> {X}\n"


def _unary(name: str, value: str, kind: str, of: str = X) -> str:
    return f"%{name} = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<{kind}>}} %{value} : {of}\n"


CENTRED = _reduce("m", "x", "kMAX") + _binary("d", "kSUB", "x", "m") + _unary("e", "d", "kEXP")
DIVIDED = _reduce("s", "e", "kSUM") + _binary("y", "kDIV", "e", "s")
INVERSE = _reduce("s", "e", "kSUM") + _unary("r", "s", "kRECIP", ONE)
SPELLINGS = {
    "divided": CENTRED + DIVIDED,
    "multiplied": CENTRED + INVERSE + _binary("y", "kPROD", "e", "r"),
    "multiplied from the left": CENTRED + INVERSE + _binary("y", "kPROD", "r", "e", (ONE, X)),
    "axes put back": _reduce("m", "x", "kMAX", kept=False)
    + _binary("d", "kSUB", "x", "m")
    + _unary("e", "d", "kEXP")
    + _reduce("s", "e", "kSUM", kept=False)
    + _binary("y", "kDIV", "e", "s"),
}


def _whole(body: str, returns: str = f"%y : {X}") -> str:
    return function(f"%x: {X}", body, returns)


@pytest.mark.parametrize("name", SPELLINGS)
def test_raised(name: str) -> None:
    """Every spelling is one layer."""
    check(_whole(SPELLINGS[name]), _whole(f"%y = tensorrt.softmax {{axis = 1 : i64}} %x : {X}"), PASS)


@pytest.mark.parametrize("name", SPELLINGS)
def test_results_stay(name: str) -> None:
    """The numbers are those of the chain, for large ones, infinities and NaN too."""
    x = np.random.default_rng(1).standard_normal((2, 5, 3), dtype=np.float32) * 50
    x[0, 1, 0], x[0, 2, 1], x[1, :, 2], x[1, 0, 0] = np.nan, np.inf, -np.inf, -np.inf
    clustering = "plan-clustering,plan-outline-clusters"
    plans = [
        mt.compile(
            mt.from_mlir(_whole(SPELLINGS[name])), target="cpu", pipeline=passes + clustering, cache=False
        )
        for passes in ("", f"{PASS},")
    ]
    before, after = (np.asarray(plan.session("cpu")(x)) for plan in plans)
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "text",
    [
        _whole(_unary("e", "x", "kEXP") + DIVIDED),
        _whole(CENTRED + DIVIDED, f"%y, %e : {X}, {X}"),
        _whole(CENTRED + DIVIDED, f"%y, %s : {X}, {ONE}"),
        _whole(CENTRED + _reduce("s", "e", "kAVG") + _binary("y", "kDIV", "e", "s")),
        _whole(CENTRED + _reduce("s", "e", "kSUM") + _binary("y", "kDIV", "s", "e", (ONE, X))),
        _whole(CENTRED.replace("kMAX", "kMIN") + DIVIDED),
    ],
)
def test_near_misses_stay(text: str) -> None:
    """No maximum, inner values read elsewhere, another reduction, the sum divided."""
    check_unchanged(text, PASS)
