"""convolution, deconvolution, pooling, padding and resizing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from .cases import Case, case, integers, uniform

BF16 = ml_dtypes.bfloat16


def _pad(x: np.ndarray, pre: Any, post: Any, value: float) -> np.ndarray:
    return np.pad(x, [(0, 0), (0, 0), *zip(pre, post, strict=True)], constant_values=value)


def convolved(
    x: np.ndarray, w: np.ndarray, stride: Any, pre: Any, post: Any, dilation: Any, groups: int
) -> np.ndarray:
    """A convolution by its definition, one output position at a time."""
    x = _pad(x.astype(np.float64), pre, post, 0)
    spatial = range(len(stride))
    extent = [(w.shape[2 + n] - 1) * dilation[n] + 1 for n in spatial]
    out_shape = [(x.shape[2 + n] - extent[n]) // stride[n] + 1 for n in spatial]
    out = np.zeros((x.shape[0], w.shape[0], *out_shape))
    x = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    kernel = w.astype(np.float64).reshape(groups, -1, *w.shape[1:])
    for place in itertools.product(*map(range, out_shape)):
        window = tuple(
            slice(place[n] * stride[n], place[n] * stride[n] + extent[n], dilation[n]) for n in spatial
        )
        part = x[(slice(None), slice(None), slice(None), *window)]
        flat = np.einsum(
            "bgck,gmck->bgm", part.reshape(*part.shape[:3], -1), kernel.reshape(*kernel.shape[:3], -1)
        )
        out[(slice(None), slice(None), *place)] = flat.reshape(x.shape[0], -1)
    return out


def deconvolved(
    x: np.ndarray, w: np.ndarray, stride: Any, pre: Any, post: Any, dilation: Any, groups: int
) -> np.ndarray:
    """A transposed convolution: each input element adds its scaled kernel to the output."""
    spatial = range(len(stride))
    full = [(x.shape[2 + n] - 1) * stride[n] + (w.shape[2 + n] - 1) * dilation[n] + 1 for n in spatial]
    per_group = w.shape[1]
    out = np.zeros((x.shape[0], per_group * groups, *full))
    channels = x.shape[1] // groups
    for c in range(x.shape[1]):
        to = slice(c // channels * per_group, (c // channels + 1) * per_group)
        for place in itertools.product(*map(range, x.shape[2:])):
            window = tuple(
                slice(
                    place[n] * stride[n],
                    place[n] * stride[n] + (w.shape[2 + n] - 1) * dilation[n] + 1,
                    dilation[n],
                )
                for n in spatial
            )
            value = x[(slice(None), c, *place)].astype(np.float64)
            out[(slice(None), to, *window)] += np.multiply.outer(value, w[c].astype(np.float64))
    keep = tuple(slice(pre[n], full[n] - post[n]) for n in spatial)
    return out[(slice(None), slice(None), *keep)]


# label, input, kernel (out, in / groups, ...), stride, pre, post, dilation, groups
_CONVOLUTIONS = (
    ("3x3", (1, 3, 6, 7), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1),
    ("strided", (2, 2, 7, 8), (3, 2, 3, 2), (2, 3), (0, 1), (1, 2), (1, 1), 1),
    ("dilated", (1, 2, 8, 8), (2, 2, 3, 3), (1, 1), (2, 2), (2, 2), (2, 2), 1),
    ("grouped", (1, 4, 5, 5), (6, 2, 3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 2),
    ("depthwise", (1, 4, 5, 5), (4, 1, 3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 4),
    ("3d", (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), (1, 2, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1), 1),
)


def _geometry(stride: Any, pre: Any, post: Any, dilation: Any, groups: int) -> dict[str, Any]:
    return {
        "stride": list(stride),
        "pre_padding": list(pre),
        "post_padding": list(post),
        "dilation": list(dilation),
        "num_groups": groups,
    }


def _convolutions() -> Iterator[Case]:
    for label, shape, kernel, stride, pre, post, dilation, groups in _CONVOLUTIONS:
        attrs = _geometry(stride, pre, post, dilation, groups)
        for dtype in (np.float32, np.float16, BF16) if label == "3x3" else (np.float32,):
            x, w = uniform(*shape, dtype=dtype), uniform(*kernel, dtype=dtype)
            bias = uniform(kernel[0], dtype=dtype)
            plain = convolved(x, w, stride, pre, post, dilation, groups)
            yield case("convolution", [x, w, None], plain.astype(dtype), label=label, slack=20, **attrs)
            column = bias.astype(np.float64).reshape(-1, *[1] * len(stride))
            biased = (plain + column).astype(dtype)
            yield case("convolution", [x, w, bias], biased, label=f"{label}-bias", slack=20, **attrs)
    x = uniform(1, 1, 4, 4)
    w = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    values = "mlir:dense<[[[[0.0, 1.0], [2.0, 3.0]]]]> : tensor<1x1x2x2xf32>"
    attrs = _geometry((1, 1), (0, 0), (0, 0), (1, 1), 1)
    expected = convolved(x, w, (1, 1), (0, 0), (0, 0), (1, 1), 1)
    fixed = {"kernelStatic": values, "biasStatic": "mlir:dense<[0.5]> : tensor<1xf32>"}
    yield case(
        "convolution",
        [x, None, None],
        (expected + 0.5).astype(np.float32),
        label="static",
        slack=8,
        **fixed,
        **attrs,
    )
    x = uniform(1, 1, 6, 6)
    expected = convolved(x, w, (3, 3), (0, 0), (2, 2), (1, 1), 1)
    attrs = _geometry((3, 3), (0, 0), (0, 0), (1, 1), 1)
    yield case(
        "convolution",
        [x, w, None],
        expected.astype(np.float32),
        label="round-up",
        slack=8,
        dynamic=False,
        padding_mode="kEXPLICIT_ROUND_UP",
        **attrs,
    )
    for label, shape, kernel, stride, pre, post, dilation, groups in (
        ("2x2", (1, 3, 4, 5), (3, 4, 3, 3), (2, 2), (1, 1), (1, 0), (1, 1), 1),
        ("grouped", (2, 4, 3, 3), (4, 2, 2, 2), (1, 2), (0, 0), (0, 1), (1, 1), 2),
        ("dilated", (1, 2, 3, 3), (2, 1, 3, 3), (1, 1), (1, 0), (0, 1), (2, 1), 1),
        ("3d", (1, 2, 2, 3, 2), (2, 2, 2, 2, 2), (2, 1, 1), (0, 0, 0), (0, 0, 0), (1, 1, 1), 1),
    ):
        attrs = _geometry(stride, pre, post, dilation, groups)
        for dtype in (np.float32, np.float16, BF16) if label == "2x2" else (np.float32,):
            x, w = uniform(*shape, dtype=dtype), uniform(*kernel, dtype=dtype)
            plain = deconvolved(x, w, stride, pre, post, dilation, groups)
            yield case("deconvolution", [x, w, None], plain.astype(dtype), label=label, slack=20, **attrs)


def _windows(x: np.ndarray, window: Any, stride: Any, up: bool) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    counts = []
    for size, w, s in zip(x.shape[2:], window, stride, strict=True):
        counts.append(-(-(size - w) // s) + 1 if up else (size - w) // s + 1)
    for place in itertools.product(*map(range, counts)):
        part = tuple(slice(p * s, p * s + w) for p, s, w in zip(place, stride, window, strict=True))
        yield place, x[(slice(None), slice(None), *part)]


def pooled(
    x: np.ndarray,
    kind: str,
    window: Any,
    stride: Any,
    pre: Any,
    post: Any,
    *,
    excludes: bool = True,
    up: bool = False,
) -> np.ndarray:
    """Pooling by its definition."""
    axes = tuple(range(2, x.ndim))
    padded = _pad(x.astype(np.float64), pre, post, -np.inf if kind == "kMAX" else 0)
    inside = _pad(np.ones(x.shape), pre, post, 0)
    found = {}
    for (place, part), (_, mask) in zip(
        _windows(padded, window, stride, up), _windows(inside, window, stride, up), strict=True
    ):
        if kind == "kMAX":
            found[place] = part.max(axes)
        else:
            found[place] = part.sum(axes) / (mask.sum(axes) if excludes else mask[0, 0].size)
    shape = [1 + max(place[n] for place in found) for n in range(len(window))]
    out = np.zeros((*x.shape[:2], *shape))
    for place, value in found.items():
        out[(slice(None), slice(None), *place)] = value
    return out


def _pools() -> Iterator[Case]:
    for label, shape, window, stride, pre, post in (
        ("2x2", (1, 3, 6, 6), (2, 2), (2, 2), (0, 0), (0, 0)),
        ("padded", (2, 2, 5, 7), (3, 3), (2, 1), (1, 1), (0, 1)),
        ("3d", (1, 2, 4, 4, 5), (2, 3, 2), (1, 2, 2), (0, 1, 0), (1, 1, 0)),
        ("global", (1, 3, 4, 5), (4, 5), (1, 1), (0, 0), (0, 0)),
    ):
        attrs = {
            "windowSize": list(window),
            "stride": list(stride),
            "prePadding": list(pre),
            "postPadding": list(post),
        }
        for dtype in (np.float32, np.float16, BF16):
            x = uniform(*shape, dtype=dtype)
            expected = pooled(x, "kMAX", window, stride, pre, post)
            yield case("pooling", [x], expected.astype(dtype), poolingType="kMAX", label=label, **attrs)
            for excludes in (True, False):
                expected = pooled(x, "kAVERAGE", window, stride, pre, post, excludes=excludes)
                yield case(
                    "pooling",
                    [x],
                    expected.astype(dtype),
                    poolingType="kAVERAGE",
                    slack=4,
                    averageCountExcludesPadding=excludes,
                    label=f"{label}{'' if excludes else '-counted'}",
                    **attrs,
                )
    x = uniform(1, 2, 4, 4)
    attrs = {"windowSize": [2, 2], "stride": [2, 2], "prePadding": [0, 0], "postPadding": [0, 0]}
    blend = 0.75 * pooled(x, "kMAX", (2, 2), (2, 2), (0, 0), (0, 0)) + 0.25 * pooled(
        x, "kAVERAGE", (2, 2), (2, 2), (0, 0), (0, 0)
    )
    yield case(
        "pooling",
        [x],
        blend.astype(np.float32),
        poolingType="kMAX_AVERAGE_BLEND",
        blendFactor=0.25,
        slack=4,
        **attrs,
    )
    x = uniform(1, 2, 5, 5)
    expected = pooled(x, "kMAX", (2, 2), (2, 2), (0, 0), (0, 0), up=True)
    yield case(
        "pooling",
        [x],
        expected.astype(np.float32),
        poolingType="kMAX",
        paddingMode="kEXPLICIT_ROUND_UP",
        label="round-up",
        **attrs,
    )
    y = integers(1, 2, 4, 4, dtype=np.int8)
    yield case(
        "pooling",
        [y],
        pooled(y, "kMAX", (2, 2), (2, 2), (0, 0), (0, 0)).astype(np.int8),
        poolingType="kMAX",
        **attrs,
    )
    for dtype in (np.float32, np.float16, np.int8, np.int32):
        z = integers(1, 2, 3, 4, dtype=dtype)
        expected = np.pad(z, ((0, 0), (0, 0), (1, 2), (0, 1)))
        yield case("padding", [z], expected, prePadding=[1, 0], postPadding=[2, 1])
        yield case(
            "padding", [z], expected[:, :, 1:, 1:-1], prePadding=[0, -1], postPadding=[2, 0], label="trims"
        )


def _positions(size: int, out: int, scale: float, kind: str, upper: bool) -> np.ndarray:
    n = np.arange(out, dtype=np.float64)
    if kind == "kALIGN_CORNERS":
        return n * (size - 1) / (out - 1) if out > 1 else n * 0
    if kind == "kASYMMETRIC":
        return n / scale
    return n * 0 if out == 1 and upper else (n + 0.5) / scale - 0.5


def _axis_weights(
    size: int, out: int, scale: float, mode: str, kind: str, upper: bool, rounding: str, coefficient: float
) -> np.ndarray:
    """The matrix that takes one axis of the input to one of the output."""
    matrix = np.zeros((out, size))
    for row, x in enumerate(_positions(size, out, scale, kind, upper)):
        if mode == "nearest":
            rounded = {
                "kFLOOR": np.floor(x),
                "kCEIL": np.ceil(x),
                "kHALF_UP": np.floor(x + 0.5),
                "kHALF_DOWN": np.ceil(x - 0.5),
            }
            matrix[row, int(np.clip(rounded[rounding], 0, size - 1))] = 1
            continue
        reach = 1 if mode == "linear" else 2
        x = np.clip(x, 0, size - 1) if mode == "linear" else x
        base = int(np.floor(x))
        for n in range(base - reach + 1, base + reach + 1):
            d = abs(x - n)
            if mode == "linear":
                weight = max(0.0, 1 - d)
            elif d <= 1:
                weight = (coefficient + 2) * d**3 - (coefficient + 3) * d**2 + 1
            else:
                weight = coefficient * (d**3 - 5 * d**2 + 8 * d - 4)
            matrix[row, int(np.clip(n, 0, size - 1))] += weight
    return matrix


def resized(
    x: np.ndarray,
    scales: Any,
    sizes: Any,
    mode: str,
    kind: str,
    *,
    upper: bool = False,
    rounding: str = "",
    coefficient: float = -0.75,
) -> np.ndarray:
    """Resizing, axis by axis."""
    out = x.astype(np.float64)
    for axis, (scale, size) in enumerate(zip(scales, sizes, strict=True)):
        matrix = _axis_weights(x.shape[axis], size, scale, mode, kind, upper, rounding, coefficient)
        out = np.moveaxis(np.tensordot(matrix, out, (1, axis)), 0, axis)
    return out


def _resizes() -> Iterator[Case]:
    coordinates = ("kALIGN_CORNERS", "kASYMMETRIC", "kHALF_PIXEL")
    x = uniform(1, 2, 4, 5)
    for kind, size in itertools.product(coordinates, ((8, 10), (6, 3), (1, 7))):
        sizes = (1, 2, *size)
        scales = [b / a for a, b in zip(x.shape, sizes, strict=True)]
        shape = np.array(sizes, np.int32)
        common = {
            "coordinateTransformation": kind,
            "selectorForSinglePixel": "kUPPER" if size[0] == 1 else "kFORMULA",
        }
        label = f"{kind}-{size}".replace(" ", "")
        for rounding in ("kHALF_UP", "kHALF_DOWN", "kFLOOR", "kCEIL"):
            expected = resized(x, scales, sizes, "nearest", kind, upper=size[0] == 1, rounding=rounding)
            yield case(
                "resize_nearest",
                [x, shape],
                expected.astype(np.float32),
                fixed=(1,),
                nearestRounding=rounding,
                label=f"{label}-{rounding}",
                **common,
            )
        expected = resized(x, scales, sizes, "linear", kind, upper=size[0] == 1)
        yield case(
            "resize_linear", [x, shape], expected.astype(np.float32), fixed=(1,), label=label, slack=8, **common
        )
        expected = resized(x, scales, sizes, "cubic", kind, upper=size[0] == 1)
        yield case(
            "resize_cubic",
            [x, shape],
            expected.astype(np.float32),
            fixed=(1,),
            cubicCoeff=-0.75,
            label=label,
            slack=30,
            **common,
        )
    common = {
        "coordinateTransformation": "kASYMMETRIC",
        "selectorForSinglePixel": "kFORMULA",
        "scales": [1.0, 1.0, 2.0, 1.5],
    }
    for dtype in (np.float32, np.float16, BF16):
        y = x.astype(dtype)
        expected = resized(y, common["scales"], (1, 2, 8, 7), "linear", "kASYMMETRIC")
        yield case("resize_linear", [y], expected.astype(dtype), label="scales", slack=8, **common)
        expected = resized(y, common["scales"], (1, 2, 8, 7), "nearest", "kASYMMETRIC", rounding="kFLOOR")
        yield case(
            "resize_nearest", [y], expected.astype(dtype), nearestRounding="kFLOOR", label="scales", **common
        )
    z = integers(1, 2, 3, 3, dtype=np.int8)
    common["scales"] = [1.0, 1.0, 2.0, 2.0]
    expected = z.repeat(2, 2).repeat(2, 3)
    yield case("resize_nearest", [z], expected, nearestRounding="kFLOOR", label="scales", **common)


CASES = [*_convolutions(), *_pools(), *_resizes()]
