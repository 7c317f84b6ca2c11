"""activation, unary, element_wise, select, parametric_relu, scale, cast and identity."""

from __future__ import annotations

from math import erf

import ml_dtypes
import numpy as np

from .cases import EDGES, Case, case, integers, uniform

_ERF = np.vectorize(erf)
BF16 = ml_dtypes.bfloat16


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# activation -> (alpha, beta, reference)
_ACTIVATIONS = {
    "kRELU": (None, None, lambda x: np.maximum(x, 0)),
    "kSIGMOID": (None, None, lambda x: 1 / (1 + np.exp(-x))),
    "kTANH": (None, None, np.tanh),
    "kLEAKY_RELU": (0.1, None, lambda x: np.where(x < 0, 0.1 * x, x)),
    "kELU": (0.7, None, lambda x: np.where(x < 0, 0.7 * np.expm1(np.minimum(x, 0)), x)),
    "kSELU": (1.6, 1.05, lambda x: 1.05 * np.where(x < 0, 1.6 * np.expm1(np.minimum(x, 0)), x)),
    "kSOFTSIGN": (None, None, lambda x: x / (1 + np.abs(x))),
    "kSOFTPLUS": (1.5, 0.5, lambda x: 1.5 * np.log1p(np.exp(0.5 * x))),
    "kCLIP": (-1.0, 1.5, lambda x: np.clip(x, -1.0, 1.5)),
    "kHARD_SIGMOID": (0.2, 0.4, lambda x: np.clip(0.2 * x + 0.4, 0, 1)),
    "kSCALED_TANH": (1.7, 0.6, lambda x: 1.7 * np.tanh(0.6 * x)),
    "kTHRESHOLDED_RELU": (0.8, None, lambda x: np.where(x > 0.8, x, 0)),
    "kGELU_ERF": (None, None, lambda x: 0.5 * x * (1 + _ERF(x / np.sqrt(2)))),
    "kGELU_TANH": (None, None, _gelu_tanh),
}


def _activations() -> list[Case]:
    found = []
    for kind, (alpha, beta, reference) in _ACTIVATIONS.items():
        attrs = {"activationType": kind, "alpha": alpha, "beta": beta}
        for dtype in (np.float32, np.float16, BF16):
            x = uniform(2, 3, 4, dtype=dtype)
            expected = reference(x.astype(np.float64)).astype(dtype)
            found.append(case("activation", [x], expected, slack=3, **attrs))
    for dtype in (np.int8, np.int32, np.int64):
        x = integers(3, 4, dtype=dtype)
        found.append(case("activation", [x], np.maximum(x, 0), activationType="kRELU"))
    huge = np.array([2**53 + 1, -(2**60)], np.int64)
    found.append(case("activation", [huge], np.maximum(huge, 0), activationType="kRELU", label="huge"))
    scalar = np.float32(-1.5)
    found.append(case("activation", [scalar], np.float32(0), activationType="kRELU", label="rank0"))
    empty = np.zeros((0, 3), np.float32)
    found.append(case("activation", [empty], empty, activationType="kSIGMOID", label="empty"))
    return found


# operation -> (reference, low, high)
_UNARY = {
    "kEXP": (np.exp, -3, 3),
    "kLOG": (np.log, 0.1, 5),
    "kSQRT": (np.sqrt, 0, 5),
    "kRECIP": (np.reciprocal, 0.3, 3),
    "kABS": (np.abs, -3, 3),
    "kNEG": (np.negative, -3, 3),
    "kSIN": (np.sin, -3, 3),
    "kCOS": (np.cos, -3, 3),
    "kTAN": (np.tan, -1, 1),
    "kSINH": (np.sinh, -3, 3),
    "kCOSH": (np.cosh, -3, 3),
    "kASIN": (np.arcsin, -1, 1),
    "kACOS": (np.arccos, -1, 1),
    "kATAN": (np.arctan, -3, 3),
    "kASINH": (np.arcsinh, -3, 3),
    "kACOSH": (np.arccosh, 1, 4),
    "kATANH": (np.arctanh, -0.9, 0.9),
    "kCEIL": (np.ceil, -3, 3),
    "kFLOOR": (np.floor, -3, 3),
    "kERF": (_ERF, -3, 3),
    "kSIGN": (np.sign, -3, 3),
    "kROUND": (np.rint, -3, 3),
}


