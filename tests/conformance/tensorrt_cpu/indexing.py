"""Gathers, scatters, quantization, grid sampling and non-maximum suppression."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from .cases import Case, case, integers, uniform

BF16 = ml_dtypes.bfloat16
F8 = ml_dtypes.float8_e4m3fn
I64 = np.int64


def _gathers() -> Iterator[Case]:
    for dtype in (np.float32, np.float16, BF16, np.int8, np.int32, I64, np.bool_):
        x = integers(3, 4, 5, dtype=dtype)
        for kind in (np.int32, I64):
            where = np.array([[2, 0], [1, -1]], kind)
            for axis in (0, 1, 2):
                label = f"axis{axis}{np.dtype(kind).name}"
                yield case("gather", [x, where], np.take(x, where, axis), axis=axis, label=label)
        yield case("gather", [x, np.int32(1)], x[:, 1], axis=1, label="rank0")
        index = integers(3, 2, 5, low=0, high=4, dtype=np.int32)
        yield case("gather_elements", [x, index], np.take_along_axis(x, index.astype(I64), 1), axis=1)
        points = np.array([[2, 0], [1, -1]], np.int32)
        yield case("gather_nd", [x, points], x[points[:, 0], points[:, 1]])
        yield case("gather_nd", [x, points[:, :1][None]], x[points[:, 0]][None], label="rank3")
        update = integers(2, 5, dtype=dtype)
        expected = x.copy()
        expected[points[:, 0], points[:, 1]] = update
        yield case("scatter_nd", [x, points, update], expected)
        index = np.array([[[3], [0]]], I64)
        one = integers(1, 2, 1, dtype=dtype)
        expected = x.copy()
        np.put_along_axis(expected[:1, :, :1], index, one, 1)
        yield case("scatter_elements", [x, index, one], expected, axis=1)
    for axis in (1, 2, 3):
        x = uniform(2, 3, 4, 5)
        where = integers(2, 6, low=0, high=3, dtype=np.int32)
        expected = np.stack([np.take(x[b], where[b], axis - 1) for b in range(2)])
        yield case("gather", [x, where], expected, axis=axis, numBroadcastDims=1, label=f"batch-axis{axis}")


def _rounded(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(x.astype(np.float32) / scale.astype(np.float32)), -128, 127).astype(np.int8)


def _quantizers() -> Iterator[Case]:
    x = np.array([[0.5, 1.5, 2.5, -0.5], [1000.0, -1000.0, 0.24, 3.0]], np.float32)
    one, per_channel = np.float32(1.0), np.array([1, 0.5, 2, 4], np.float32)
    yield case("quantize", [x, one], _rounded(x, one), label="tensor")
    yield case("quantize", [x, per_channel], _rounded(x, per_channel), axis=1, label="channel")
    for dtype in (np.float16, BF16):
        yield case("quantize", [x.astype(dtype), one.astype(dtype)], _rounded(x, one), label="tensor")
    y = integers(2, 4, low=-128, high=128, dtype=np.int8)
    for dtype in (np.float32, np.float16, BF16):
        expected = (y.astype(np.float32) * per_channel).astype(dtype)
        yield case(
            "dequantize",
            [y, per_channel.astype(dtype)],
            expected,
            axis=1,
            label=f"channel-{np.dtype(dtype).name}",
        )
        expected = (y.astype(np.float32) * 0.5).astype(dtype)
        yield case("dequantize", [y, np.asarray(0.5, dtype)], expected, label=f"tensor-{np.dtype(dtype).name}")
    row = np.array([0.5, 2], np.float32)
    yield case("dequantize", [y, row], y * row[:, None], axis=0, label="axis0")
    f8 = np.array([[1.06, -300, 448, 0.001]], np.float32)
    yield case("quantize", [f8, one], f8.astype(F8), label="f8")
    yield case("dequantize", [f8.astype(F8), np.float32(2)], f8.astype(F8).astype(np.float32) * 2, label="f8")
    blocked = integers(4, 4, low=-8, high=8, dtype=np.float32)
    scales = np.array([[1, 2, 1, 0.5], [2, 1, 4, 1]], np.float32)
    small = np.clip(np.rint(blocked / scales.repeat(2, 0)), -8, 7).astype(ml_dtypes.int4)
    yield case("quantize", [blocked, scales], small, label="i4-blocks", dynamic=False)
    yield case(
        "dequantize",
        [small, scales],
        small.astype(np.float32) * scales.repeat(2, 0),
        label="i4-blocks",
        dynamic=False,
    )
    across = np.array([[1, 2], [0.5, 1], [1, 1], [2, 4]], np.float32)
    yield case(
        "dequantize",
        [small, across],
        small.astype(np.float32) * across.repeat(2, 1),
        label="i4-last",
        dynamic=False,
    )


def _sample(image: np.ndarray, grid: np.ndarray, mode: str, align: bool) -> np.ndarray:
    """Linear or nearest sampling of N x C x H x W with zeros outside."""
    n, c, h, w = image.shape
    out = np.zeros((n, c, *grid.shape[1:3]))
    for b in range(n):
        for i, j in np.ndindex(*grid.shape[1:3]):
            sizes = np.array([w, h])
            g = grid[b, i, j].astype(np.float64)
            x, y = (g + 1) / 2 * (sizes - 1) if align else ((g + 1) * sizes - 1) / 2
            if mode == "kNEAREST":
                corners = [(int(np.rint(y)), int(np.rint(x)), 1.0)]
            else:
                y0, x0 = int(np.floor(y)), int(np.floor(x))
                corners = [
                    (y0 + p, x0 + q, (1 - abs(y - y0 - p)) * (1 - abs(x - x0 - q)))
                    for p in (0, 1)
                    for q in (0, 1)
                ]
            for yy, xx, weight in corners:
                if 0 <= yy < h and 0 <= xx < w:
                    out[b, :, i, j] += weight * image[b, :, yy, xx]
    return out


def _vision() -> Iterator[Case]:
    image, grid = uniform(2, 3, 5, 4), uniform(2, 3, 6, 2, low=-1.3, high=1.3)
    for mode in ("kLINEAR", "kNEAREST"):
        for align in (False, True):
            expected = _sample(image, grid, mode, align).astype(np.float32)
            attrs = {"interpolationMode": mode, "alignCorners": align, "sampleMode": "kFILL"}
            yield case("grid_sample", [image, grid], expected, slack=20, label=f"align{align}", **attrs)
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 0, 1, 1]]], np.float32)
    scores = np.array([[[0.9], [0.75], [0.6], [0.2]]], np.float32)
    inputs = [boxes, scores, np.int32(3), np.float32(0.5), np.float32(0.3)]
    chosen = np.array([[0, 0, 0], [0, 0, 2]], np.int32)
    yield case("nms", inputs, (chosen, np.int32(2)))
    yield case("nms", inputs, (chosen.astype(I64), np.int32(2)), label="i64")
    centers = np.concatenate([(boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]], -1)
    yield case("nms", [centers, *inputs[1:]], (chosen, np.int32(2)), boundingBoxFormat="kCENTER_SIZES")
    yield case("nms", [boxes[:, :, None], *inputs[1:]], (chosen, np.int32(2)), label="rank4", dynamic=False)


CASES = [*_gathers(), *_quantizers(), *_vision()]
