"""Quantize, dequantize and dynamic_quantize."""

import pytest

from .cases import check_accepted, check_inferred, check_rejected


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "result"),
    [
        ("quantize", ["2x8xf32", "f32"], {}, "2x8xi8"),
        ("quantize", ["?x8xf16", "8xf16"], {"axis": 1}, "?x8xf8E4M3FN"),
        ("quantize", ["4x32xf32", "4x2xf32"], {}, "4x32xi4"),
        ("quantize", ["32x4xbf16", "2x4xbf16"], {}, "32x4xf8E4M3FN"),
        ("dequantize", ["?xi8", "f32"], {}, "?xf32"),
        ("dequantize", ["4x3x3x3xi8", "4xf32"], {"axis": 0}, "4x3x3x3xf32"),
        ("dequantize", ["4x32xf4E2M1FN", "4x2xf8E4M3FN"], {}, "4x32xf16"),
    ],
)
def test_accepted(name, operands, attrs, result):
    """A scale for the tensor, for each channel, or for each block."""
    check_accepted(name, operands, attrs, [result])


@pytest.mark.parametrize(
    ("operands", "attrs", "expected"),
    [
        (["2x32xf32", "f32"], {"axis": 1}, ["2x32xf4E2M1FN", "2x2xf8E4M3FN"]),
        (["32x?xf16", "f32"], {"axis": 0}, ["32x?xf4E2M1FN", "2x?xf8E4M3FN"]),
        (["2x?xf16", "f32"], {"axis": -1, "block_size": 32}, ["2x?xf8E4M3FN", "2x?xf8E8M0FNU"]),
    ],
)
def test_dynamic_quantize(operands, attrs, expected):
    """Blocks of 16 give f4 with f8 scales, blocks of 32 give f8 with exponents."""
    check_inferred("dynamic_quantize", operands, attrs, expected)


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "results", "fragments"),
    [
        ("quantize", ["f32", "f32"], {}, ["i8"], ["input is tensor<f32>", "rank 1"]),
        ("quantize", ["2x8xf32", "f32"], {}, ["2x9xi8"], ["tensor<2x8xf32>", "tensor<2x9xi8>"]),
        ("quantize", ["2x8xf32", "f32"], {"axis": 1}, ["2x8xi8"], ["axis = 1", "tensor<f32>"]),
        ("quantize", ["2x8xf32", "8xf32"], {}, ["2x8xi8"], ["scale is tensor<8xf32>", "axis"]),
        ("quantize", ["2x8xf32", "8xf32"], {"axis": 0}, ["2x8xi8"], ["scale is tensor<8xf32>", "dimension 0"]),
        ("quantize", ["2x8xf32", "8xf32"], {"axis": 2}, ["2x8xi8"], ["axis = 2"]),
        (
            "quantize",
            ["2x3x8xf32", "2x3xf32"],
            {},
            ["2x3x8xi4"],
            ["scale is tensor<2x3xf32>", "tensor<2x3x8xf32>"],
        ),
        ("quantize", ["2x8xf32", "2x1xf32"], {}, ["2x8xi8"], ["one per block", "tensor<2x8xi8>"]),
        ("quantize", ["2x8xf32", "2x1xf32"], {"axis": 1}, ["2x8xi4"], ["axis = 1", "per block"]),
        ("quantize", ["4x8xf32", "2x4xf32"], {}, ["4x8xi4"], ["scale is tensor<2x4xf32>", "last two"]),
        ("quantize", ["4x8x8xf32", "2x8x8xf32"], {}, ["4x8x8xi4"], ["last two"]),
        ("quantize", ["4x9xf32", "4x2xf32"], {}, ["4x9xi4"], ["dimension 1", "2 blocks"]),
        ("quantize", ["2x8xf32", "f32"], {}, ["2x8xi32"], ["result is tensor<2x8xi32>"]),
        ("dequantize", ["2x8xf32", "f32"], {}, ["2x8xf32"], ["input is tensor<2x8xf32>"]),
        ("dequantize", ["2x8xi8", "2x1xf32"], {}, ["2x8xf32"], ["tensor<2x8xi8>", "per block"]),
        ("dynamic_quantize", ["2x32xf32", "1xf32"], {"axis": 1}, None, ["double_quant_scale is tensor<1xf32>"]),
        (
            "dynamic_quantize",
            ["2x3x32xf32", "f32"],
            {"axis": 0, "block_size": 2},
            None,
            ["axis = 0", "last two"],
        ),
        ("dynamic_quantize", ["2x30xf32", "f32"], {"axis": 1}, None, ["block_size = 16", "tensor<2x30xf32>"]),
        ("dynamic_quantize", ["2x32xf32", "f32"], {"axis": 1, "block_size": 8}, None, ["block_size = 8"]),
        (
            "dynamic_quantize",
            ["1x2x2x32xf32", "f32"],
            {"axis": 3},
            None,
            ["tensor<1x2x2x32xf32>", "rank 2 or 3"],
        ),
    ],
)
def test_rejected(name, operands, attrs, results, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, results, *fragments)
