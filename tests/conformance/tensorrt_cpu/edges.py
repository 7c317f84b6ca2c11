"""Edges that the families' own cases leave out: NaN, infinities, nothing at all, ties, places from the end."""

from __future__ import annotations

import numpy as np

from .cases import EDGES, Case, case

F, I32 = np.float32, np.int32
NAN, INF = np.nan, np.inf
ODD = np.array([[NAN, 1, 2], [3, NAN, -1], [INF, -INF, 0]], F)
ROWS = np.arange(6, dtype=F).reshape(3, 2)
LINE = np.arange(5, dtype=F)


def _numbers() -> list[Case]:
    """NaN and infinities go through arithmetic as IEEE has it."""
    found = []
    left, right = np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES))
    with np.errstate(all="ignore"):
        for kind, pair in {"kMAX": np.maximum, "kMIN": np.minimum, "kPOW": np.power, "kDIV": np.divide}.items():
            expected = pair(left, right).astype(F)
            found.append(
                case("element_wise", [left, right], expected, elementwiseOperation=kind, label="pairs")
            )
        for kind, fold in {"kSUM": np.sum, "kPROD": np.prod, "kAVG": np.mean}.items():
            expected = fold(ODD, 1).astype(F)
            found.append(case("reduce", [ODD], expected, reduceOperation=kind, reduceAxes=[1], label="odd"))
        grown = np.exp(ODD - ODD.max(1, keepdims=True))
        found += [
            case("softmax", [ODD], (grown / grown.sum(1, keepdims=True)).astype(F), axis=1, label="odd"),
            case(
                "softmax", [np.array([[-INF, 0, 0]], F)], np.array([[0, 0.5, 0.5]], F), axis=1, label="masked"
            ),
            case("cumulative", [ODD], np.cumsum(ODD, 1), cumulativeOperation="kSUM", axis=-1, label="odd"),
        ]
        eye = np.eye(3, dtype=F)
        found.append(case("matrix_multiply", [ODD, eye], ODD @ eye, op0="kNONE", op1="kNONE", label="odd"))
    mixed = np.array([True, False])
    found += [
        case(
            "select",
            [mixed, np.array([NAN, 1], F), np.array([2, NAN], F)],
            np.array([NAN, NAN], F),
            label="nan",
        ),
        case(
            "unary",
            [np.array([NAN, 0, -2, -0.0], F)],
            np.array([NAN, 0, -1, 0], F),
            unaryOperation="kSIGN",
            label="odd",
        ),
        case(
            "unary",
            [np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4], F)],
            np.array([0, 2, 2, 0, -2, 2], F),
            unaryOperation="kROUND",
            label="half-to-even",
        ),
        case(
            "pooling",
            [np.full((1, 1, 2, 2), -INF, F)],
            np.full((1, 1, 1, 1), -INF, F),
            label="infinite",
            poolingType="kMAX",
            windowSize=[2, 2],
            stride=[2, 2],
            prePadding=[0, 0],
            postPadding=[0, 0],
        ),
    ]
    return found


def _division() -> list[Case]:
    """Of integers it goes towards zero, with kFLOOR_DIV down."""
    a, b = np.array([7, -7, 7, -7, 0], I32), np.array([2, 2, -2, -2, 3], I32)
    truncated = np.array([3, -3, -3, 3, 0], I32)
    return [
        case("element_wise", [a, b], truncated, elementwiseOperation="kDIV", label="signs"),
        *(
            case(
                "element_wise",
                [a.astype(kind), b.astype(kind)],
                np.array([3, -4, -4, 3, 0], kind),
                elementwiseOperation="kFLOOR_DIV",
                label="signs",
            )
            for kind in (I32, F)
        ),
    ]


def _nothing() -> list[Case]:
    """Empty tensors, and tensors without dimensions."""
    none = np.zeros((0, 2), F)
    return [
        case("softmax", [none], none, axis=1, label="empty"),
        case("softmax", [np.zeros(2, F)], np.full(2, 0.5, F), axis=0, label="vector"),
        case("cumulative", [none], none, cumulativeOperation="kSUM", axis=0, label="empty"),
        case("concatenation", [[none, ROWS]], ROWS, axis=0, label="empty"),
        case("gather", [ROWS, np.zeros(0, I32)], none, axis=0, label="empty"),
        case("scatter_nd", [LINE, np.zeros((0, 1), I32), np.zeros(0, F)], LINE, label="empty"),
        case("matrix_multiply", [none.T, none], np.zeros((2, 2), F), op0="kNONE", op1="kNONE", label="empty"),
        case("slice", [LINE], LINE[:0], static_start=[5], static_size=[0], static_stride=[1], label="empty"),
        case("reshape", [none], none.T, label="empty", dynamic=False),
        case("reshape", [np.array([3], F)], np.array(3, F), label="rank0"),
        case("transpose", [F(3)], F(3), permutation="mlir:affine_map<() -> ()>", label="rank0"),
        case("shape", [F(3)], np.zeros(0, I32), label="rank0"),
        case("broadcast", [F(3)], np.full((2, 2), 3, F), broadcast_dims=[], dynamic=False, label="rank0"),
        case("select", [np.array(True), F(1), F(2)], F(1), label="rank0"),
        case("reduce", [F(3)], F(3), reduceOperation="kSUM", reduceAxes=[], label="rank0"),
        case("einsum", [[LINE, LINE]], F(30), equation="i,i->", label="scalar"),
    ]


def _places() -> list[Case]:
    """Places count from the end where negative; the first of equal values wins, the last of equal places."""
    ties = np.array([[1, 2, 2, 0, 2]], F)
    top = (np.array([[2, 2]], F), np.array([[1, 2]], I32))
    return [
        case("softmax", [np.zeros((2, 2), F)], np.full((2, 2), 0.5, F), axis=-2, label="from the end"),
        *(case("top_k", [ties], top, k=2, axis=axis, topkOperation="kMAX", label="ties") for axis in (1, -1)),
        case("argmax", [ties[0]], (np.array([2], F), np.array([1], I32)), axis=0, label="ties"),
        case("gather", [ROWS, np.array([-1, 0], I32)], ROWS[[-1, 0]], axis=0, label="from the end"),
        case("gather", [ROWS, I32(1)], ROWS[1], axis=0, label="rank0"),
        case("gather_elements", [LINE, np.array([-1, 0], I32)], LINE[[-1, 0]], axis=0, label="from the end"),
        case("gather_nd", [ROWS, np.array([[-1, 0]], I32)], np.array([4], F), label="from the end"),
        case(
            "scatter_elements",
            [np.zeros(3, F), np.array([0, 0, -1], I32), np.array([1, 2, 3], F)],
            np.array([2, 0, 3], F),
            axis=0,
            label="twice",
        ),
        case("slice", [LINE], LINE[4::-2], static_start=[4], static_size=[3], static_stride=[-2], label="back"),
        case(
            "normalization",
            [np.full((1, 2, 4), 3, F), np.ones((1, 1, 4), F), np.full((1, 1, 4), 0.5, F)],
            np.full((1, 2, 4), 0.5, F),
            axis=[2],
            label="no variance",
        ),
    ]


CASES = [*_numbers(), *_division(), *_nothing(), *_places()]
