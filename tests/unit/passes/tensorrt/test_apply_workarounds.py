"""apply-workarounds: each op that the builder refuses, in the spelling that it takes, with the same results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import EngineBuildError
from mlirtrt_nb.ir import dtypes
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.tensorrt.apply_workarounds import ApplyWorkarounds
from mlirtrt_nb.passes.tensorrt.workarounds import WORKAROUNDS

from .before_after import function, mnemonics, run

PASS = ApplyWorkarounds.name
CLUSTERING = "plan-clustering,plan-outline-clusters"
ONES = "array<i64: 1, 1>"
DOC = Path(__file__).parents[4] / "docs" / "dialects" / "workarounds.md"
ATTENTION = "%y = tensorrt.attention {} ins(%q, %k, %v : {}) {} -> {}"


@dataclass(frozen=True)
class Case:
    """A function's text in pieces, and the ops that its one op becomes. `exact`: whether the CPU gives the same
    bits; `drawn`: whether the numbers are random."""

    arguments: str
    body: str
    returns: str
    becomes: list[str]
    exact: bool = True
    drawn: bool = False

    @property
    def text(self) -> str:
        return function(self.arguments, self.body, self.returns)


def _one(before: str, op: str, after: str, becomes: list[str], exact: bool = True) -> Case:
    """An op of %x that gives %y."""
    return Case(f"%x: tensor<{before}>", op, f"%y : tensor<{after}>", becomes, exact)


def _arg(mnemonic: str, attributes: str, results: str, becomes: list[str]) -> Case:
    body = f"%y, %i = tensorrt.{mnemonic} {attributes} %x : tensor<6xf32> -> {results}"
    return Case("%x: tensor<6xf32>", body, f"%y, %i : {results}", becomes)


def _attention(element: str, key: int, value: int, mask: str = "") -> Case:
    q, k, v, out = (f"tensor<2x3x{n}x{w}x{element}>" for n, w in ((5, key), (4, key), (4, value), (5, value)))
    body = ATTENTION.format("", f"{q}, {k}, {v}", f"mask(%m : {mask})" if mask else "", out)
    arguments = f"%q: {q}, %k: {k}, %v: {v}" + (f", %m: {mask}" if mask else "")
    slices = [] if key == value else ["slice"] if key > value else ["slice", "slice"]
    becomes = [*slices, "attention", *(["slice"] if key > value else [])]
    return Case(arguments, body, f"%y : {out}", becomes, exact=False)


def _branch(heads: int, mask: str, attributes: str, inner: list[str]) -> Case:
    """Attention in a branch, whose keys have `heads` heads."""
    q, k, m = "tensor<2x4x5x8xf32>", f"tensor<2x{heads}x5x8xf32>", f"tensor<2x1x5x5x{mask}>"
    body = ATTENTION.format(attributes, f"{q}, {k}, {k}", f"mask(%m : {m})" if mask else "", q)
    branches = f"{{\n{body}\ntensorrt.yield %y : {q}\n}} else {{\ntensorrt.yield %q : {q}\n}}"
    arguments = f"%c: tensor<i1>, %q: {q}, %k: {k}, %v: {k}" + (f", %m: {m}" if mask else "")
    becomes = [*inner, "matrix_multiply", "yield", "yield", "if"]
    return Case(
        arguments, f"%r = tensorrt.if (%c : tensor<i1>) -> {q} {branches}", f"%r : {q}", becomes, exact=False
    )


def _group_norm(groups: int, scale: int) -> Case:
    factor = f"tensor<1x{scale}x1x1xf32>"
    body = (
        f"%y = tensorrt.normalization {{axis = array<i64: 2, 3>, num_groups = {groups} : i32}} "
        f"(%x : tensor<2x6x4x4xf32>, %s : {factor}, %b : {factor}) -> tensor<2x6x4x4xf32>"
    )
    arguments = f"%x: tensor<2x6x4x4xf32>, %s: {factor}, %b: {factor}"
    becomes = ["expand_rank", "broadcast", "shuffle"] * 2 + ["normalization"]
    return Case(arguments, body, "%y : tensor<2x6x4x4xf32>", becomes, exact=False)


def _fill(op: str, result: str) -> Case:
    drawn = "random" in op
    return Case(
        "%x: tensor<1xf32>", f"%y = tensorrt.{op}", f"%y : {result}", [op.split()[0], "cast"], drawn=drawn
    )


def _padding(shape: str, pads: tuple[int, int, int, int], result: str) -> Case:
    a, b, c, d = pads
    op = (
        f"%y = tensorrt.padding {{postPadding = array<i64: {c}, {d}>, prePadding = array<i64: {a}, {b}>}} "
        f"ins(%x : tensor<{shape}>) -> tensor<{result}>"
    )
    return _one(shape, op, result, ["slice"])


CASES = {
    "softmax of a vector": _one(
        "6xf32",
        "%y = tensorrt.softmax {axis = 0 : i64} %x : tensor<6xf32>",
        "6xf32",
        ["expand_rank", "softmax", "collapse_rank"],
    ),
    "top_k of a vector": _arg(
        "top_k <kMIN>",
        "{axis = -1 : i64, k = 2 : i64}",
        "tensor<2xf32>, tensor<2xi32>",
        ["expand_rank", "top_k", "collapse_rank", "collapse_rank"],
    ),
    "argmax of a vector": _arg(
        "argmax",
        "{axis = 0 : i64}",
        "tensor<1xf32>, tensor<1xi64>",
        ["expand_rank", "argmax", "collapse_rank", "collapse_rank"],
    ),
    "argmin of a vector": _arg(
        "argmin",
        "{axis = 0 : i64}",
        "tensor<1xf32>, tensor<1xi32>",
        ["expand_rank", "argmin", "collapse_rank", "collapse_rank"],
    ),
    "lrn of a line": _one(
        "2x8x5xf32",
        "%y = tensorrt.lrn {alpha = 0.1 : f32, beta = 0.75 : f32, k = 1.0 : f32, windowSize = 3 : i64} %x : "
        "tensor<2x8x5xf32>",
        "2x8x5xf32",
        ["expand_rank", "lrn", "collapse_rank"],
    ),
    "reduce over nothing": _one(
        "2x3xf32",
        "%a = tensorrt.reduce <kSUM> %x {reduceAxes = array<i64>} : tensor<2x3xf32> -> tensor<2x3xf32>\n"
        "%y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %a : tensor<2x3xf32>",
        "2x3xf32",
        ["activation"],
    ),
    "mean of bytes": _one(
        "2x4xi8",
        "%y = tensorrt.reduce <kAVG> %x {reduceAxes = array<i64: 1>} : tensor<2x4xi8> -> tensor<2xi8>",
        "2xi8",
        ["cast", "reduce", "cast"],
    ),
    "activation of bytes": _one(
        "2x3xi8",
        "%y = tensorrt.activation {activationType = #tensorrt.activation_type<kTANH>} %x : tensor<2x3xi8>",
        "2x3xi8",
        ["cast", "activation", "cast"],
    ),
    "pooling of bytes in space": _one(
        "1x2x4x4x4xi8",
        "%y = tensorrt.pooling {poolingType = #tensorrt.pooling_type<kMAX>, postPadding = array<i64: 0, 0, 0>, "
        "prePadding = array<i64: 0, 0, 0>, stride = array<i64: 2, 2, 2>, windowSize = array<i64: 2, 2, 2>} "
        "ins(%x : tensor<1x2x4x4x4xi8>) -> tensor<1x2x2x2x2xi8>",
        "1x2x2x2x2xi8",
        ["cast", "pooling", "cast"],
    ),
    "deconvolution in bf16": Case(
        "%x: tensor<1x2x4x4xbf16>, %k: tensor<2x3x3x3xbf16>",
        f"%y = tensorrt.deconvolution {{post_padding = {ONES}, pre_padding = {ONES}, stride = {ONES}}} "
        "in(%x : tensor<1x2x4x4xbf16>) kernelWeights(%k : tensor<2x3x3x3xbf16>) -> tensor<1x3x4x4xbf16>",
        "%y : tensor<1x3x4x4xbf16>",
        ["cast", "cast", "deconvolution", "cast"],
        exact=False,
    ),
    "deconvolution with constant weights in bf16": _one(
        "1x2x4x4xbf16",
        f"%y = tensorrt.deconvolution {{biasWeightsStatic = dense<0.5> : tensor<3xbf16>, kernelWeightsStatic = "
        f"dense<1.5> : tensor<2x3x3x3xbf16>, post_padding = {ONES}, pre_padding = {ONES}, stride = {ONES}}} "
        "in(%x : tensor<1x2x4x4xbf16>) -> tensor<1x3x4x4xbf16>",
        "1x3x4x4xbf16",
        ["cast", "cast", "cast", "deconvolution", "cast"],
        exact=False,
    ),
    "random numbers in bf16": _fill(
        "random_uniform {static_high = 5.0 : f64, static_low = 2.0 : f64} -> tensor<100x20xbf16>",
        "tensor<100x20xbf16>",
    ),
    "normal numbers in bf16": _fill(
        "random_normal {static_mean = 3.5 : f64, static_std = 0.5 : f64} -> tensor<100x20xbf16>",
        "tensor<100x20xbf16>",
    ),
    "steps in f16": _fill("linspace [ 0.5] [ static] [ 0.25] : tensor<9xf16>", "tensor<9xf16>"),
    "choice of constant bytes": Case(
        "%i: tensor<4xi32>",
        "%d = tensorrt.constant dense<5> : tensor<i32>\n%c = tensorrt.constant dense<[-3, 7]> : tensor<2xi8>\n"
        "%y = tensorrt.one_hot {axis = -1 : si64} ins(%i, %c, %d : tensor<4xi32>, tensor<2xi8>, tensor<i32>) "
        "-> tensor<4x5xi8>",
        "%y : tensor<4x5xi8>",
        ["cast", "one_hot"],
    ),
    "constant bytes in a list": Case(
        "%x: tensor<2x3xi8>",
        "%c = tensorrt.constant dense<[[-3, 7, 127]]> : tensor<1x3xi8>\n"
        "%y = tensorrt.concatenation {axis = 0 : i32} ins(%x, %c : tensor<2x3xi8>, tensor<1x3xi8>) -> "
        "tensor<3x3xi8>",
        "%y : tensor<3x3xi8>",
        ["cast", "concatenation"],
    ),
    "constant bytes without a sign": _one(
        "1xf32",
        "%c = tensorrt.constant dense<[0, 200, 255]> : tensor<3xui8>\n"
        "%y = tensorrt.cast %c : tensor<3xui8> to tensor<3xf32>",
        "3xf32",
        ["cast"],
    ),
    "image of bytes, turned": _one(
        "1x4x5x3xui8",
        "%t = tensorrt.transpose {permutation = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>} %x : "
        "tensor<1x4x5x3xui8> to tensor<1x3x4x5xui8>\n"
        "%y = tensorrt.cast %t : tensor<1x3x4x5xui8> to tensor<1x3x4x5xf32>",
        "1x3x4x5xf32",
        ["cast", "transpose", "cast"],
    ),
    "bytes moved and moved again": Case(
        "%x: tensor<4x3xui8>, %z: tensor<2x3xui8>",
        "%s = tensorrt.slice %x[1, 0][2, 3][1, 1] : tensor<4x3xui8> to tensor<2x3xui8>\n"
        "%c = tensorrt.constant dense<200> : tensor<1x3xui8>\n"
        "%j = tensorrt.concatenation {axis = 0 : i32} ins(%s, %z, %c : tensor<2x3xui8>, tensor<2x3xui8>, "
        "tensor<1x3xui8>) -> tensor<5x3xui8>\n"
        "%y = tensorrt.expand_rank %j : tensor<5x3xui8> to tensor<1x5x3xui8>",
        "%y : tensor<1x5x3xui8>",
        ["cast", "slice", "cast", "concatenation", "expand_rank", "cast"],
    ),
    "padding of integers": _padding("1x2x3x4xi32", (1, 2, 0, 1), "1x2x4x7xi32"),
    "padding that trims": _padding("1x2x5x6xi32", (-1, -2, 1, -1), "1x2x5x3xi32"),
    "scale per group": _group_norm(3, 3),
    "one scale for all groups": _group_norm(2, 1),
    "attention in f32": _attention("f32", 8, 8),
    "attention of few numbers in f16": _attention("f16", 4, 4),
    "attention in a branch": _branch(4, "", "", ["matrix_multiply", "softmax"]),
    "masked attention in a branch": _branch(4, "f32", "", ["matrix_multiply", "element_wise", "softmax"]),
    "chosen attention in a branch": _branch(4, "i1", "", ["matrix_multiply", "select", "softmax"]),
    "causal attention of few heads in a branch": _branch(
        2,
        "",
        "{causalKind = #tensorrt.causal_mask_kind<kLOWER_RIGHT>}",
        [*["expand_rank", "concatenation", "shuffle"] * 2, "matrix_multiply", "select", "softmax"],
    ),
    "attention of wider keys": _attention("f32", 8, 6, "tensor<2x1x5x4xf32>"),
    "attention of wider values": _attention("f16", 8, 16, "tensor<1x1x5x4xi1>"),
}


def _plan(text: str, passes: str, target: str) -> mt.Plan:
    return mt.compile(mt.from_mlir(text), target=target, pipeline=f"{passes}{CLUSTERING}", cache=False)


def _inputs(text: str) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    found = []
    for entry in mt.from_mlir(text).inputs:
        kind = dtypes.by_mlir(entry.dtype).np
        whole = kind.kind in "iu"
        drawn = rng.integers(0, 5, entry.shape) if whole else rng.standard_normal(entry.shape) * 2
        # Some of a mask, and at least one in each row.
        found.append(np.asarray(np.abs(drawn) < 3 if kind.kind == "b" else drawn).astype(kind))
    return found


@pytest.mark.parametrize("name", CASES)
def test_spelling(name: str) -> None:
    """The op becomes these ops, and a second run changes nothing more."""
    case = CASES[name]
    after = run(case.text, PASS)
    assert mnemonics(after) == case.becomes
    ApplyWorkarounds().apply(after, PassContext())
    assert mnemonics(after) == case.becomes


def _is_refused(text: str) -> bool:
    """Whether the builder itself refuses the op: it goes elsewhere, or no engine comes of it."""
    try:
        return not _plan(text, "", "sm89").fallbacks.empty
    except EngineBuildError:
        return True


@pytest.mark.parametrize("name", CASES)
def test_sm89_builds_it(name: str) -> None:
    """The builder refuses the op, and takes what it becomes as one whole engine."""
    text = CASES[name].text
    taken = _plan(text, f"{PASS},", "sm89")
    assert _is_refused(text)
    assert taken.fallbacks.empty
    assert taken.engines.target.tolist() == ["sm89"]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.drawn])
def test_results_stay(name: str) -> None:
    """On the CPU the results are those of the op itself: to the bit where the arithmetic is the same."""
    case = CASES[name]
    inputs = _inputs(case.text)
    plans = [_plan(case.text, passes, "cpu") for passes in ("", f"{PASS},")]
    names = dict(zip([entry.name for entry in plans[0].inputs], inputs, strict=True))
    before, after = (plan.session("cpu").run(names) for plan in plans)
    for one, two in zip(before.values(), after.values(), strict=True):
        assert (one.dtype, one.shape) == (two.dtype, two.shape)
        tolerance = 0 if case.exact else 1e-5 if one.dtype == np.float32 else 1e-2
        np.testing.assert_allclose(
            two.astype(np.float64), one.astype(np.float64), rtol=tolerance, atol=tolerance
        )


def test_what_cannot_be_helped_is_marked() -> None:
    """An op without another spelling says why it stays outside; in a branch, the whole `if` does."""
    op = "%z = tensorrt.non_zero %x : tensor<2x3xf32> -> tensor<2x?xi32>\n"
    text = function("%x: tensor<2x3xf32>", op, "%z : tensor<2x?xi32>")
    assert 'plan.fallback = "the builder implements no non_zero layer"' in run(text, PASS).text()
    branch = (
        f"%y = tensorrt.if (%c : tensor<i1>) -> tensor<2x?xi32> {{\n{op}tensorrt.yield %z : tensor<2x?xi32>\n}}"
        " else {\n%w = tensorrt.constant dense<0> : tensor<2x1xi32>\n%v = tensorrt.cast %w : tensor<2x1xi32> to"
        " tensor<2x?xi32>\ntensorrt.yield %v : tensor<2x?xi32>\n}"
    )
    text = function("%c: tensor<i1>, %x: tensor<2x3xf32>", branch, "%y : tensor<2x?xi32>")
    plan = mt.compile(mt.from_mlir(text), target="sm89", pipeline=f"{PASS},{CLUSTERING}", cache=False)
    assert plan.fallbacks.op.tolist() == ["tensorrt.if"]


def test_bytes_out_of_range_are_not_taken_for_bytes() -> None:
    """A cast to ui8 in the middle, of numbers that may lie outside, stays a cast and goes to the host."""
    body = (
        "%b = tensorrt.cast %x : tensor<3xi32> to tensor<3xui8>\n"
        "%y = tensorrt.cast %b : tensor<3xui8> to tensor<3xf32>"
    )
    text = function("%x: tensor<3xi32>", body, "%y : tensor<3xf32>")
    assert mnemonics(run(text, PASS)) == ["cast", "cast"]
    plan = _plan(text, f"{PASS},", "cpu")
    assert plan.fallbacks.op.tolist() == ["tensorrt.cast"]
    np.testing.assert_array_equal(plan.session("cpu")(np.array([3, 300, -1], np.int32)), [3, 44, 255])


def test_the_page_lists_the_workarounds() -> None:
    """docs/dialects/workarounds.md has each with its ops and what it says, and no other."""
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \|$", DOC.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [
        (entry.name, ", ".join(f"`{name}`" for name in entry.mnemonics) or "any", entry.summary)
        for entry in WORKAROUNDS
    ]


def test_calls_of_engines_are_left_alone() -> None:
    """A call takes values that no layer would."""
    text = (
        "tensorrt.module @e { func.func @f(%a: tensor<?xf32>, %n: tensor<i1>) -> tensor<?xf32> { "
        "return %a : tensor<?xf32> } }\n"
        "func.func @main(%x: tensor<?xf32>, %n: tensor<i1>) -> tensor<?xf32> {\n"
        "%y = tensorrt.call_alloc @e::@f(%x, %n : tensor<?xf32>, tensor<i1>) -> tensor<?xf32>\n"
        "return %y : tensor<?xf32>\n}"
    )
    assert mnemonics(run(text, PASS)) == ["call_alloc"]
