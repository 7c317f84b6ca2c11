"""A function of one op, and one case of every tensorrt op, small enough to build in a blink."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_mlir import ir
from torch_mlir.dialects import func

from mlirtrt_nb.engine.base import BuildRequest, Engine
from mlirtrt_nb.engine.tensorrt import TensorRtBuilder
from mlirtrt_nb.ir.builder import create
from mlirtrt_nb.ir.context import new_context


@dataclass(frozen=True)
class Case:
    """An op with its operands' types, attributes and result types.

    An operand is a type ("2x3xf32"), a constant ("= dense<1.0> : tensor<4xf32>"), None where an optional
    one is absent, or a list for a variadic. Attribute values are what `create` takes, or MLIR text after "#=".
    """

    name: str
    operands: Sequence[Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    results: Sequence[str] = ()

    def __str__(self) -> str:
        kinds = [v for v in self.attrs.values() if isinstance(v, str) and v.startswith("k")]
        return " ".join([self.name, *kinds, *self.results])

    @property
    def flat(self) -> list[str | None]:
        """All operands in a row."""
        return [o for group in self.operands for o in (group if isinstance(group, list) else [group])]

    def typed(self, element: str) -> Case:
        """The same case with `element` for every f32."""

        def swap(operand: Any) -> Any:
            if isinstance(operand, list):
                return [swap(o) for o in operand]
            if not isinstance(operand, str) or "f32" not in operand:
                return operand
            whole = element.startswith("i") and "dense" in operand
            return (re.sub(r"(\d+)\.\d+", r"\1", operand) if whole else operand).replace("f32", element)

        attrs = {k: swap(v) if isinstance(v, str) and v.startswith("#=") else v for k, v in self.attrs.items()}
        return Case(self.name, swap(list(self.operands)), attrs, swap(list(self.results)))


def tensor(text: str) -> ir.Type:
    return ir.Type.parse(f"tensor<{text}>")


def build_case(case: Case, target: str = "sm89") -> Engine:
    """The engine of a function that is the case's op alone."""
    return build_cases([case], target)


def build_cases(cases: Sequence[Case], target: str = "sm89") -> Engine:
    """One engine that holds the op of every case. Each op's source is its case in words."""
    with new_context(), ir.Location.name("cases"):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = function_of(cases)
        return TensorRtBuilder().build(BuildRequest("cases", function.operation, {}, target))


def operation_of(case: Case) -> tuple[func.FuncOp, ir.Operation]:
    """The case's op in a function of its own, in the current context and insertion point."""
    function = function_of([case])
    (found,) = (
        o.operation for o in function.entry_block.operations if o.operation.name == f"tensorrt.{case.name}"
    )
    return function, found


def function_of(cases: Sequence[Case]) -> func.FuncOp:
    """A function of all operands of the cases that gives all results of their ops."""
    inputs = [tensor(o) for case in cases for o in case.flat if o is not None and not o.startswith("=")]
    results = [tensor(r) for case in cases for r in case.results]
    function = func.FuncOp("cases", (inputs, results))
    block = function.add_entry_block()
    arguments = iter(block.arguments)
    with ir.InsertionPoint(block):
        ops = [_op(case, arguments) for case in cases]
        func.ReturnOp([result for op in ops for result in op.results])
    return function


def operation_in(case: Case, arguments: Sequence[ir.Value]) -> ir.Operation:
    """The case's op at the insertion point, of these values for its operands that are not constant."""
    return _op(case, iter(arguments))


def _op(case: Case, arguments: Iterator[ir.Value]) -> ir.Operation:
    def value(operand: str | None) -> ir.Value | None:
        if operand is None:
            return None
        if not operand.startswith("="):
            return next(arguments)
        attribute = ir.Attribute.parse(operand[1:].strip())
        return create("tensorrt.constant", [], {"weights": attribute}, [attribute.type]).result

    operands = [[value(o) for o in g] if isinstance(g, list) else value(g) for g in case.operands]
    attrs = {
        k: ir.Attribute.parse(v[2:].strip()) if isinstance(v, str) and v.startswith("#=") else v
        for k, v in case.attrs.items()
    }
    with ir.Location.name(str(case)):
        return create(f"tensorrt.{case.name}", operands, attrs, [tensor(r) for r in case.results])


_SQUARE = {"stride": [1, 1], "pre_padding": [1, 1], "post_padding": [1, 1]}
_RESIZE = {"coordinateTransformation": "kHALF_PIXEL", "selectorForSinglePixel": "kFORMULA"}
_X = "2x3xf32"
_UNARY = [
    "EXP",
    "LOG",
    "SQRT",
    "RECIP",
    "ABS",
    "NEG",
    "SIN",
    "COS",
    "TAN",
    "SINH",
    "COSH",
    "ASIN",
    "ACOS",
    "ATAN",
    "ASINH",
    "ACOSH",
    "ATANH",
    "CEIL",
    "FLOOR",
    "ERF",
    "SIGN",
    "ROUND",
]

