"""tensorrt-canonicalize."""

import re
from pathlib import Path

import pytest

from mlirtrt_nb.passes.tensorrt.tensorrt_canonicalize import FOLDS

from .before_after import check, check_unchanged, function, mnemonics, run

PASS = "tensorrt-canonicalize"
T = "tensor<2x4xf32>"
DOC = Path(__file__).parents[4] / "docs" / "dialects" / "canonicalization.md"


def _one(body: str, before: str = "2x4xf32", after: str | None = None) -> str:
    return function(f"%x: tensor<{before}>", body, f"%y : tensor<{after or before}>")


def _cast(name: str, value: str, before: str, after: str) -> str:
    return f"%{name} = tensorrt.cast %{value} : tensor<2x4x{before}> to tensor<2x4x{after}>\n"


def _unary(name: str, value: str, kind: str, shape: str = "2x4xf32") -> str:
    attribute = f"{{unaryOperation = #tensorrt.unary_operation<{kind}>}}"
    return f"%{name} = tensorrt.unary {attribute} %{value} : tensor<{shape}>\n"


def _activation(name: str, value: str, kind: str, rest: str = "") -> str:
    attribute = f"{{activationType = #tensorrt.activation_type<{kind}>{rest}}}"
    return f"%{name} = tensorrt.activation {attribute} %{value} : {T}\n"


def _binary(name: str, kind: str, a: str, b: str) -> str:
    kinds = ", ".join("tensor<1x1xf32>" if v.startswith("c") else T for v in (a, b))
    return f"%{name} = tensorrt.element_wise <{kind}>(%{a}, %{b} : {kinds}) -> {T}\n"


def _number(name: str, value: float) -> str:
    return f"%{name} = tensorrt.constant dense<{value!r}> : tensor<1x1xf32>\n"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("2x4xf32", "%y = tensorrt.identity %x : tensor<2x4xf32> to tensor<2x4xf32>"),
        ("2x?xf16", "%y = tensorrt.cast %x : tensor<2x?xf16> to tensor<2x?xf16>"),
        ("2x?xf32", "%y = tensorrt.reshape %x : tensor<2x?xf32> to tensor<2x?xf32>"),
        (
            "?x?xf32",
            "%y = tensorrt.transpose {permutation = affine_map<(d0, d1) -> (d0, d1)>} %x : tensor<?x?xf32> to "
            "tensor<?x?xf32>",
        ),
        (
            "2x4xf32",
            "%y = tensorrt.shuffle {first_transpose = array<i64: 0, 1>, second_transpose = array<i64: 0, 1>} "
            "ins(%x : tensor<2x4xf32>) -> tensor<2x4xf32>",
        ),
        ("2x4xf32", "%y = tensorrt.broadcast %x broadcast_dims<0, 1> : tensor<2x4xf32> to tensor<2x4xf32>"),
        ("2x4xf32", "%y = tensorrt.slice %x[0, 0][2, 4][1, 1] : tensor<2x4xf32> to tensor<2x4xf32>"),
        (
            "2x4xf32",
            "%y = tensorrt.concatenation {axis = 1 : i32} ins(%x : tensor<2x4xf32>) -> tensor<2x4xf32>",
        ),
        ("2x4xf16", _cast("a", "x", "f16", "f32") + _cast("y", "a", "f32", "f16")),
        ("2x4xi1", _cast("a", "x", "i1", "i32") + _cast("y", "a", "i32", "i1")),
        ("2x4xf32", _unary("a", "x", "kNEG") + _unary("y", "a", "kNEG")),
        ("4xi1", _unary("a", "x", "kNOT", "4xi1") + _unary("y", "a", "kNOT", "4xi1")),
        ("2x4xf32", _number("c", 0.0) + _binary("y", "kSUM", "c", "x")),
        ("2x4xf32", _number("c", 0.0) + _binary("y", "kSUB", "x", "c")),
        ("2x4xf32", _number("c", 1.0) + _binary("a", "kPROD", "x", "c") + _binary("y", "kPROD", "c", "a")),
        ("2x4xf32", _number("c", 1.0) + _binary("y", "kDIV", "x", "c")),
        ("2x4xf32", _number("c", 1.0) + _binary("y", "kPOW", "x", "c")),
    ],
)
def test_nothing_is_left(kind: str, body: str) -> None:
    """What computes its own input goes, and the constants with it."""
    check(_one(body, kind), function(f"%x: tensor<{kind}>", "", f"%x : tensor<{kind}>"), PASS)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (
            "4x4xf32",
            "%y = tensorrt.transpose {permutation = affine_map<(d0, d1) -> (d1, d0)>} %x : tensor<4x4xf32> to "
            "tensor<4x4xf32>",
        ),
        ("4x4xf32", "%y = tensorrt.broadcast %x broadcast_dims<1, 0> : tensor<4x4xf32> to tensor<4x4xf32>"),
        ("4xf32", "%y = tensorrt.slice %x[3][4][-1] : tensor<4xf32> to tensor<4xf32>"),
        ("2x4xf32", _cast("a", "x", "f32", "f16") + _cast("y", "a", "f16", "f32")),
        ("2x4xi32", _cast("a", "x", "i32", "f32") + _cast("y", "a", "f32", "i32")),
        ("2x4xf32", _unary("a", "x", "kRECIP") + _unary("y", "a", "kRECIP")),
        ("2x4xf32", _number("c", 0.0) + _binary("y", "kSUB", "c", "x")),
        ("2x4xf32", _number("c", 1.0) + _binary("y", "kDIV", "c", "x")),
        ("2x4xf32", _number("c", 0.0) + _binary("y", "kPROD", "x", "c")),
        (
            "2x4xf32",
            _number("c1", 6.0)
            + _number("c2", 2.0)
            + _binary("a", "kMAX", "x", "c1")
            + _binary("y", "kMIN", "a", "c2"),
        ),
    ],
)
def test_what_changes_something_stays(kind: str, body: str) -> None:
    """Near misses of the rules are left alone."""
    check_unchanged(_one(body, kind), PASS)


