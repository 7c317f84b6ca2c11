"""Non-maximum suppression and grid sampling."""

import pytest

from .cases import check_accepted, check_inferred, check_rejected

BOXES, SCORES = "1x10x4xf32", "1x10x3xf32"
IMAGE, GRID = "1x3x8x8xf32", "1x4x5x2xf32"


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("nms", [BOXES, SCORES, "i32"], {}, ["?x3xi32", "i32"]),
        ("nms", ["?x?x3x4xf16", "?x?x3xf16", "i32", None, "f32"], {"topKBoxLimit": 100}, ["?x3xi32", "i32"]),
        ("grid_sample", [IMAGE, GRID], {}, ["1x3x4x5xf32"]),
        (
            "grid_sample",
            ["?x3x8x8x8xf16", "2x4x5x?x3xf16"],
            {"interpolationMode": "kNEAREST"},
            ["2x3x4x5x?xf16"],
        ),
    ],
)
def test_inference(name, operands, attrs, expected):
    """The number of boxes is not known; a grid gives the spatial dimensions."""
    check_inferred(name, operands, attrs, expected)


def test_nms_indices_may_be_wide():
    """The layer can give 64-bit indices."""
    check_accepted("nms", [BOXES, SCORES, "i32"], {}, ["?x3xi64", "i32"])


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "fragments"),
    [
        ("nms", ["10x4xf32", SCORES, "i32"], {}, ["boxes is tensor<10x4xf32>", "rank 3 or 4"]),
        ("nms", [BOXES, "10x3xf32", "i32"], {}, ["scores is tensor<10x3xf32>"]),
        ("nms", ["1x9x4xf32", SCORES, "i32"], {}, ["boxes is tensor<1x9x4xf32>", "1x10x4"]),
        ("nms", [BOXES, "1x10x3xf16", "i32"], {}, ["element types"]),
        ("nms", [BOXES, SCORES, "1xi32"], {}, ["maxOutputBoxesPerClass is tensor<1xi32>", "rank 0"]),
        ("nms", [BOXES, SCORES, "i32", "1xf32"], {}, ["iouThreshold is tensor<1xf32>"]),
        ("nms", [BOXES, SCORES, "i32"], {"topKBoxLimit": 5001}, ["topKBoxLimit = 5001"]),
        ("grid_sample", ["3x8x8xf32", "4x5x2xf32"], {}, ["input is tensor<3x8x8xf32>", "rank 4"]),
        ("grid_sample", [IMAGE, "1x4x5x3xf32"], {}, ["grid is tensor<1x4x5x3xf32>", "2 coordinates"]),
        ("grid_sample", ["2x3x8x8xf32", "3x4x5x2xf32"], {}, ["grid is tensor<3x4x5x2xf32>", "batch"]),
        ("grid_sample", [IMAGE, "1x4x5x2xf16"], {}, ["element types"]),
        ("grid_sample", [IMAGE, GRID], {"sampleMode": "kWRAP"}, ["sampleMode = kWRAP"]),
    ],
)
def test_rejected(name, operands, attrs, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, None, *fragments)
