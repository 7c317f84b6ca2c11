"""Gathers and scatters."""

import pytest

from .cases import check_inferred, check_rejected


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("gather", ["4x8xf32", "3xi32"], {"axis": 0}, "3x8xf32"),
        ("gather", ["4x8xf32", "i32"], {"axis": 1}, "4xf32"),
        ("gather", ["?x8xf32", "2x?xi64"], {"axis": 1}, "?x2x?xf32"),
        ("gather", ["4x8x5xf32", "4x3xi32"], {"axis": 1, "numBroadcastDims": 1}, "4x3x5xf32"),
        ("gather_nd", ["4x8x5xf32", "3x2xi32"], {}, "3x5xf32"),
        ("gather_nd", ["?x8xf32", "2x?x1xi32"], {}, "2x?x8xf32"),
        ("gather_elements", ["4x8xf32", "2x?xi32"], {"axis": 0}, "2x?xf32"),
        ("scatter_nd", ["4x?xf32", "2x1xi32", "2x?xf32"], {}, "4x?xf32"),
        ("scatter_elements", ["4x4xf32", "2x3xi32", "2x3xf32"], {"axis": -1}, "4x4xf32"),
        ("scatter_elements", ["4x4xf16", "?x3xi64", "2x?xf16"], {}, "4x4xf16"),
    ],
)
def test_inference(name, operands, attrs, expected):
    """The indices' dimensions stand where the gathered ones were; a scatter keeps the data's type."""
    check_inferred(name, operands, attrs, [expected])


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "fragments"),
    [
        ("gather", ["4x8xf32", "3xi32"], {"axis": 2}, ["axis = 2", "rank 2"]),
        ("gather", ["4x8xf32", "3xi32"], {"axis": -1}, ["axis = -1", "negative"]),
        ("gather", ["4x8xf32", "3xf32"], {"axis": 0}, ["indices is tensor<3xf32>"]),
        ("gather", ["4x8xf32", "4x3xi32"], {"axis": 1, "numBroadcastDims": 2}, ["numBroadcastDims = 2"]),
        (
            "gather",
            ["4x8xf32", "4x3xi32"],
            {"axis": 0, "numBroadcastDims": 1},
            ["numBroadcastDims = 1", "axis = 0"],
        ),
        (
            "gather",
            ["4x8xf32", "5x3xi32"],
            {"axis": 1, "numBroadcastDims": 1},
            ["tensor<4x8xf32>", "tensor<5x3xi32>"],
        ),
        ("gather_nd", ["4x8xf32", "3x3xi32"], {}, ["indices is tensor<3x3xi32>", "tensor<4x8xf32>"]),
        ("gather_nd", ["4x8xf32", "3x?xi32"], {}, ["indices is tensor<3x?xi32>", "static"]),
        (
            "gather_elements",
            ["4x8xf32", "2xi32"],
            {"axis": 0},
            ["tensor<4x8xf32>", "tensor<2xi32>", "one rank"],
        ),
        ("gather_elements", ["4x8xf32", "2x8xi32"], {"axis": 2}, ["axis = 2"]),
        ("scatter_nd", ["4x4xf32", "2x1xi32", "3x4xf32"], {}, ["updates is tensor<3x4xf32>", "2x4"]),
        ("scatter_nd", ["4x4xf32", "2x1xi32", "2x4xf16"], {}, ["element types"]),
        ("scatter_nd", ["4x4xf32", "2x3xi32", "2xf32"], {}, ["indices is tensor<2x3xi32>"]),
        ("scatter_elements", ["4x4xf32", "2xi32", "2xf32"], {}, ["one rank"]),
        (
            "scatter_elements",
            ["4x4xf32", "2x3xi32", "2x4xf32"],
            {},
            ["indices is tensor<2x3xi32>", "tensor<2x4xf32>"],
        ),
        ("scatter_elements", ["4x4xf32", "2x3xi32", "2x3xf32"], {"axis": 2}, ["axis = 2"]),
    ],
)
def test_rejected(name, operands, attrs, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, None, *fragments)