def _unary() -> list[Case]:
    found = []
    for kind, (reference, low, high) in _UNARY.items():
        for dtype in (np.float32, np.float16, BF16):
            x = uniform(2, 5, low=low, high=high, dtype=dtype)
            expected = reference(x.astype(np.float64)).astype(dtype)
            found.append(case("unary", [x], expected, unaryOperation=kind, slack=4))
    for kind, reference in (("kABS", np.abs), ("kNEG", np.negative), ("kSIGN", np.sign)):
        for dtype in (np.int8, np.int32, np.int64):
            x = integers(3, 4, dtype=dtype)
            found.append(case("unary", [x], reference(x), unaryOperation=kind))
    for kind, reference in (("kROUND", np.rint), ("kFLOOR", np.floor), ("kCEIL", np.ceil), ("kABS", np.abs)):
        found.append(case("unary", [EDGES], reference(EDGES), unaryOperation=kind, label="edges"))
    for dtype in (np.float32, np.float16, BF16):
        x = EDGES.astype(dtype)
        wide = x.astype(np.float32)
        found.append(case("unary", [x], np.isinf(wide), unaryOperation="kISINF"))
        found.append(case("unary", [x], np.isnan(wide), unaryOperation="kISNAN"))
    flags = integers(3, 4, low=0, high=2, dtype=np.bool_)
    found.append(case("unary", [flags], ~flags, unaryOperation="kNOT"))
    with np.errstate(all="ignore"):
        found.append(case("unary", [EDGES], np.sqrt(EDGES), unaryOperation="kSQRT", label="edges"))
        found.append(case("unary", [EDGES], np.reciprocal(EDGES), unaryOperation="kRECIP", label="edges"))
    return found


_ARITHMETIC = {
    "kSUM": np.add,
    "kPROD": np.multiply,
    "kMAX": np.maximum,
    "kMIN": np.minimum,
    "kSUB": np.subtract,
}
_SHAPES = (((2, 3, 4), (2, 3, 4)), ((2, 1, 4), (1, 3, 1)), ((1, 1, 4), (2, 3, 4)), ((), ()), ((0, 3), (1, 3)))


