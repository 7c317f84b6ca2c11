"""docs/dialects/compatibility.md: each row of its tables, tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlirtrt_nb.errors import VerificationError
from mlirtrt_nb.frontends.text import from_mlir

DOC = Path(__file__).parents[4] / "docs" / "dialects" / "compatibility.md"
POOL = (
    "poolingType = #tensorrt.pooling_type<kMAX>, postPadding = array<i64: 0, 0>, prePadding = array<i64: 0, 0>"
    ", stride = array<i64: 2, 2>, windowSize = array<i64: 2, 2>"
)
IMAGE, HALF = "tensor<1x1x4x4xf32>", "tensor<1x1x2x2xf32>"
LOOP = """%y, %s = tensorrt.for %i = %l to %u step %l init(%a = %x) -> (tensor<2xf32>, tensor<?x2xf32>) {
  %t = tensorrt.iterator {axis = 0 : i64} %xs : tensor<3x2xf32> -> tensor<2xf32>
  tensorrt.yield %t, %a : tensor<2xf32>, tensor<2xf32>
} {collect_axes = array<i64: 0>, collected = ["kCONCATENATE"]}"""
PADDED = f"{{{POOL}, paddingMode = #tensorrt.padding_mode<kSAME_UPPER>}} ins(%x : tensor<1x1x5x5xf32>)"

# By what the page says: arguments, and an op.
ACCEPTED = {
    "kACOS, kTAN and the other trigonometry of bf16": (
        "%x: tensor<2xbf16>",
        "%y = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kACOS>} %x : tensor<2xbf16>",
    ),
    "kEQUAL of i1": (
        "%x: tensor<2xi1>",
        "%y = tensorrt.element_wise <kEQUAL>(%x, %x : tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>",
    ),
    "kPOW of i32 and i64": (
        "%x: tensor<2xi64>",
        "%y = tensorrt.element_wise <kPOW>(%x, %x : tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>",
    ),
    "select of i8": (
        "%c: tensor<2xi1>, %x: tensor<2xi8>",
        "%y = tensorrt.select ins(%c, %x, %x : tensor<2xi1>, tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>",
    ),
    "kISINF and kISNAN": (
        "%x: tensor<2xf32>",
        "%y = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kISNAN>} %x : tensor<2xf32>",
    ),
    "ui8 in moves, slices and concatenations": (
        "%x: tensor<2xui8>",
        "%y = tensorrt.concatenation {axis = 0 : i32} ins(%x, %x : tensor<2xui8>, tensor<2xui8>) "
        "-> tensor<4xui8>",
    ),
    "start, size and stride of i64": (
        "%x: tensor<8xf32>, %n: tensor<1xi64>",
        "%y = tensorrt.slice %x[%n: tensor<1xi64>][2][1] : tensor<8xf32> to tensor<2xf32>",
    ),
    "indices and shapes of i64": (
        "%x: tensor<2x3xf32>",
        "%y = tensorrt.shape %x : tensor<2x3xf32> -> tensor<2xi64>",
    ),
    "padding modes of convolution and pooling": (
        "%x: tensor<1x1x5x5xf32>",
        f"%y = tensorrt.pooling {PADDED} -> tensor<1x1x3x3xf32>",
    ),
    "k as a tensor": (
        "%x: tensor<2x8xf32>, %k: tensor<i32>",
        "%v, %i = tensorrt.top_k <kMAX> {axis = 1 : i64} %x k(%k : tensor<i32>) : tensor<2x8xf32> -> "
        "tensor<2x?xf32>, tensor<2x?xi32>",
    ),
    "pooling, padding, resizing and others in branches and loops": (
        f"%c: tensor<i1>, %x: {IMAGE}, %h: {HALF}",
        f"%y = tensorrt.if (%c : tensor<i1>) -> {HALF} {{\n%p = tensorrt.pooling {{{POOL}}} ins(%x : {IMAGE}) "
        f"-> {HALF}\ntensorrt.yield %p : {HALF}\n}} else {{\ntensorrt.yield %h : {HALF}\n}}",
    ),
    "collected values and iterators in loops": (
        "%l: tensor<i32>, %u: tensor<i32>, %x: tensor<2xf32>, %xs: tensor<3x2xf32>",
        LOOP,
    ),
}
REJECTED = {
    "a slice in mode kDEFAULT that reads outside of its input": (
        "%x: tensor<4xf32>",
        "%y = tensorrt.slice %x[2][3][1] : tensor<4xf32> to tensor<3xf32>",
    ),
    "a label twice in one term of an einsum": (
        "%x: tensor<4x4xf32>",
        '%y = tensorrt.einsum {equation = "ii->i"} ins(%x : tensor<4x4xf32>) -> tensor<4xf32>',
    ),
    "top_k of more than 3840": (
        "%x: tensor<2x5000xf32>",
        "%v, %i = tensorrt.top_k <kMAX> {axis = 1 : i64, k = 4000 : i64} %x : tensor<2x5000xf32> -> "
        "tensor<2x4000xf32>, tensor<2x4000xi32>",
    ),
    "a normalization whose scale does not broadcast to the input": (
        "%x: tensor<2x3x4xf32>, %s: tensor<1x1x5xf32>",
        "%y = tensorrt.normalization {axis = array<i64: 2>} (%x : tensor<2x3x4xf32>, %s : tensor<1x1x5xf32>, "
        "%s : tensor<1x1x5xf32>) -> tensor<2x3x4xf32>",
    ),
    "a concatenation whose inputs differ beside the axis": (
        "%x: tensor<2x3xf32>, %z: tensor<2x4xf32>",
        "%y = tensorrt.concatenation {axis = 0 : i32} ins(%x, %z : tensor<2x3xf32>, tensor<2x4xf32>) -> "
        "tensor<4x3xf32>",
    ),
    "call and call_alloc whose results do not fit the function": ("%x: tensor<2xf32>", None),
}
CALL = """tensorrt.module @engines {
  func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }
}
func.func @main(%x: tensor<2xf32>) {
  %y = tensorrt.call_alloc @engines::@f(%x : tensor<2xf32>) -> tensor<3xf32>
  return
}"""


def _text(arguments: str, op: str | None) -> str:
    return CALL if op is None else f"func.func @main({arguments}) {{\n{op}\nreturn\n}}"


@pytest.mark.parametrize("what", ACCEPTED)
def test_accepted(what: str) -> None:
    """The op verifies, and reads the same after printing."""
    printed = from_mlir(_text(*ACCEPTED[what])).text()
    assert from_mlir(printed).text() == printed


@pytest.mark.parametrize("what", REJECTED)
def test_rejected(what: str) -> None:
    """The op is an error at its own line."""
    with pytest.raises(VerificationError) as caught:
        from_mlir(_text(*REJECTED[what]))
    assert caught.value.span is not None


def test_the_page_has_these_rows() -> None:
    """What the page lists is what is tried here, in order."""
    rows = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", DOC.read_text(encoding="utf-8"), re.MULTILINE)
    assert [row for row in rows if row not in ("What", "---")] == [*ACCEPTED, *REJECTED]
