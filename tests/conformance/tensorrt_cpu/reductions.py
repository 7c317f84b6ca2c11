"""reduce, top_k, argmin, argmax, non_zero, cumulative, softmax, normalizations, and matrix products."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from .cases import Case, case, integers, uniform

BF16 = ml_dtypes.bfloat16
I64 = np.int64
FLOATS = (np.float32, np.float16, BF16)
_REDUCE = {"kSUM": np.sum, "kPROD": np.prod, "kMAX": np.max, "kMIN": np.min, "kAVG": np.mean}


def _reduce() -> list[Case]:
    found = []
    x = uniform(2, 3, 4, 2)
    for kind, reference in _REDUCE.items():
        for axes in ([0], [1, 3], [2, 3], [0, 1, 2, 3]):
            for keep in (False, True):
                expected = reference(x, axis=tuple(axes), keepdims=keep).astype(np.float32)
                label = f"{axes}{'keep' if keep else ''}".replace(" ", "")
                attrs = {"reduceOperation": kind, "reduceAxes": axes, "keepDimensions": keep}
                found.append(case("reduce", [x], expected, label=label, slack=10, **attrs))
        for dtype in (np.float16, BF16, np.int32, I64, np.int8):
            y = integers(2, 4, low=-3, high=4, dtype=dtype)
            exact = reference(y.astype(np.float64), axis=1)
            attrs = {"reduceOperation": kind, "reduceAxes": [1]}
            found.append(
                case(
                    "reduce",
                    [y],
                    np.trunc(exact).astype(dtype) if y.dtype.kind == "i" else exact.astype(dtype),
                    **attrs,
                )
            )
    empty = np.zeros((2, 0), np.float32)
    for kind, value in (("kSUM", 0), ("kPROD", 1)):
        expected = np.full(2, value, np.float32)
        found.append(case("reduce", [empty], expected, reduceOperation=kind, reduceAxes=[1], label="empty"))
    odd = np.array([[1, np.inf, -np.inf, 2], [np.inf, 1, 2, 3]], np.float32)
    with np.errstate(all="ignore"):
        found.append(
            case("reduce", [odd], odd.sum(1), reduceOperation="kSUM", reduceAxes=[1], label="infinities")
        )
    return found


def _top(x: np.ndarray, k: int, axis: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Ties: the lower index first."""
    keys = x.astype(np.float64)
    order = np.argsort(-keys if largest else keys, axis=axis, kind="stable")
    picked = np.take(order, range(k), axis=axis)
    return np.take_along_axis(x, picked, axis), picked.astype(np.int32)


def _sorting() -> list[Case]:
    found = []
    for dtype in (*FLOATS, np.int32, I64):
        x = integers(3, 6, low=-3, high=4, dtype=dtype)
        for largest, kind in ((True, "kMAX"), (False, "kMIN")):
            attrs = {"topkOperation": kind, "axis": 1}
            found.append(case("top_k", [x], _top(x, 3, 1, largest), k=3, **attrs))
            found.append(case("top_k", [x, np.int32(2)], _top(x, 2, 1, largest), label="dynamic", **attrs))
        found.append(case("argmax", [x], _top(x, 1, 0, True), axis=0))
        found.append(case("argmin", [x], _top(x, 1, 1, False), axis=1))
    values, indices = _top(x, 3, 0, True)
    found.append(
        case("top_k", [x], (values, indices.astype(I64)), k=3, axis=0, topkOperation="kMAX", label="i64")
    )
    for dtype in (*FLOATS, np.int8, np.int32, I64, np.bool_):
        x = integers(3, 4, low=0, high=2, dtype=dtype)
        found.append(case("non_zero", [x], np.array(np.nonzero(x), np.int32)))
    empty = np.zeros((2, 2), np.float32)
    found.append(case("non_zero", [empty], np.zeros((2, 0), I64), label="none"))
    for dtype in (*FLOATS, np.int32, I64):
        x = integers(3, 4, low=-3, high=4, dtype=dtype)
        sums = np.cumsum(x.astype(np.float64), 1)
        shifted = np.concatenate([np.zeros((3, 1)), sums[:, :-1]], 1)
        backwards = np.cumsum(x.astype(np.float64)[:, ::-1], 1)[:, ::-1]
        attrs = {"cumulativeOperation": "kSUM", "axis": 1}
        found.append(case("cumulative", [x], sums.astype(dtype), **attrs))
        found.append(case("cumulative", [x], shifted.astype(dtype), exclusive=True, label="exclusive", **attrs))
        found.append(case("cumulative", [x], backwards.astype(dtype), reverse=True, label="reverse", **attrs))
    return found


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    wide = x.astype(np.float64)
    shifted = np.exp(wide - wide.max(axis, keepdims=True))
    return shifted / shifted.sum(axis, keepdims=True)


def _normalized(x: np.ndarray, axes: tuple[int, ...], eps: float) -> np.ndarray:
    wide = x.astype(np.float64)
    return (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + eps)