def _trunc_div(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return np.trunc(one.astype(np.float64) / two).astype(one.dtype)


def _element_wise() -> list[Case]:
    found = []
    for kind, reference in _ARITHMETIC.items():
        for one, two in _SHAPES:
            a, b = uniform(*one), uniform(*two)
            found.append(
                case("element_wise", [a, b], reference(a, b), elementwiseOperation=kind, label=f"{one}{two}")
            )
        for dtype in (np.float16, BF16, np.int8, np.int32, np.int64):
            a, b = (integers(2, 3, dtype=dtype) for _ in range(2))
            found.append(case("element_wise", [a, b], reference(a, b), elementwiseOperation=kind))
    for dtype in (np.float32, np.float16, BF16):
        a, b = uniform(3, 4, dtype=dtype), uniform(3, 1, low=0.5, high=3, dtype=dtype)
        wide = a.astype(np.float64), b.astype(np.float64)
        found.append(
            case("element_wise", [a, b], (wide[0] / wide[1]).astype(dtype), elementwiseOperation="kDIV")
        )
        floor = np.floor((wide[0] / wide[1]).astype(dtype).astype(np.float64)).astype(dtype)
        found.append(case("element_wise", [a, b], floor, elementwiseOperation="kFLOOR_DIV"))
        base, power = np.abs(a) + dtype(0.1), b
        expected = np.power(base.astype(np.float64), power.astype(np.float64)).astype(dtype)
        found.append(case("element_wise", [base, power], expected, elementwiseOperation="kPOW", slack=4))
    for dtype in (np.int8, np.int32, np.int64):
        a = np.array([7, -7, 7, -7, 6, -6, 0, 1], dtype)
        b = np.array([2, 2, -2, -2, 3, 3, 5, -1], dtype)
        found.append(case("element_wise", [a, b], _trunc_div(a, b), elementwiseOperation="kDIV"))
        found.append(case("element_wise", [a, b], a // b, elementwiseOperation="kFLOOR_DIV"))
    flags = [integers(2, 3, low=0, high=2, dtype=np.bool_) for _ in range(2)]
    for kind, logic in (("kAND", np.logical_and), ("kOR", np.logical_or), ("kXOR", np.logical_xor)):
        found.append(case("element_wise", flags, logic(*flags), elementwiseOperation=kind))
    for kind, relation in (("kEQUAL", np.equal), ("kGREATER", np.greater), ("kLESS", np.less)):
        for dtype in (np.float32, np.float16, BF16, np.int8, np.int32, np.int64):
            a, b = integers(2, 6, low=-2, high=3, dtype=dtype), integers(1, 6, low=-2, high=3, dtype=dtype)
            found.append(case("element_wise", [a, b], relation(a, b), elementwiseOperation=kind))
        edges = EDGES[:, None], EDGES[None, :]
        found.append(case("element_wise", edges, relation(*edges), elementwiseOperation=kind, label="edges"))
    return found


def _select() -> list[Case]:
    found = []
    condition = integers(2, 3, low=0, high=2, dtype=np.bool_)
    for dtype in (np.float32, np.float16, BF16, np.int8, np.int32, np.int64, np.bool_):
        a, b = integers(2, 3, dtype=dtype), integers(1, 3, dtype=dtype)
        found.append(case("select", [condition, a, b], np.where(condition, a, b)))
    a, b = uniform(1, 1), uniform(1, 3)
    found.append(case("select", [condition, a, b], np.where(condition, a, b), label="broadcast"))
    found.append(
        case(
            "select",
            [condition[:1], a, uniform(2, 1) * 0 + 1],
            np.where(condition[:1], a, np.ones((2, 1), np.float32)),
            label="three-way",
        )
    )
    return found


def _others() -> list[Case]:
    found = []
    for dtype in (np.float32, np.float16, BF16):
        x, slope = uniform(2, 3, 4, dtype=dtype), uniform(1, 3, 1, dtype=dtype)
        expected = np.where(x < 0, (x.astype(np.float64) * slope.astype(np.float64)).astype(dtype), x)
        found.append(case("parametric_relu", [x, slope], expected))
    image = uniform(2, 3, 2, 2, low=0.5, high=2)
    scale, shift, power = (np.array(v, np.float32) for v in ([1, 2, 3], [0.5, 0, 1], [1, 2, 0.5]))
    expected = (image * scale[:, None, None] + shift[:, None, None]) ** power[:, None, None]
    attrs = {
        k: f"mlir:dense<{v.tolist()}> : tensor<3xf32>"
        for k, v in (("scale", scale), ("shift", shift), ("power", power))
    }
    found.append(case("scale", [image], expected, mode="kCHANNEL", slack=3, **attrs))
    found.append(
        case(
            "scale",
            [image],
            image * 2 + 1,
            mode="kUNIFORM",
            scale="mlir:dense<2.0> : tensor<1xf32>",
            shift="mlir:dense<1.0> : tensor<1xf32>",
        )
    )
    found.append(
        case(
            "scale",
            [image],
            image * 3,
            mode="kELEMENTWISE",
            scale="mlir:dense<3.0> : tensor<12xf32>",
            dynamic=False,
        )
    )
    for one in (np.float32, np.float16, BF16, np.int8, np.int32, np.int64, np.bool_, np.uint8):
        x = integers(2, 5, low=0, high=6, dtype=one)
        for two in (np.float32, np.float16, BF16, np.int8, np.int32, np.int64, np.bool_, np.uint8):
            found.append(case("cast", [x], x.astype(two), label=f"to-{np.dtype(two).name}"))
    x = uniform(2, 3)
    found.append(case("identity", [x], x))
    found.append(case("identity", [x], x.astype(np.float16), label="to-float16"))
    found.append(
        case(
            "cast", [np.array([2.7, -2.7, 0.4], np.float32)], np.array([2, -2, 0], np.int32), label="truncates"
        )
    )
    return found


CASES = [*_activations(), *_unary(), *_element_wise(), *_select(), *_others()]
