"""Softmax, ragged softmax, normalization and local response normalization."""

import pytest

from .cases import check_inferred, check_rejected

LRN = {"windowSize": 5, "alpha": 1e-4, "beta": 0.75, "k": 1.0}


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("softmax", ["2x?xf32"], {"axis": 1}, ["2x?xf32"]),
        ("ragged_softmax", ["1x?x8xf32", "1x?x1xi32"], {}, ["1x?x8xf32"]),
        ("normalization", ["2x?x8xf32", "1x1x8xf32", "1x1x8xf32"], {"axis": [2]}, ["2x?x8xf32"]),
        ("normalization", ["?x4x8x8xf16", "1x4x1x1xf16", "1x4x1x1xf16"], {"axis": [2, 3]}, ["?x4x8x8xf16"]),
        ("normalization", ["2x4xf32", "1x4xf32", "1x4xf32"], {"axis": [0]}, ["2x4xf32"]),
        (
            "normalization",
            ["2x8x4x4xf32", "1x2x1x1xf32", "1x2x1x1xf32"],
            {"axis": [2, 3], "num_groups": 2},
            ["2x8x4x4xf32"],
        ),
        (
            "normalization",
            ["2x8x4x4xf32", "1x8x1x1xf32", "1x8x1x1xf32"],
            {"axis": [2, 3], "num_groups": 4, "eps": 1e-6},
            ["2x8x4x4xf32"],
        ),
        ("lrn", ["?x8x4x4xf32"], LRN, ["?x8x4x4xf32"]),
        ("lrn", ["1x8x4x4xf32"], LRN | {"k": 1e-5, "beta": 0.01}, ["1x8x4x4xf32"]),
    ],
)
def test_inference(name, operands, attrs, expected):
    """Normalizations keep the input's type."""
    check_inferred(name, operands, attrs, expected)


def _norm(data, scale, attrs, *fragments, bias=None):
    return ("normalization", [data, scale, bias or scale], attrs, None, fragments)


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "results", "fragments"),
    [
        ("softmax", ["2x3xf32"], {"axis": 2}, None, ["axis = 2", "rank 2"]),
        ("softmax", ["2x3xi32"], {"axis": 0}, None, ["tensor<2x3xi32>"]),
        ("ragged_softmax", ["2x8xf32", "2x1x1xi32"], {}, None, ["input is tensor<2x8xf32>", "rank 3"]),
        ("ragged_softmax", ["1x2x8xf32", "1x2xi32"], {}, None, ["bounds is tensor<1x2xi32>", "rank 3"]),
        ("ragged_softmax", ["1x2x8xf32", "1x3x1xi32"], {}, None, ["bounds is tensor<1x3x1xi32>", "1x2x1"]),
        _norm("2x4xf32", "4xf32", {"axis": [1]}, "tensor<2x4xf32>", "scale tensor<4xf32>", "one rank"),
        _norm("2x4xf32", "1x4xf16", {"axis": [1]}, "tensor<2x4xf32>", "tensor<1x4xf16>", "element types"),
        _norm("2x4xf32", "1x4xf32", {"axis": [1]}, "bias is tensor<1x1xf32>", bias="1x1xf32"),
        _norm("2x4xf32", "1x3xf32", {"axis": [1]}, "scale is tensor<1x3xf32>", "tensor<2x4xf32>"),
        _norm("2x4xf32", "1x4xf32", {"axis": [2]}, "axis = [2]", "rank 2"),
        _norm("2x4xf32", "1x4xf32", {"axis": []}, "axis = []"),
        _norm("2x4x8xf32", "1x1x8xf32", {"axis": [0]}, "scale is tensor<1x1x8xf32>", "batch norm"),
        _norm("2x4x8x8xf32", "1x4x1x1xf32", {"axis": [1, 2, 3]}, "axis = [1, 2, 3]", "[2, 3]"),
        _norm("2x5x8xf32", "1x5x1xf32", {"axis": [2], "num_groups": 2}, "num_groups = 2", "tensor<2x5x8xf32>"),
        _norm("2x4x8xf32", "1x4x1xf32", {"axis": [1, 2], "num_groups": 2}, "axis = [1, 2]", "num_groups is 2"),
        _norm("2x4x8xf32", "1x1x8xf32", {"axis": [2], "num_groups": 2}, "scale is tensor<1x1x8xf32>"),
        _norm("2x4x8xf32", "1x4x1xf32", {"axis": [2], "num_groups": 0}, "num_groups = 0"),
        ("lrn", ["2x8xf32"], LRN, None, ["tensor<2x8xf32>", "rank 3"]),
        ("lrn", ["1x8x4x4xf32"], LRN | {"windowSize": 4}, None, ["windowSize = 4"]),
        ("lrn", ["1x8x4x4xf32"], LRN | {"windowSize": 17}, None, ["windowSize = 17"]),
        ("lrn", ["1x8x4x4xf32"], LRN | {"beta": 0.0}, None, ["beta = 0.0", "0.01"]),
        ("lrn", ["1x8x4x4xf32"], LRN | {"k": 0.0}, None, ["k = 0.0"]),
        ("lrn", ["1x8x4x4xf32"], LRN | {"alpha": 1e30}, None, ["alpha = "]),
    ],
)
def test_rejected(name, operands, attrs, results, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, results, *fragments)
