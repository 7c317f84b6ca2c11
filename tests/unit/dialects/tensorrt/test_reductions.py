"""Reductions, sorting and scans."""

import pytest

from .cases import check_accepted, check_inferred, check_rejected

TOP = {"topkOperation": "kMAX"}


def _reduce(axes, keep=False):
    return {"reduceAxes": axes, "keepDimensions": keep, "reduceOperation": "kAVG"}


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("reduce", ["2x?x4xf32"], _reduce([1]), ["2x4xf32"]),
        ("reduce", ["2x?x4xf32"], _reduce([1, 2], True), ["2x1x1xf32"]),
        ("reduce", ["?x4xi64"], _reduce([0, 1]), ["i64"]),
        ("reduce", ["2x?xf32"], _reduce([]), ["2x?xf32"]),
        ("reduce", ["f32"], _reduce([], True), ["f32"]),
        ("top_k", ["2x?xf32"], TOP | {"axis": 1, "k": 3}, ["2x3xf32", "2x3xi32"]),
        ("top_k", ["?x8xf32", "i32"], TOP | {"axis": 1}, ["?x?xf32", "?x?xi32"]),
        ("argmin", ["2x?xf16"], {"axis": 1}, ["2x1xf16", "2x1xi32"]),
        ("argmax", ["?xi32"], {"axis": 0}, ["1xi32", "1xi32"]),
        ("non_zero", ["2x?x3xi1"], {}, ["3x?xi32"]),
        ("non_zero", ["f32"], {}, ["0x?xi32"]),
        ("cumulative", ["2x?xf32"], {"cumulativeOperation": "kSUM", "axis": 1, "reverse": True}, ["2x?xf32"]),
    ],
)
def test_inference(name, operands, attrs, expected):
    """The reduced axis goes, or stays with the length that the attributes give."""
    check_inferred(name, operands, attrs, expected)


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "results"),
    [
        ("top_k", ["2x8xf32"], TOP | {"axis": 1, "k": 3}, ["2x3xf32", "2x3xi64"]),
        ("non_zero", ["2x3xf32"], {}, ["2x5xi64"]),
        ("argmax", ["2x8xf32"], {"axis": -1}, ["2x1xf32", "2x1xi64"]),
    ],
)
def test_indices_have_either_width(name, operands, attrs, results):
    """Indices may be i32 or i64: the builder has a setting for it."""
    check_accepted(name, operands, attrs, results)


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "results", "fragments"),
    [
        ("reduce", ["2x3xf32"], _reduce([2]), ["2x3xf32"], ["reduceAxes = [2]", "rank 2"]),
        ("reduce", ["2x3xf32"], _reduce([-1]), ["2xf32"], ["reduceAxes = [-1]"]),
        ("reduce", ["2x3xf32"], _reduce([1, 0]), ["f32"], ["reduceAxes = [1, 0]", "increasing"]),
        ("reduce", ["2x3xf32"], _reduce([1], True), ["2xf32"], ["tensor<2xf32>", "tensor<2x1xf32>"]),
        ("reduce", ["2x3xi1"], _reduce([1]), None, ["input is tensor<2x3xi1>"]),
        ("top_k", ["2x8xf32"], TOP | {"axis": 2, "k": 3}, None, ["axis = 2", "rank 2"]),
        ("top_k", ["2x8xf32"], TOP | {"axis": 1, "k": 9}, None, ["k = 9", "8 elements", "tensor<2x8xf32>"]),
        ("top_k", ["2x8xf32"], TOP | {"axis": 1, "k": 0}, None, ["k = 0"]),
        ("top_k", ["2x8000xf32"], TOP | {"axis": 1, "k": 3841}, None, ["k = 3841", "3840"]),
        ("top_k", ["2x8xf32"], TOP | {"axis": 1}, None, ["k", "dynamicK"]),
        ("top_k", ["2x8xf32", "i32"], TOP | {"axis": 1, "k": 3}, None, ["k", "dynamicK"]),
        ("top_k", ["2x8xf32", "1xi32"], TOP | {"axis": 1}, None, ["dynamicK is tensor<1xi32>", "rank 0"]),
        (
            "top_k",
            ["2x8xf32"],
            TOP | {"axis": 1, "k": 3},
            ["2x4xf32", "2x4xi32"],
            ["values", "tensor<2x4xf32>"],
        ),
        ("argmin", ["2x8xf32"], {"axis": 5}, None, ["axis = 5"]),
        ("cumulative", ["2x8xf32"], {"cumulativeOperation": "kSUM", "axis": 2}, None, ["axis = 2"]),
        ("cumulative", ["2x8xi1"], {"cumulativeOperation": "kSUM", "axis": 0}, None, ["tensor<2x8xi1>"]),
        ("non_zero", ["2x3xf32"], {}, ["3x?xi32"], ["tensor<3x?xi32>", "tensor<2x?xi32>"]),
    ],
)
def test_rejected(name, operands, attrs, results, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, results, *fragments)
