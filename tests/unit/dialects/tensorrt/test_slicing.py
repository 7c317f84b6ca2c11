"""Slices, broadcasts, concatenation and reversal."""

import pytest

from .cases import check_accepted, check_inferred, check_rejected


def _slice(start=(0, 0), size=(2, 4), stride=(1, 1), **more):
    parts = {"static_start": start, "static_size": size, "static_stride": stride}
    return {**{k: None if v is None else list(v) for k, v in parts.items()}, **more}


X = "?x8xf32"
I2 = "2xi32"


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("slice", [X], _slice(), ["2x4xf32"]),
        ("slice", [X, None, I2], _slice(start=None), ["2x4xf32"]),
        ("slice", [X, None, None, I2], _slice(size=None), ["?x?xf32"]),
        ("slice", [X, "f32", I2, I2, I2], {"mode": "kFILL"}, ["?x?xf32"]),
        ("slice", ["f32"], _slice((), (), ()), ["f32"]),
        ("slice", [X], _slice(start=(9, 4), size=(1, 0)), ["1x0xf32"]),
        ("slice", [X], _slice(start=(9, 7), stride=(0, -2)), ["2x4xf32"]),
        ("slice", [X], _slice(start=(-1, 5), mode="kWRAP"), ["2x4xf32"]),
        ("slice", ["?x8xbf16"], _slice(mode="kCLAMP"), ["2x4xbf16"]),
        ("broadcast", ["8xf32", "3xi32"], {"broadcast_dims": [2]}, ["?x?x?xf32"]),
        ("concatenation", [["2x3xf32", "2x5xf32"]], {"axis": 1}, ["2x8xf32"]),
        ("concatenation", [["?x3xf32", "2x?xf32", "2x1xf32"]], {"axis": 1}, ["2x?xf32"]),
        ("concatenation", [["?xi64"]], {"axis": 0}, ["?xi64"]),
        ("concatenation", [["0xi32", "4xi32"]], {"axis": 0}, ["4xi32"]),
        ("reverse_sequence", ["5x2x3xf32", "2xi32"], {}, ["5x2x3xf32"]),
    ],
)
def test_inference(name, operands, attrs, expected):
    """A static size is the result's shape; lengths along the joined axis add up."""
    check_inferred(name, operands, attrs, expected)


@pytest.mark.parametrize(
    ("operands", "dims", "result"),
    [
        (["8xf32"], [1], "4x8xf32"),
        (["1x8xf32"], [2, 0], "8x3x5xf32"),
        (["?x8xf32", "2xi32"], [0, 1], "?x8xf32"),
        (["f32"], [], "2x2xf32"),
    ],
)
def test_broadcast_accepted(operands, dims, result):
    """Dimensions may be permuted; a dynamic result comes with a shape."""
    check_accepted("broadcast", operands, {"broadcast_dims": dims}, [result])


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "results", "fragments"),
    [
        ("slice", [X], _slice(start=None), ["2x4xf32"], ["start and static_start"]),
        ("slice", [X, None, I2], _slice(), ["2x4xf32"], ["start and static_start"]),
        ("slice", [X], _slice(start=(0,)), None, ["static_start = [0]", "2 values", "tensor<?x8xf32>"]),
        ("slice", [X], _slice(stride=(1, 1, 1)), None, ["static_stride = [1, 1, 1]"]),
        ("slice", [X, None, "3xi32"], _slice(start=None), None, ["start is tensor<3xi32>", "2 values"]),
        ("slice", [X, None, "?xi32"], _slice(start=None), None, ["start is tensor<?xi32>", "static length"]),
        ("slice", [X], _slice(size=(-2, 4)), ["?x4xf32"], ["static_size = [-2, 4]"]),
        ("slice", [X, "f32"], _slice(), None, ["kFILL", "mode is kDEFAULT"]),
        ("slice", [X, "1xf32"], _slice(mode="kFILL"), None, ["fill is tensor<1xf32>", "rank 0"]),
        ("slice", [X, "f16"], _slice(mode="kFILL"), None, ["tensor<?x8xf32>", "tensor<f16>", "element types"]),
        ("slice", [X], _slice(start=(-1, 0)), None, ["element -1 of dimension 0", "tensor<?x8xf32>", "kWRAP"]),
        ("slice", [X], _slice(start=(0, 5)), None, ["element 8 of dimension 1"]),
        ("slice", [X], _slice(stride=(1, 3)), None, ["element 9 of dimension 1"]),
        ("slice", [X], _slice(start=(0, 2), stride=(1, -1)), None, ["element -1 of dimension 1"]),
        ("slice", [X, None, None, I2], _slice(start=(0, 9), size=None), None, ["element 9 of dimension 1"]),
        ("slice", [X], _slice(), ["3x4xf32"], ["tensor<3x4xf32>", "tensor<2x4xf32>"]),
        (
            "broadcast",
            ["8xf32"],
            {"broadcast_dims": [2]},
            ["4x8xf32"],
            ["broadcast_dims = [2]", "tensor<4x8xf32>"],
        ),
        ("broadcast", ["1x8xf32"], {"broadcast_dims": [1, 1]}, ["4x8xf32"], ["broadcast_dims = [1, 1]"]),
        ("broadcast", ["1x8xf32"], {"broadcast_dims": [1]}, ["4x8xf32"], ["tensor<1x8xf32>"]),
        ("broadcast", ["7xf32"], {"broadcast_dims": [1]}, ["4x8xf32"], ["dimension 1", "tensor<7xf32>"]),
        ("broadcast", ["8xf32"], {"broadcast_dims": [1]}, ["?x8xf32"], ["tensor<?x8xf32>", "operand shape"]),
        ("broadcast", ["8xf32", "3xi32"], {"broadcast_dims": [1]}, ["?x8xf32"], ["shape is tensor<3xi32>"]),
        ("broadcast", ["8xf32"], {"broadcast_dims": [1]}, ["4x8xf16"], ["element types"]),
        ("concatenation", [["2x3xf32", "3x3xf32"]], {"axis": 1}, None, ["tensor<2x3xf32>", "tensor<3x3xf32>"]),
        ("concatenation", [["1x3xf32", "2x3xf32"]], {"axis": 1}, None, ["along axis 1"]),
        ("concatenation", [["2x3xf32", "3xf32"]], {"axis": 0}, None, ["tensor<3xf32>"]),
        ("concatenation", [["2x3xf32"]], {"axis": 2}, None, ["axis = 2"]),
        ("concatenation", [["2x3xf32"]], {"axis": -1}, None, ["axis = -1"]),
        ("concatenation", [["2xf32", "2xf16"]], {"axis": 0}, None, ["tensor<2xf16>", "element types"]),
        ("concatenation", [[]], {"axis": 0}, None, ["at least one"]),
        ("reverse_sequence", ["5x2xf32", "3xi32"], {}, None, ["sequenceLens is tensor<3xi32>", "dimension 1"]),
        ("reverse_sequence", ["5x2xf32", "2xi32"], {"batchAxis": 2}, None, ["batchAxis = 2"]),
        ("reverse_sequence", ["5x2xf32", "2xi32"], {"sequenceAxis": 1}, None, ["must differ"]),
    ],
)
def test_rejected(name, operands, attrs, results, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, results, *fragments)