def _softmaxes() -> list[Case]:
    found = []
    for dtype in FLOATS:
        x = uniform(2, 3, 4, dtype=dtype)
        for axis in (0, 1, 2):
            found.append(
                case("softmax", [x], softmax(x, axis).astype(dtype), axis=axis, slack=2, label=f"axis{axis}")
            )
    big = np.array([[1000.0, 1000.0, -1000.0]], np.float32)
    found.append(case("softmax", [big], np.array([[0.5, 0.5, 0]], np.float32), axis=1, label="large"))
    for dtype in (np.float32, np.float16):
        x = uniform(1, 3, 5, dtype=dtype)
        bounds = np.array([[[5], [2], [0]]], np.int32)
        expected = np.zeros(x.shape)
        for row, bound in enumerate(bounds[0, :, 0]):
            if bound:
                expected[0, row, :bound] = softmax(x[0, row, :bound], 0)
        found.append(case("ragged_softmax", [x, bounds], expected.astype(dtype), slack=2))
    for inner in ((3, 3), (4,), (2, 3, 2)):
        x = uniform(2, 7, *inner)
        padded = np.pad(x.astype(np.float64) ** 2, ((0, 0), (1, 1), *((0, 0) for _ in inner)))
        sums = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
        expected = (x / (1.5 + 0.3 / 3 * sums) ** 0.75).astype(np.float32)
        attrs = {"windowSize": 3, "alpha": 0.3, "beta": 0.75, "k": 1.5}
        found.append(case("lrn", [x], expected, slack=3, label=f"{len(inner)}d", **attrs))
    return found


def _normalizations() -> list[Case]:
    found = []

    def normalization(
        label: str, dtype: type, shape: list[int], factors: list[int], axes: list[int], **attrs: int | float
    ) -> None:
        x, scale, bias = (
            uniform(*shape, dtype=dtype),
            uniform(*factors, dtype=dtype),
            uniform(*factors, dtype=dtype),
        )
        wide = _normalized(x, tuple(axes), attrs.get("eps", 1e-5))
        expected = wide * scale.astype(np.float64) + bias.astype(np.float64)
        found.append(
            case(
                "normalization",
                [x, scale, bias],
                expected.astype(dtype),
                axis=axes,
                label=label,
                slack=8,
                **attrs,
            )
        )

    for dtype in FLOATS:
        normalization("layer", dtype, [2, 3, 8], [1, 1, 8], [2])
        normalization("instance", dtype, [2, 3, 4, 4], [1, 3, 1, 1], [2, 3])
    normalization("two-axes", np.float32, [2, 3, 8], [1, 3, 8], [1, 2], eps=0.1)
    normalization("scalars", np.float32, [2, 3, 8], [1, 1, 1], [2], eps=0.1)
    normalization("batch", np.float32, [4, 3, 2, 2], [1, 3, 1, 1], [0])
    normalization("middle", np.float32, [2, 5, 3], [1, 5, 1], [1], eps=0.01)
    x = uniform(2, 6, 3, 3)
    grouped = _normalized(x.reshape(2, 3, 2, 3, 3), (2, 3, 4), 1e-5).reshape(x.shape)
    scale, bias = uniform(1, 6, 1, 1), uniform(1, 6, 1, 1)
    attrs = {"axis": [2, 3], "num_groups": 3}
    found.append(
        case(
            "normalization",
            [x, scale, bias],
            (grouped * scale + bias).astype(np.float32),
            label="group",
            slack=8,
            **attrs,
        )
    )
    scale, bias = uniform(1, 3, 1, 1), uniform(1, 3, 1, 1)
    expected = grouped * np.repeat(scale, 2, 1) + np.repeat(bias, 2, 1)
    found.append(
        case(
            "normalization",
            [x, scale, bias],
            expected.astype(np.float32),
            label="per-group",
            slack=8,
            dynamic=False,
            **attrs,
        )
    )
    return found


def _products() -> list[Case]:
    found = []
    none, turned, vector = "kNONE", "kTRANSPOSE", "kVECTOR"
    for dtype in FLOATS:
        for label, one, two, op0, op1, equation in (
            ("2d", (3, 4), (4, 5), none, none, "mk,kn->mn"),
            ("2d-bt", (3, 4), (5, 4), none, turned, "mk,nk->mn"),
            ("2d-at", (4, 3), (4, 5), turned, none, "km,kn->mn"),
            ("3d", (2, 3, 4), (2, 4, 5), none, none, "bmk,bkn->bmn"),
            ("3d-shared", (2, 3, 4), (1, 4, 5), none, none, "bmk,ckn->bmn"),
            ("3d-shared-bt", (2, 3, 4), (1, 5, 4), none, turned, "bmk,cnk->bmn"),
            ("4d-at", (1, 2, 4, 3), (2, 1, 4, 5), turned, none, "abkm,cdkn->cbmn"),
            ("vector-right", (2, 3, 4), (2, 4), none, vector, "bmk,bk->bm"),
            ("vector-left", (4,), (4, 5), vector, none, "k,kn->n"),
            ("dot", (4,), (4,), vector, vector, "k,k->"),
        ):
            a, b = uniform(*one, dtype=dtype), uniform(*two, dtype=dtype)
            expected = np.einsum(equation, a.astype(np.float64), b.astype(np.float64)).astype(dtype)
            found.append(case("matrix_multiply", [a, b], expected, op0=op0, op1=op1, label=label, slack=8))
        a, b = uniform(2, 3, 4, dtype=dtype), uniform(2, 4, 5, dtype=dtype)
        expected = np.einsum("bij,bjk->bik", a.astype(np.float64), b.astype(np.float64)).astype(dtype)
        found.append(case("einsum", [[a, b]], expected, equation="bij,bjk->bik", slack=8))
    a = uniform(3, 4)
    found.append(case("einsum", [[a]], a.T, equation="ij -> ji", label="transpose"))
    found.append(case("einsum", [[a]], a.sum(1), equation="ij->i", label="sum", slack=4))
    return found


CASES = [*_reduce(), *_sorting(), *_softmaxes(), *_normalizations(), *_products()]
