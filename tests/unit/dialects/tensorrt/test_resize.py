"""Resizing."""

import pytest

from .cases import check_accepted, check_inferred, check_rejected

COMMON = {"coordinateTransformation": "kHALF_PIXEL", "selectorForSinglePixel": "kFORMULA"}
EXTRA = {"nearest": {"nearestRounding": "kFLOOR"}, "linear": {}, "cubic": {"cubicCoeff": -0.75}}
IMAGE = "1x3x4x4xf32"


def _attrs(kind, scales=None):
    return {**COMMON, **EXTRA[kind], "scales": scales}


@pytest.mark.parametrize("kind", EXTRA)
@pytest.mark.parametrize(
    ("operands", "scales", "expected"),
    [
        ([IMAGE], [1, 1, 2, 2.5], "1x3x8x10xf32"),
        (["1x3x3x3xf32"], [1, 1, 7 / 3, 5 / 3], "1x3x7x5xf32"),
        (["?x3x?x4xf16"], [1, 1, 2, 2], "?x3x?x8xf16"),
        ([IMAGE, "4xi32"], None, "?x?x?x?xf32"),
    ],
)
def test_inference(kind, operands, scales, expected):
    """Scales give static dimensions, in single precision; an output shape gives none."""
    check_inferred(f"resize_{kind}", operands, _attrs(kind, scales), [expected])


def test_declared_result_fixes_the_size():
    """Neither scales nor output_shape is needed where the declared result is static."""
    check_accepted("resize_linear", [IMAGE], _attrs("linear"), ["1x3x9x7xf32"])


@pytest.mark.parametrize(
    ("kind", "operands", "scales", "results", "fragments"),
    [
        ("nearest", ["2x1x3x4x4xf32"], [1, 2, 1, 1, 1], None, ["scales", "innermost 3"]),
        ("linear", ["2x1x3x4x4xf32"], None, ["2x2x3x4x4xf32"], ["3 innermost", "tensor<2x2x3x4x4xf32>"]),
        ("cubic", [IMAGE], [1, 2, 1, 1], None, ["scales", "innermost 2"]),
        ("cubic", [IMAGE], None, ["1x4x4x4xf32"], ["2 innermost"]),
        ("cubic", ["4xf32"], [2.0], None, ["tensor<4xf32>", "rank 2"]),
        ("linear", [IMAGE], [1, 1, 2], ["1x3x8x8xf32"], ["scales = [1.0, 1.0, 2.0]", "4 values"]),
        ("linear", [IMAGE], [1, 1, 0, 2], ["1x3x?x8xf32"], ["positive"]),
        ("linear", [IMAGE], [1, 1, 2, 2], ["1x3x8x9xf32"], ["tensor<1x3x8x9xf32>", "tensor<1x3x8x8xf32>"]),
        ("linear", ["1x3x?x4xf32"], None, ["1x3x?x8xf32"], ["tensor<1x3x?x4xf32>", "output_shape or scales"]),
        ("linear", [IMAGE, "3xi32"], None, ["1x3x8x8xf32"], ["output_shape is tensor<3xi32>", "4 values"]),
        ("linear", [IMAGE], None, ["3x8x8xf32"], ["result is tensor<3x8x8xf32>"]),
        ("nearest", ["1x3x4x4xi32"], [1, 1, 2, 2], None, ["tensor<1x3x4x4xi32>"]),
    ],
)
def test_rejected(kind, operands, scales, results, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(f"resize_{kind}", operands, _attrs(kind, scales), results, *fragments)
