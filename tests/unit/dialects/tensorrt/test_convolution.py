"""Convolution, deconvolution, pooling and padding."""

import pytest

from .cases import check_inferred, check_rejected


def _conv(stride=(1, 1), pre=(0, 0), post=(0, 0), **more):
    return {"stride": list(stride), "pre_padding": list(pre), "post_padding": list(post), **more}


def _pool(window=(2, 2), stride=(2, 2), pre=(0, 0), post=(0, 0), kind="kMAX", **more):
    names = {"windowSize": window, "stride": stride, "prePadding": pre, "postPadding": post}
    return {**{k: list(v) for k, v in names.items()}, "poolingType": kind, **more}


def _static(shape, name="kernelStatic"):
    return {name: f"mlir:dense<1.0> : tensor<{shape}>"}


IMAGE, KERNEL = "2x3x9x8xf32", "4x3x3x3xf32"


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("convolution", [IMAGE, KERNEL], _conv(), ["2x4x7x6xf32"]),
        ("convolution", [IMAGE, KERNEL, "4xf32"], _conv(pre=(1, 1), post=(1, 1)), ["2x4x9x8xf32"]),
        ("convolution", [IMAGE], _conv(stride=(2, 2), **_static(KERNEL)), ["2x4x4x3xf32"]),
        ("convolution", [IMAGE, KERNEL], _conv(dilation=[2, 3]), ["2x4x5x2xf32"]),
        ("convolution", ["?x3x?x8xf16", "4x3x3x3xf16"], _conv(), ["?x4x?x6xf16"]),
        ("convolution", ["2x6x9x8xf32", "4x3x3x3xf32"], _conv(num_groups=2), ["2x4x7x6xf32"]),
        ("convolution", [IMAGE, KERNEL], _conv(stride=(2, 2), padding_mode="kSAME_UPPER"), ["2x4x5x4xf32"]),
        (
            "convolution",
            [IMAGE, KERNEL],
            _conv(stride=(2, 2), padding_mode="kEXPLICIT_ROUND_UP"),
            ["2x4x4x4xf32"],
        ),
        (
            "convolution",
            ["1x3x8x8x8xf32", "4x3x3x3x3xf32"],
            _conv((1, 1, 1), (0, 0, 0), (0, 0, 0)),
            ["1x4x6x6x6xf32"],
        ),
        ("deconvolution", ["1x4x5x5xf32", "4x3x3x3xf32"], _conv(stride=(2, 2)), ["1x3x11x11xf32"]),
        (
            "deconvolution",
            ["1x4x5x?xf32"],
            _conv((2, 2), (1, 1), (1, 0), num_groups=2, **_static("4x3x3x3xf32", "kernelWeightsStatic")),
            ["1x6x9x?xf32"],
        ),
        (
            "deconvolution",
            ["1x4x5x5xf32", "4x3x3x3xf32"],
            _conv((2, 2), padding_mode="kSAME_LOWER"),
            ["1x3x10x10xf32"],
        ),
        ("pooling", [IMAGE], _pool(), ["2x3x4x4xf32"]),
        ("pooling", ["?x3x?x8xf32"], _pool(pre=(1, 1), post=(1, 1), kind="kAVERAGE"), ["?x3x?x5xf32"]),
        ("pooling", [IMAGE], _pool(paddingMode="kEXPLICIT_ROUND_UP"), ["2x3x5x4xf32"]),
        ("pooling", [IMAGE], _pool(paddingMode="kSAME_UPPER", stride=(3, 3)), ["2x3x3x3xf32"]),
        ("pooling", ["1x2x4x4x4xf16"], _pool((2,) * 3, (2,) * 3, (0,) * 3, (0,) * 3), ["1x2x2x2x2xf16"]),
        ("padding", ["1x3x8x?xf32"], {"prePadding": [1, 1], "postPadding": [0, -2]}, ["1x3x9x?xf32"]),
        ("padding", ["1x3x8x8xf32"], {"prePadding": [1, 0], "postPadding": [0, -2]}, ["1x3x9x6xf32"]),
    ],
)
def test_inference(name, operands, attrs, expected):
    """Windows, strides, dilations and padding modes give the spatial dimensions; a dynamic one stays so."""
    check_inferred(name, operands, attrs, expected)


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "results", "fragments"),
    [
        ("convolution", [IMAGE], _conv(), ["1x1x1x1xf32"], ["needs kernel or kernelStatic"]),
        ("convolution", [IMAGE, KERNEL], _conv(**_static(KERNEL)), None, ["kernel", "kernelStatic"]),
        ("convolution", ["3x9x8xf32", KERNEL], _conv(), None, ["input is tensor<3x9x8xf32>", "rank 4"]),
        ("convolution", [IMAGE, "4x3x3xf32"], _conv(), None, ["kernel is tensor<4x3x3xf32>"]),
        ("convolution", [IMAGE, KERNEL], _conv(stride=(1,)), None, ["stride = [1]", "2 values"]),
        ("convolution", [IMAGE, KERNEL], _conv(dilation=[1, 1, 1]), None, ["dilation = [1, 1, 1]"]),
        ("convolution", [IMAGE, KERNEL], _conv(pre=(1,)), None, ["pre_padding = [1]"]),
        ("convolution", [IMAGE, KERNEL], _conv(stride=(1, 0)), ["2x4x7x6xf32"], ["stride = [1, 0]"]),
        ("convolution", [IMAGE, KERNEL], _conv(pre=(-1, 0)), None, ["pre_padding = [-1, 0]", "negative"]),
        (
            "convolution",
            [IMAGE, "4x2x3x3xf32"],
            _conv(),
            None,
            ["3 channels", "tensor<4x2x3x3xf32>", "needs 2"],
        ),
        ("convolution", [IMAGE, KERNEL], _conv(num_groups=3), None, ["num_groups = 3", "4 output channels"]),
        ("convolution", [IMAGE, KERNEL, "3xf32"], _conv(), None, ["bias is tensor<3xf32>", "4 values"]),
        ("convolution", [IMAGE, KERNEL, "1x4xf32"], _conv(), None, ["bias is tensor<1x4xf32>", "rank 1"]),
        ("convolution", [IMAGE, KERNEL, "4xf16"], _conv(), None, ["bias is tensor<4xf16>", "element type"]),
        (
            "convolution",
            [IMAGE, KERNEL, "4xf32"],
            _conv(**_static("4xf32", "biasStatic")),
            None,
            ["biasStatic"],
        ),
        (
            "convolution",
            [IMAGE],
            _conv(**_static("4x3x3x3xf16")),
            None,
            ["kernelStatic is tensor<4x3x3x3xf16>"],
        ),
        ("convolution", ["1x3x2x2xf32", KERNEL], _conv(), None, ["does not fit", "1x4x0x0"]),
        (
            "convolution",
            [IMAGE, KERNEL],
            _conv(),
            ["2x4x9x8xf32"],
            ["tensor<2x4x9x8xf32>", "tensor<2x4x7x6xf32>"],
        ),
        ("deconvolution", ["1x4x5x5xf32"], _conv(), ["1x3x7x7xf32"], ["needs kernelWeights"]),
        ("deconvolution", ["1x5x5x5xf32", "4x3x3x3xf32"], _conv(), None, ["5 channels", "tensor<4x3x3x3xf32>"]),
        (
            "deconvolution",
            ["1x4x5x5xf32", "4x3x3x3xf32", "4xf32"],
            _conv(),
            None,
            ["biasWeights is tensor<4xf32>"],
        ),
        (
            "deconvolution",
            ["1x4x1x1xf32", "4x3x3x3xf32"],
            _conv(pre=(2, 2), post=(2, 2)),
            None,
            ["does not fit"],
        ),
        ("pooling", ["3x9x8xf32"], _pool(), None, ["input is tensor<3x9x8xf32>", "rank 4 or 5"]),
        ("pooling", [IMAGE], _pool(window=(2,)), None, ["windowSize = [2]"]),
        ("pooling", [IMAGE], _pool(window=(0, 2)), None, ["windowSize = [0, 2]"]),
        ("pooling", [IMAGE], _pool(pre=(-1, 0)), None, ["prePadding = [-1, 0]"]),
        ("pooling", [IMAGE], _pool(kind="kMAX_AVERAGE_BLEND"), None, ["blendFactor", "kMAX_AVERAGE_BLEND"]),
        ("pooling", [IMAGE], _pool(blendFactor=0.5), None, ["blendFactor", "poolingType is kMAX"]),
        ("pooling", [IMAGE], _pool(averageCountExcludesPadding=True), None, ["averageCountExcludesPadding"]),
        ("pooling", [IMAGE], _pool(window=(20, 2)), None, ["does not fit"]),
        ("padding", ["3x8x8xf32"], {"prePadding": [0, 0], "postPadding": [0, 0]}, None, ["tensor<3x8x8xf32>"]),
        (
            "padding",
            [IMAGE],
            {"prePadding": [0], "postPadding": [0, 0]},
            None,
            ["prePadding = [0]", "two values"],
        ),
        ("padding", [IMAGE], {"prePadding": [-9, 0], "postPadding": [-1, 0]}, None, ["does not fit"]),
    ],
)
def test_rejected(name, operands, attrs, results, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, results, *fragments)
