"""Activations, unary and binary functions, select, parametric_relu, scale and casts."""

import pytest

from .cases import check_accepted, check_inferred, check_rejected

RELU = {"activationType": "kRELU"}
SUM = {"elementwiseOperation": "kSUM"}


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("activation", ["2x?xf32"], RELU, ["2x?xf32"]),
        ("activation", ["bf16"], {"activationType": "kCLIP", "alpha": 0.0, "beta": 6.0}, ["bf16"]),
        ("unary", ["?x3xf16"], {"unaryOperation": "kTAN"}, ["?x3xf16"]),
        ("unary", ["2x?xf32"], {"unaryOperation": "kISNAN"}, ["2x?xi1"]),
        ("element_wise", ["2x3xf32", "1x3xf32"], SUM, ["2x3xf32"]),
        ("element_wise", ["?x3xf32", "4x?xf32"], SUM, ["4x3xf32"]),
        ("element_wise", ["?x1xf32", "?x?xf32"], SUM, ["?x?xf32"]),
        ("element_wise", ["f32", "f32"], SUM, ["f32"]),
        ("element_wise", ["0x1xf32", "1x3xf32"], SUM, ["0x3xf32"]),
        ("element_wise", ["2xi32", "?xi32"], {"elementwiseOperation": "kLESS"}, ["2xi1"]),
        ("element_wise", ["2xi1", "2xi1"], {"elementwiseOperation": "kAND"}, ["2xi1"]),
        ("element_wise", ["2xi1", "2xi1"], {"elementwiseOperation": "kEQUAL"}, ["2xi1"]),
        ("element_wise", ["2xi64", "2xi64"], {"elementwiseOperation": "kPOW"}, ["2xi64"]),
        ("select", ["2x1xi1", "1x3xf16", "1x1xf16"], {}, ["2x3xf16"]),
        ("select", ["?x?xi1", "2x?xi64", "1x5xi64"], {}, ["2x5xi64"]),
        ("parametric_relu", ["?x3xf32", "1x3xf32"], {}, ["?x3xf32"]),
        (
            "scale",
            ["?x3x4xf32"],
            {"mode": "kCHANNEL", "shift": "mlir:dense<1.0> : tensor<3xf32>"},
            ["?x3x4xf32"],
        ),
        (
            "scale",
            ["2x3x4xf32"],
            {"mode": "kELEMENTWISE", "power": "mlir:dense<1.0> : tensor<24xf32>"},
            ["2x3x4xf32"],
        ),
    ],
)
def test_inference(name, operands, attrs, expected):
    """Shapes broadcast, a static dimension wins over a dynamic one, and predicates give i1."""
    check_inferred(name, operands, attrs, expected)


