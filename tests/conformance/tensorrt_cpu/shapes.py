"""shuffle, transpose, reshape and their like, shape, constant, fills, slices, broadcast, concatenation."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .cases import Case, case, integers, uniform

BF16 = ml_dtypes.bfloat16
I64 = np.int64


def _shuffles() -> list[Case]:
    x = uniform(2, 3, 4)
    found = []

    def shuffle(expected: np.ndarray, first: list[int], second: list[int], **attrs: Any) -> None:
        found.append(case("shuffle", [x], expected, first_transpose=first, second_transpose=second, **attrs))

    same = [0, 1, 2]
    shuffle(x, same, same, label="nothing")
    shuffle(x.transpose(2, 0, 1), [2, 0, 1], same, label="first")
    shuffle(x.reshape(6, 4), same, [0, 1], reshape=[6, 4], label="reshape")
    shuffle(x.reshape(-1, 4).T, same, [1, 0], reshape=[-1, 4], label="second")
    moved = x.transpose(1, 0, 2).reshape(3, 8).T
    shuffle(moved, [1, 0, 2], [1, 0], reshape=[0, 8], label="all-three")
    shuffle(x.reshape(2, 1, 12), same, [0, 1, 2], reshape=[0, 1, -1], label="placeholder")
    empty = np.zeros((0, 3), np.float32)
    found.append(
        case(
            "shuffle",
            [empty],
            empty.reshape(3, 0),
            first_transpose=[0, 1],
            reshape=[3, 0],
            second_transpose=[0, 1],
            zero_is_placeholder=False,
            label="empty",
        )
    )
    for dtype in (np.int32, I64):
        found.append(
            case(
                "shuffle",
                [x, np.array([4, 6], dtype)],
                x.reshape(4, 6).T,
                first_transpose=same,
                second_transpose=[1, 0],
                label=f"dynamic-{np.dtype(dtype).name}",
            )
        )
    return found


def _views() -> list[Case]:
    x = uniform(2, 3)
    column = x[:, None, :, None]
    found = [
        case("transpose", [x], x.T, permutation="mlir:affine_map<(d0, d1) -> (d1, d0)>"),
        case("expand_rank", [x], x.reshape(1, 2, 1, 3), dynamic=False),
        case("expand_rank", [x], x.reshape(1, 2, 3), dynamic=False, label="front"),
        case("expand_rank", [np.float32(3)], np.full((1, 1), 3, np.float32), dynamic=False, label="rank0"),
        case("collapse_rank", [x.reshape(1, 2, 1, 3)], x, dynamic=False),
        case("collapse_rank", [np.ones((1, 1, 4), np.float32)], np.ones((1, 4), np.float32), dynamic=False),
        case("reshape", [x], x.reshape(6), dynamic=False),
        case("reshape", [x, np.array([3, 2], np.int32)], x.reshape(3, 2), label="shape"),
        case("squeeze", [column], x, axes=[1, -1]),
        case("unsqueeze", [x], column, axes=[1, -1]),
        case("shape", [x], np.array([2, 3], np.int32)),
        case("shape", [x], np.array([2, 3], I64)),
        case("shape", [np.zeros((0, 5), np.float32)], np.array([0, 5], np.int32), label="empty"),
        case("shape", [np.float32(1)], np.zeros((0,), np.int32), label="rank0"),
    ]
    for dtype in (np.float16, BF16, np.int8, np.int32, I64, np.bool_):
        y = integers(2, 3, dtype=dtype)
        found.append(case("transpose", [y], y.T, permutation="mlir:affine_map<(d0, d1) -> (d1, d0)>"))
        found.append(case("squeeze", [y[None]], y, axes=[0]))
    return found


def _index(x: np.ndarray, axis: int, index: np.ndarray, mode: str) -> np.ndarray:
    """x at `index` along an axis, with a rule for what is outside."""
    length = x.shape[axis]
    if mode == "kCLAMP":
        index = np.clip(index, 0, length - 1)
    elif mode == "kWRAP":
        index = index % length
    elif mode == "kREFLECT":
        period = max(2 * (length - 1), 1)
        index = index % period
        index = np.minimum(index, period - index)
    elif mode == "kFILL":
        index = np.clip(index, 0, length - 1)
    return np.take(x, index, axis)


def sliced(
    x: np.ndarray, start: Any, size: Any, stride: Any, mode: str = "kDEFAULT", fill: Any = 0
) -> np.ndarray:
    """What tensorrt.slice gives."""
    out, inside = x, np.ones(tuple(size), bool)
    for axis, (first, count, step) in enumerate(zip(start, size, stride, strict=True)):
        index = first + np.arange(count) * step
        good = (index >= 0) & (index < x.shape[axis])
        inside &= good.reshape([-1 if n == axis else 1 for n in range(x.ndim)])
        out = _index(out, axis, index, mode)
    return np.where(inside, out, np.asarray(fill, x.dtype)) if mode == "kFILL" else out


# start, size, stride
_PLAIN = (
    ([0, 0], [4, 5], [1, 1]),
    ([1, 2], [2, 3], [1, 1]),
    ([0, 4], [2, 3], [2, -2]),
    ([3, 4], [4, 5], [-1, -1]),
    ([1, 0], [0, 5], [1, 1]),
    ([2, 0], [3, 5], [0, 1]),
)
_BEYOND = (
    ([-2, 1], [7, 6], [1, 1]),
    ([-1, 6], [3, 4], [2, -3]),
    ([0, -4], [4, 12], [1, 1]),
    ([1, 1], [2, 2], [1, 1]),
)


def _slices() -> list[Case]:
    found = []
    x = uniform(4, 5)
    for start, size, stride in _PLAIN:
        expected = sliced(x, start, size, stride)
        label = f"{start}{size}{stride}".replace(" ", "")
        static = {"static_start": start, "static_size": size, "static_stride": stride}
        found.append(case("slice", [x], expected, label=label, **static))
        for dtype in (np.int32, I64):
            tensors = [np.array(v, dtype) for v in (start, size, stride)]
            found.append(
                case("slice", [x, None, *tensors], expected, label=f"tensors{label}{np.dtype(dtype).name}")
            )
        del static["static_start"]
        inputs = [x, None, np.array(start, np.int32), None, None]
        found.append(case("slice", inputs, expected, label=f"start{label}", **static))
    for mode in ("kFILL", "kCLAMP", "kWRAP", "kREFLECT"):
        for start, size, stride in _BEYOND:
            label = f"{start}{size}{stride}".replace(" ", "")
            static = {"static_start": start, "static_size": size, "static_stride": stride}
            expected = sliced(x, start, size, stride, mode)
            found.append(case("slice", [x], expected, mode=mode, label=label, **static))
            inputs = [x, None, *(np.array(v, np.int32) for v in (start, size, stride))]
            found.append(case("slice", inputs, expected, mode=mode, label=f"tensors{label}"))
            if mode == "kFILL":
                filled = sliced(x, start, size, stride, mode, 1.5)
                inputs = [x, np.float32(1.5), None, None, None]
                found.append(case("slice", inputs, filled, mode=mode, label=f"value{label}", **static))
    for dtype in (np.float16, BF16, np.int8, np.int32, I64, np.bool_):
        y = integers(4, 5, dtype=dtype)
        static = {"static_start": [1, 1], "static_size": [2, 2], "static_stride": [2, 1]}
        found.append(case("slice", [y], sliced(y, [1, 1], [2, 2], [2, 1]), **static))
        static["static_size"] = [4, 2]
        found.append(case("slice", [y], sliced(y, [1, 1], [4, 2], [2, 1], "kFILL"), mode="kFILL", **static))
    return found


def _joins() -> list[Case]:
    found = []
    x = uniform(3)
    found.append(case("broadcast", [x], np.broadcast_to(x, (2, 3)), broadcast_dims=[1], dynamic=False))
    found.append(case("broadcast", [x], np.broadcast_to(x[:, None], (3, 2)), broadcast_dims=[0], dynamic=False))
    y = uniform(1, 3)
    permuted = np.broadcast_to(y.T[:, None, :], (3, 2, 4))
    found.append(case("broadcast", [y], permuted, broadcast_dims=[2, 0], dynamic=False, label="permuted"))
    shape = np.array([2, 4, 3], np.int32)
    found.append(
        case("broadcast", [y, shape], np.broadcast_to(y[None], (2, 4, 3)), broadcast_dims=[1, 2], label="shape")
    )
    found.append(
        case("broadcast", [np.float32(2)], np.full((2, 2), 2, np.float32), broadcast_dims=[], dynamic=False)
    )
    for dtype in (np.float32, np.float16, BF16, np.int8, np.int32, I64, np.bool_):
        parts = [integers(2, n, dtype=dtype) for n in (1, 3, 0)]
        found.append(case("concatenation", [parts], np.concatenate(parts, 1), axis=1))
    found.append(case("concatenation", [[x]], x, axis=0, label="one"))
    z = uniform(4, 3, 2)
    for dtype in (np.int32, I64):
        lengths = np.array([1, 4, 3], dtype)
        expected = z.copy()
        for n, length in enumerate(lengths):
            expected[:length, n] = z[:length, n][::-1]
        found.append(case("reverse_sequence", [z, lengths], expected, label=np.dtype(dtype).name))
    lengths = np.array([2, 1, 2, 0], I64)
    expected = z.copy()
    for n, length in enumerate(lengths):
        expected[n, :, :length] = z[n, :, :length][:, ::-1]
    found.append(
        case("reverse_sequence", [z, lengths], expected, batchAxis=0, sequenceAxis=2, label="other-axes")
    )
    return found


def _fills() -> list[Case]:
    found = []
    for dtype, start, step in ((np.float32, 0.5, 0.25), (np.int32, 3, -2), (I64, -1, 4)):
        kind = {"float32": "f32"}.get(np.dtype(dtype).name, np.dtype(dtype).name.replace("int", "i"))
        expected = np.arange(6, dtype=dtype) * dtype(step) + dtype(start)
        static = {"static_start": float(start), "static_step": float(step)}
        found.append(case("linspace", [], expected, label=kind, dynamic=False, **static))
        inputs = [np.array([6], np.int32), dtype(start), np.array([step], dtype)]
        found.append(case("linspace", inputs, expected, label=f"tensors-{kind}"))
    grid = 1.0 + np.arange(2)[:, None] * 10.0 + np.arange(3)[None] * 0.5
    inputs = [np.array([2, 3], np.int32), np.float32(1), np.array([10, 0.5], np.float32)]
    found.append(case("linspace", inputs, grid.astype(np.float32), label="rank2"))
    indices = np.array([[0, 2], [3, -1]], np.int32)
    for dtype in (np.float32, np.float16, BF16, np.int8, np.int32, I64, np.bool_):
        values = np.array([0, 1], dtype) if dtype is np.bool_ else np.array([2, 5], dtype)
        hit = indices[..., None] == np.arange(4)
        found.append(
            case("one_hot", [indices, values, np.int32(4)], np.where(hit, values[1], values[0]), axis=-1)
        )
    values = np.array([0, 1], np.float32)
    for axis in (0, 1, -3):
        hit = np.moveaxis(indices[..., None] == np.arange(4), -1, axis)
        label = f"axis{axis}"
        found.append(
            case("one_hot", [indices, values, np.int32(4)], hit.astype(np.float32), axis=axis, label=label)
        )
    return found


CASES = [*_shuffles(), *_views(), *_slices(), *_joins(), *_fills()]