CASES = (
    Case("activation", [_X], {"activationType": "kRELU"}, [_X]),
    *(
        Case("activation", [_X], {"activationType": f"k{kind}", "alpha": alpha, "beta": beta}, [_X])
        for kind, alpha, beta in (
            ("SIGMOID", None, None),
            ("TANH", None, None),
            ("LEAKY_RELU", 0.1, None),
            ("ELU", 1.0, None),
            ("SELU", 1.67, 1.05),
            ("SOFTSIGN", None, None),
            ("SOFTPLUS", 1.0, 1.0),
            ("CLIP", 0.0, 6.0),
            ("HARD_SIGMOID", 0.2, 0.5),
            ("SCALED_TANH", 1.0, 1.0),
            ("THRESHOLDED_RELU", 1.0, None),
            ("GELU_ERF", None, None),
            ("GELU_TANH", None, None),
        )
    ),
    *(Case("unary", [_X], {"unaryOperation": f"k{kind}"}, [_X]) for kind in _UNARY),
    Case("unary", ["2x3xi1"], {"unaryOperation": "kNOT"}, ["2x3xi1"]),
    Case("unary", [_X], {"unaryOperation": "kISINF"}, ["2x3xi1"]),
    Case("unary", [_X], {"unaryOperation": "kISNAN"}, ["2x3xi1"]),
    *(
        Case("element_wise", [_X, "1x3xf32"], {"elementwiseOperation": f"k{kind}"}, [_X])
        for kind in ["SUM", "PROD", "MAX", "MIN", "SUB", "DIV", "POW", "FLOOR_DIV"]
    ),
    *(
        Case("element_wise", ["2x3xi1", "1x3xi1"], {"elementwiseOperation": f"k{kind}"}, ["2x3xi1"])
        for kind in ["AND", "OR", "XOR"]
    ),
    *(
        Case("element_wise", [_X, "1x3xf32"], {"elementwiseOperation": f"k{kind}"}, ["2x3xi1"])
        for kind in ["EQUAL", "GREATER", "LESS"]
    ),
    Case("select", ["2x3xi1", _X, "1x1xf32"], {}, [_X]),
    Case("parametric_relu", [_X, "1x3xf32"], {}, [_X]),
    Case(
        "scale",
        ["1x3x4x4xf32"],
        {"mode": "kCHANNEL", "scale": "#= dense<[1.0, 2.0, 3.0]> : tensor<3xf32>"},
        ["1x3x4x4xf32"],
    ),
    Case("cast", [_X], {}, ["2x3xi32"]),
    Case("identity", [_X], {}, [_X]),
    Case("linspace", [None, None, None], {"static_start": 0.5, "static_step": 2.0}, ["8xf32"]),
    Case("linspace", [None, None, None], {"static_start": 1.0, "static_step": 2.0}, ["8xi32"]),
    Case(
        "linspace",
        [
            "= dense<[2, 3]> : tensor<2xi64>",
            "= dense<0.0> : tensor<f32>",
            "= dense<[3.0, 1.0]> : tensor<2xf32>",
        ],
        {},
        ["?x?xf32"],
    ),
    Case("random_uniform", [None, None, None], {"static_low": 0.0, "static_high": 1.0}, [_X]),
    Case("random_normal", [None, None, None], {"static_mean": 0.0, "static_std": 1.0}, [_X]),
    Case(
        "one_hot",
        ["4xi32", "= dense<[0.0, 1.0]> : tensor<2xf32>", "= dense<5> : tensor<i32>"],
        {"axis": -1},
        ["4x?xf32"],
    ),
    *(
        Case(
            "reduce",
            ["2x8xf32"],
            {"reduceAxes": [1], "keepDimensions": True, "reduceOperation": f"k{kind}"},
            ["2x1xf32"],
        )
        for kind in ["SUM", "PROD", "MAX", "MIN", "AVG"]
    ),
    Case("top_k", ["2x8xf32", None], {"axis": 1, "k": 3, "topkOperation": "kMAX"}, ["2x3xf32", "2x3xi32"]),
    Case("argmin", ["2x8xf32"], {"axis": 1}, ["2x1xf32", "2x1xi32"]),
    Case("argmax", ["2x8xf32"], {"axis": 1}, ["2x1xf32", "2x1xi64"]),
    Case("non_zero", ["2x8xf32"], {}, ["2x?xi32"]),
    Case("cumulative", ["2x8xf32"], {"cumulativeOperation": "kSUM", "axis": 1}, ["2x8xf32"]),
    Case("softmax", ["2x8xf32"], {"axis": 1}, ["2x8xf32"]),
    Case("ragged_softmax", ["1x2x8xf32", "1x2x1xi32"], {}, ["1x2x8xf32"]),
    Case("normalization", ["2x4x8xf32", "1x1x8xf32", "1x1x8xf32"], {"axis": [2], "eps": 1e-5}, ["2x4x8xf32"]),
    Case("lrn", ["1x8x4x4xf32"], {"windowSize": 5, "alpha": 1e-4, "beta": 0.75, "k": 1.0}, ["1x8x4x4xf32"]),
    Case("convolution", ["1x3x8x8xf32", "4x3x3x3xf32"], _SQUARE, ["1x4x8x8xf32"]),
    Case(
        "convolution",
        ["1x3x8x8xf32", "= dense<1.0> : tensor<4x3x3x3xf32>", "= dense<0.5> : tensor<4xf32>"],
        _SQUARE,
        ["1x4x8x8xf32"],
    ),
    Case(
        "deconvolution",
        ["1x4x8x8xf32"],
        {**_SQUARE, "kernelWeightsStatic": "#= dense<1.0> : tensor<4x3x3x3xf32>"},
        ["1x3x8x8xf32"],
    ),
    *(
        Case(
            "pooling",
            ["1x3x8x8xf32"],
            {
                "windowSize": [2, 2],
                "stride": [2, 2],
                "prePadding": [0, 0],
                "postPadding": [0, 0],
                "poolingType": kind,
                "blendFactor": blend,
            },
            ["1x3x4x4xf32"],
        )
        for kind, blend in (("kMAX", None), ("kAVERAGE", None), ("kMAX_AVERAGE_BLEND", 0.5))
    ),
    Case("padding", ["1x3x8x8xf32"], {"prePadding": [0, -1], "postPadding": [1, 1]}, ["1x3x9x8xf32"]),
    Case("matrix_multiply", ["2x8xf32", "16x8xf32"], {"op0": "kNONE", "op1": "kTRANSPOSE"}, ["2x16xf32"]),
    Case("matrix_multiply", ["2x8xf32", "8xf32"], {"op0": "kNONE", "op1": "kVECTOR"}, ["2xf32"]),
    Case("einsum", [["2x3x4xf32", "2x4x5xf32"]], {"equation": "bij,bjk->bik"}, ["2x3x5xf32"]),
    Case(
        "shuffle",
        ["2x3x4xf32", None],
        {"first_transpose": [1, 0, 2], "reshape": [3, 8], "second_transpose": [1, 0]},
        ["8x3xf32"],
    ),
    Case("transpose", [_X], {"permutation": "#= affine_map<(d0, d1) -> (d1, d0)>"}, ["3x2xf32"]),
    Case("expand_rank", [_X], {}, ["1x2x1x3xf32"]),
    Case("collapse_rank", ["1x2x1x3xf32"], {}, [_X]),
    Case("reshape", [_X, None], {}, ["6xf32"]),
    Case("reshape", [_X, "= dense<[3, 2]> : tensor<2xi64>"], {}, ["?x?xf32"]),
    Case("squeeze", ["1x2x3x1xf32"], {"axes": [0, -1]}, [_X]),
    Case("unsqueeze", [_X], {"axes": [0, -1]}, ["1x2x3x1xf32"]),
    Case("shape", [_X], {}, ["2xi32"]),
    Case("shape", [_X], {}, ["2xi64"]),
    Case(
        "slice",
        ["4x8xf32", None, None, None, None],
        {"static_start": [0, 0], "static_size": [2, 4], "static_stride": [1, 2]},
        ["2x4xf32"],
    ),
    Case(
        "slice",
        ["4x8xf32", None, "= dense<[1, 1]> : tensor<2xi32>", "= dense<[2, 2]> : tensor<2xi32>", None],
        {"static_stride": [1, 2]},
        ["?x?xf32"],
    ),
    *(
        Case(
            "slice",
            ["4x8xf32", "= dense<7.0> : tensor<f32>" if mode == "kFILL" else None, None, None, None],
            {"static_start": [-1, -2], "static_size": [6, 12], "static_stride": [1, 1], "mode": mode},
            ["6x12xf32"],
        )
        for mode in ("kWRAP", "kCLAMP", "kFILL", "kREFLECT")
    ),
    Case("broadcast", ["8xf32", None], {"broadcast_dims": [1]}, ["4x8xf32"]),
    Case("concatenation", [[_X, "2x5xf32"]], {"axis": 1}, ["2x8xf32"]),
    Case("reverse_sequence", ["4x2xf32", "2xi64"], {}, ["4x2xf32"]),
    Case("gather", ["4x8xf32", "3xi32"], {"axis": 0}, ["3x8xf32"]),
    Case("gather", ["4x8xf32", "4x3xi64"], {"axis": 1, "numBroadcastDims": 1}, ["4x3xf32"]),
    Case("gather_nd", ["4x8xf32", "3x1xi32"], {}, ["3x8xf32"]),
    Case("gather_elements", ["4x8xf32", "2x8xi32"], {"axis": 0}, ["2x8xf32"]),
    Case("scatter_nd", ["4x4xf32", "2x1xi32", "2x4xf32"], {}, ["4x4xf32"]),
    Case("scatter_elements", ["4x4xf32", "2x4xi32", "2x4xf32"], {"axis": 0}, ["4x4xf32"]),
    Case(
        "resize_nearest",
        ["1x3x4x4xf32", None],
        {**_RESIZE, "nearestRounding": "kFLOOR", "scales": [1.0, 1.0, 2.0, 2.0]},
        ["1x3x8x8xf32"],
    ),
    Case("resize_linear", ["1x3x4x4xf32", "= dense<[1, 3, 8, 8]> : tensor<4xi32>"], _RESIZE, ["1x3x?x?xf32"]),
    Case("resize_cubic", ["1x3x4x4xf32", None], {**_RESIZE, "cubicCoeff": -0.75}, ["1x3x8x8xf32"]),
    Case("quantize", ["2x8xf32", "= dense<0.1> : tensor<8xf32>"], {"axis": 1}, ["2x8xi8"]),
    Case("quantize", ["2x8xf32", "= dense<0.1> : tensor<f32>"], {}, ["2x8xf8E4M3FN"]),
    Case("dequantize", ["2x8xi8", "= dense<0.1> : tensor<f32>"], {}, ["2x8xf32"]),
    Case(
        "dynamic_quantize",
        ["2x32xf32", "= dense<1.0> : tensor<f32>"],
        {"axis": 1},
        ["2x32xf4E2M1FN", "2x2xf8E4M3FN"],
    ),
    Case(
        "attention",
        ["1x4x8x16xf32"] * 3 + [None] * 4,
        {"causalKind": "kUPPER_LEFT", "decomposable": True},
        ["1x4x8x16xf32"],
    ),
    Case("kv_cache_update", ["1x4x32x16xf32", "1x4x2x16xf32", "1xi32", None], {}, ["1x4x32x16xf32"]),
    Case("rotary_embedding", ["1x4x8x16xf32", "1x8x8xf32", "1x8x8xf32", None], {}, ["1x4x8x16xf32"]),
    Case(
        "moe",
        ["1x8x16xf32", "1x8x2xi32", "1x8x2xf32", "4x16x32xf32", "4x16x32xf32", "4x32x16xf32"] + [None] * 4,
        {},
        ["1x8x16xf32"],
    ),
    Case(
        "nms",
        ["1x10x4xf32", "1x10x3xf32", "= dense<5> : tensor<i32>", None, None],
        {},
        ["?x3xi32", "i32"],
    ),
    Case(
        "lstm",
        ["5x2x4xf32", "= dense<0.1> : tensor<1x32x4xf32>", "= dense<0.1> : tensor<1x32x8xf32>"] + [None] * 5,
        {"hiddenSize": 8},
        ["5x1x2x8xf32", "1x2x8xf32", "1x2x8xf32"],
    ),
    Case(
        "lstm",
        [
            *("5x2x4xf32", "2x32x4xf32", "2x32x8xf32", "2x64xf32", "2xi32"),
            *("2x2x8xf32", "2x2x8xf32", "2x24xf32"),
        ],
        {"hiddenSize": 8, "direction": "kBIDIRECTIONAL", "clip": 1.0},
        ["5x2x2x8xf32", "2x2x8xf32", "2x2x8xf32"],
    ),
    Case(
        "gru",
        ["2x5x4xf32", "1x24x4xf32", "1x24x8xf32", "1x48xf32", None, None],
        {"hiddenSize": 8, "direction": "kREVERSE", "layout": 1, "linearBeforeReset": True},
        ["2x5x1x8xf32", "2x1x8xf32"],
    ),
    Case(
        "rnn",
        ["1x2x4xf32", "1x8x4xf32", "1x8x8xf32", None, None, None],
        {
            "hiddenSize": 8,
            "activations": '#= ["kAFFINE"]',
            "alphas": [2.0],
            "betas": [1.0],
        },
        ["1x1x2x8xf32", "1x2x8xf32"],
    ),
    Case("grid_sample", ["1x3x8x8xf32", "1x4x4x2xf32"], {}, ["1x3x4x4xf32"]),
    Case("dist_collective", [_X], {"collectiveOperation": "kALL_REDUCE", "reduceOperation": "kSUM"}, [_X]),
    Case("dist_collective", [_X], {"collectiveOperation": "kBROADCAST", "root": 0, "groups": [0, 1]}, [_X]),
)