@pytest.mark.parametrize(
    ("name", "operand", "result"),
    [("cast", "2x?xf32", "2x3xi32"), ("identity", "?xui8", "?xf32"), ("cast", "f32", "i1")],
)
def test_cast_keeps_the_shape(name, operand, result):
    """A cast's declared type may refine dynamic dimensions."""
    check_accepted(name, [operand], {}, [result])


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "results", "fragments"),
    [
        ("activation", ["2xf32"], {"activationType": "kELU"}, None, ["activationType kELU needs alpha"]),
        ("activation", ["2xf32"], {"activationType": "kCLIP", "alpha": 0.0}, None, ["kCLIP needs beta"]),
        ("activation", ["2xf32"], RELU | {"alpha": 1.0}, None, ["kRELU takes no alpha"]),
        (
            "activation",
            ["2xf32"],
            {"activationType": "kELU", "alpha": 1.0, "beta": 1.0},
            None,
            ["takes no beta"],
        ),
        ("activation", ["2xi32"], {"activationType": "kTANH"}, None, ["kTANH", "tensor<2xi32>"]),
        ("activation", ["2xi1"], RELU, None, ["input is tensor<2xi1>", "i8, i32"]),
        ("activation", ["2xf32"], {}, ["2xf32"], ["needs the attribute activationType"]),
        ("activation", ["2xf32"], RELU, ["3xf32"], ["declared tensor<3xf32> but inferred tensor<2xf32>"]),
        ("activation", ["2xf32"], RELU, ["2xf16"], ["declared tensor<2xf16>"]),
        ("activation", ["1x1x1x1x1x1x1x1x1xf32"], RELU, None, ["rank 9", "at most 8"]),
        (
            "activation",
            ["2xf32"],
            {"activationType": "mlir:1 : i64"},
            ["2xf32"],
            ["activationType = 1", "not of kind"],
        ),
        ("unary", ["2xi32"], {"unaryOperation": "kEXP"}, None, ["kEXP", "tensor<2xi32>"]),
        ("unary", ["2xf32"], {"unaryOperation": "kNOT"}, None, ["kNOT", "tensor<2xf32>", "i1"]),
        ("unary", ["2xi1"], {"unaryOperation": "kABS"}, None, ["kABS", "tensor<2xi1>"]),
        ("unary", ["2xi32"], {"unaryOperation": "kISINF"}, None, ["kISINF", "tensor<2xi32>"]),
        ("element_wise", ["2xf32", "3xf32"], SUM, None, ["input1 tensor<2xf32>", "input2 tensor<3xf32>"]),
        ("element_wise", ["2xf32", "1x2xf32"], SUM, None, ["ranks must be equal"]),
        ("element_wise", ["2xf32", "2xf16"], SUM, None, ["tensor<2xf32>", "tensor<2xf16>", "element types"]),
        ("element_wise", ["2xi1", "2xi1"], SUM, None, ["kSUM does not take i1", "tensor<2xi1>"]),
        ("element_wise", ["2xf32", "2xf32"], {"elementwiseOperation": "kXOR"}, None, ["kXOR takes i1 only"]),
        ("element_wise", ["2xi1", "2xi1"], {"elementwiseOperation": "kLESS"}, None, ["kLESS does not take i1"]),
        ("element_wise", ["2xi8", "2xi8"], {"elementwiseOperation": "kPOW"}, None, ["kPOW", "tensor<2xi8>"]),
        (
            "select",
            ["2xi1", "2xf32", "2xf16"],
            {},
            None,
            ["thenInput is tensor<2xf32>", "elseInput is tensor<2xf16>"],
        ),
        ("select", ["2xi1", "2xf32", "3xf32"], {}, None, ["condition tensor<2xi1>", "do not broadcast"]),
        ("select", ["2xi1", "2xi4", "2xi4"], {}, None, ["thenInput is tensor<2xi4>"]),
        ("select", ["2xf32", "2xf32", "2xf32"], {}, None, ["condition is tensor<2xf32>", "i1"]),
        ("parametric_relu", ["2x3xf32", "2xf32"], {}, None, ["slope is tensor<2xf32>", "tensor<2x3xf32>"]),
        ("parametric_relu", ["1x3xf32", "2x3xf32"], {}, None, ["slope is tensor<2x3xf32>"]),
        ("parametric_relu", ["1x3xf32", "1x3xf16"], {}, None, ["element types"]),
        ("scale", ["2x3xf32"], {"mode": "kUNIFORM"}, None, ["tensor<2x3xf32>", "rank 3"]),
        ("scale", ["2x3x4xf32"], {"mode": "kUNIFORM", "channelAxis": 3}, None, ["channelAxis = 3"]),
        (
            "scale",
            ["2x3x4xf32"],
            {"mode": "kCHANNEL", "scale": "mlir:dense<1.0> : tensor<4xf32>"},
            None,
            ["scale is tensor<4xf32>", "kCHANNEL needs 3"],
        ),
        ("cast", ["2xf32"], {}, ["3xi32"], ["result is tensor<3xi32>", "tensor<2xf32>"]),
        ("cast", ["2xf32"], {}, ["2xi4"], ["result is tensor<2xi4>", "element type"]),
        ("identity", ["2xi64"], {}, ["2xi64"], ["input is tensor<2xi64>"]),
    ],
)
def test_rejected(name, operands, attrs, results, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, results, *fragments)
