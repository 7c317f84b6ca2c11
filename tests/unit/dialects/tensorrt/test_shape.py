"""Shuffles, transposes, reshapes, squeezes, and shape."""

import pytest

from .cases import check_accepted, check_inferred, check_rejected


def _shuffle(first, second, reshape=None, **more):
    return {"first_transpose": first, "second_transpose": second, "reshape": reshape, **more}


def _transpose(text):
    return {"permutation": f"mlir:affine_map<{text}>"}


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("shuffle", ["2x3x4xf32"], _shuffle([1, 0, 2], [1, 0], [3, 8]), ["8x3xf32"]),
        ("shuffle", ["2x?x4xf32"], _shuffle([2, 0, 1], [0, 1, 2]), ["4x2x?xf32"]),
        ("shuffle", ["2x3x4xf32"], _shuffle([0, 1, 2], [0, 1], [0, -1]), ["2x12xf32"]),
        ("shuffle", ["?x3x4xf32"], _shuffle([0, 1, 2], [0, 1], [0, -1]), ["?x?xf32"]),
        ("shuffle", ["0x3xf32"], _shuffle([0, 1], [0, 1], [3, 0], zero_is_placeholder=False), ["3x0xf32"]),
        ("shuffle", ["2x3xi8", "4xi32"], _shuffle([0, 1], [3, 2, 1, 0]), ["?x?x?x?xi8"]),
        ("shuffle", ["f32"], _shuffle([], [0, 1], [1, 1]), ["1x1xf32"]),
        ("transpose", ["2x?x4xf32"], _transpose("(d0, d1, d2) -> (d2, d0, d1)"), ["4x2x?xf32"]),
        ("transpose", ["f32"], _transpose("() -> ()"), ["f32"]),
        ("squeeze", ["1x2x?x1xf32"], {"axes": [0, -1]}, ["2x?xf32"]),
        ("squeeze", ["2x?xf32"], {"axes": [1]}, ["2xf32"]),
        ("unsqueeze", ["2x?xf32"], {"axes": [0, -1]}, ["1x2x?x1xf32"]),
        ("unsqueeze", ["2x3xf32"], {"axes": [2, 1]}, ["2x1x1x3xf32"]),
        ("shape", ["2x?xf32"], {}, ["2xi32"]),
        ("shape", ["f32"], {}, ["0xi32"]),
    ],
)
def test_inference(name, operands, attrs, expected):
    """-1 is worked out where the rest is known, 0 copies, and negative axes count from the end."""
    check_inferred(name, operands, attrs, expected)


@pytest.mark.parametrize(
    ("name", "operands", "result"),
    [
        ("expand_rank", ["2x3xf32"], "1x2x1x3xf32"),
        ("expand_rank", ["?x1xf32"], "?x1x1xf32"),
        ("collapse_rank", ["1x2x1x3xf32"], "2x3xf32"),
        ("collapse_rank", ["?x1x4xf32"], "?x4xf32"),
        ("collapse_rank", ["1x1xf32"], "f32"),
        ("reshape", ["2x3xf32"], "6xf32"),
        ("reshape", ["?x3xf32"], "?xf32"),
        ("reshape", ["?x?xf32", "3xi32"], "?x2x?xf32"),
        ("shape", ["2x3xf32"], "2xi64"),
    ],
)
def test_accepted(name, operands, result):
    """Declared types that inference leaves open."""
    check_accepted(name, operands, {}, [result])


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "results", "fragments"),
    [
        ("shuffle", ["2x3xf32"], _shuffle([0, 0], [0, 1]), None, ["first_transpose = [0, 0]"]),
        ("shuffle", ["2x3xf32"], _shuffle([0], [0, 1]), None, ["first_transpose = [0]", "2 dimensions"]),
        ("shuffle", ["2x3xf32"], _shuffle([0, 1], [1, 2], [2, 3]), None, ["second_transpose = [1, 2]"]),
        ("shuffle", ["2x3xf32"], _shuffle([0, 1], [0, 1], [-1, -1]), ["2x3xf32"], ["reshape = [-1, -1]"]),
        ("shuffle", ["2x3xf32"], _shuffle([0, 1], [0, 1], [-2, 3]), ["2x3xf32"], ["reshape = [-2, 3]"]),
        (
            "shuffle",
            ["2x3xf32"],
            _shuffle([0, 1], [0, 1], [0, -1], zero_is_placeholder=False),
            ["0x?xf32"],
            ["reshape = [0, -1]", "zero_is_placeholder"],
        ),
        ("shuffle", ["2x3xf32"], _shuffle([0, 1], [0, 1], [2, 4]), None, ["6 elements", "8"]),
        ("shuffle", ["2x3xf32"], _shuffle([0, 1], [0, 1, 2], [2, 3, 0]), None, ["reshape = [2, 3, 0]"]),
        ("shuffle", ["2x3xf32", "2xi32"], _shuffle([0, 1], [0, 1], [3, 2]), None, ["reshape and as dynamic"]),
        ("shuffle", ["2x3xf32", "?xi32"], _shuffle([0, 1], [0, 1]), ["?x?xf32"], ["dynamic_reshape"]),
        (
            "transpose",
            ["2x3xf32"],
            _transpose("(d0, d1) -> (d0, d0)"),
            None,
            ["permutation", "tensor<2x3xf32>"],
        ),
        ("transpose", ["2x3xf32"], _transpose("(d0) -> (d0)"), None, ["2 dimensions"]),
        ("expand_rank", ["2x3xf32"], {}, ["2x3x2xf32"], ["tensor<2x3xf32>", "tensor<2x3x2xf32>", "length 1"]),
        ("expand_rank", ["1x2xf32"], {}, ["2xf32"], ["other way"]),
        ("expand_rank", ["2xf32"], {}, ["1x2xf16"], ["element types"]),
        ("collapse_rank", ["2x3xf32"], {}, ["3xf32"], ["length 1"]),
        ("collapse_rank", ["2xf32"], {}, ["1x2xf32"], ["other way"]),
        ("reshape", ["2x3xf32"], {}, ["7xf32"], ["6 elements", "7"]),
        ("reshape", ["?x?xf32"], {}, ["?x?xf32"], ["tensor<?x?xf32>", "operand shape"]),
        ("reshape", ["?x?xf32", "2xi32"], {}, ["?x?x?xf32"], ["shape is tensor<2xi32>", "3 values"]),
        ("reshape", ["2x3xf32"], {}, ["6xf16"], ["element types"]),
        ("squeeze", ["1x2xf32"], {"axes": [1]}, None, ["axes = [1]", "dimension 1", "tensor<1x2xf32>"]),
        ("squeeze", ["1x2xf32"], {"axes": [0, -2]}, None, ["axes = [0, -2]", "different"]),
        ("unsqueeze", ["2xf32"], {"axes": [2]}, None, ["axes = [2]", "rank 2"]),
        ("shape", ["2x3xf32"], {}, ["3xi32"], ["tensor<3xi32>", "tensor<2xi32>"]),
        ("shape", ["2x3xf32"], {}, ["2xf32"], ["result is tensor<2xf32>"]),
    ],
)
def test_rejected(name, operands, attrs, results, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, results, *fragments)