def test_a_neutral_number_that_broadcasts_stays() -> None:
    """x * 1 has another shape than x where the 1 is repeated."""
    body = (
        "%c = tensorrt.constant dense<1.0> : tensor<1x1xf32>\n"
        "%b = tensorrt.broadcast %c broadcast_dims<0, 1> : tensor<1x1xf32> to tensor<2x4xf32>\n"
        "%y = tensorrt.element_wise <kPROD>(%x, %b : tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n"
    )
    check_unchanged(_one(body, "1x4xf32", "2x4xf32"), PASS)


def test_a_chain_of_casts_is_one() -> None:
    """A cast that loses nothing is skipped by the one after it."""
    body = _cast("a", "x", "i8", "i32") + _cast("b", "a", "i32", "i64") + _cast("y", "b", "i64", "f32")
    check(_one(body, "2x4xi8", "2x4xf32"), _one(_cast("y", "x", "i8", "f32"), "2x4xi8", "2x4xf32"), PASS)


@pytest.mark.parametrize("kind", ["kABS", "kFLOOR", "kROUND"])
def test_unaries_are_done_once(kind: str) -> None:
    """What leaves its own results alone is done once, however often it is written."""
    body = _unary("a", "x", kind) + _unary("b", "a", kind) + _unary("y", "b", kind)
    check(_one(body), _one(_unary("y", "x", kind)), PASS)


def test_activations_are_done_once() -> None:
    """Also relu and an equal clip; a clip with other bounds stays."""
    check(
        _one(_activation("a", "x", "kRELU") + _activation("y", "a", "kRELU")),
        _one(_activation("y", "x", "kRELU")),
        PASS,
    )
    narrow, wide = (f", alpha = 0.0 : f32, beta = {b} : f32" for b in (1.0, 2.0))
    equal = _activation("a", "x", "kCLIP", wide) + _activation("y", "a", "kCLIP", wide)
    check(_one(equal), _one(_activation("y", "x", "kCLIP", wide)), PASS)
    check_unchanged(_one(_activation("a", "x", "kCLIP", wide) + _activation("y", "a", "kCLIP", narrow)), PASS)


@pytest.mark.parametrize(("inner", "outer"), [("kMAX", "kMIN"), ("kMIN", "kMAX")])
def test_max_and_min_are_a_clip(inner: str, outer: str) -> None:
    """In either order, the number on either side."""
    numbers = {"kMAX": "c1", "kMIN": "c2"}
    constants = _number("c1", -1.0) + _number("c2", 6.0)
    body = constants + _binary("a", inner, "x", numbers[inner]) + _binary("y", outer, numbers[outer], "a")
    after = _one(_activation("y", "x", "kCLIP", ", alpha = -1.0 : f32, beta = 6.0 : f32"))
    check(_one(body), after, PASS)


def test_dead_ops_go_and_assertions_stay() -> None:
    """Ops that nobody reads go, with what only they read; an assertion reads its condition."""
    dead = (
        "%c = tensorrt.constant dense<true> : tensor<1xi1>\n"
        + _unary("a", "x", "kEXP")
        + _unary("b", "a", "kNEG")
    )
    check(function(f"%x: {T}", dead, f"%x : {T}"), function(f"%x: {T}", "", f"%x : {T}"), PASS)
    kept = 'tensorrt.assertion {message = "odd"} ins(%c : tensor<i1>)'
    check_unchanged(function(f"%x: {T}, %c: tensor<i1>", kept, f"%x : {T}"), PASS)


def test_rules_hold_in_regions() -> None:
    """The branches of an `if` are simplified too, and it stays, since it may hold what has an effect."""
    text = function(
        f"%c: tensor<i1>, %x: {T}",
        f"%y = tensorrt.if (%c : tensor<i1>) -> {T} {{\n"
        + _unary("a", "x", "kNEG")
        + _unary("b", "a", "kNEG")
        + f"tensorrt.yield %b : {T}\n}} else {{\ntensorrt.yield %x : {T}\n}}",
        f"%y : {T}",
    )
    assert mnemonics(run(text, PASS)) == ["yield", "yield", "if"]
    assert mnemonics(run(text.replace("return %y", "return %x"), PASS)) == ["yield", "yield", "if"]


def test_the_page_lists_the_rules() -> None:
    """docs/dialects/canonicalization.md has each rule with its ops and what it says, and no other."""
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \|$", DOC.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [
        (fold.name, ", ".join(f"`{name}`" for name in fold.mnemonics), fold.summary) for fold in FOLDS
    ]
