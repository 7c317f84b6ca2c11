"""Constants, fills and one_hot."""

import pytest

from .cases import check_accepted, check_inferred, check_rejected


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("constant", [], {"weights": "mlir:dense<[1.0, 2.0]> : tensor<2xf32>"}, ["2xf32"]),
        ("constant", [], {"weights": "mlir:dense_resource<w> : tensor<2x3xf16>"}, ["2x3xf16"]),
        ("constant", [], {"weights": "mlir:dense<1> : tensor<4xi4>"}, ["4xi4"]),
        ("one_hot", ["4x5xi32", "2xf32", "i32"], {"axis": -1}, ["4x5x?xf32"]),
        ("one_hot", ["4x?xi32", "2xi1", "i32"], {"axis": 0}, ["?x4x?xi1"]),
        ("one_hot", ["i32", "2xi64", "i32"], {"axis": 0}, ["?xi64"]),
    ],
)
def test_inference(name, operands, attrs, expected):
    """A constant has its attribute's type; one_hot inserts a dynamic dimension."""
    check_inferred(name, operands, attrs, expected)


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "result"),
    [
        ("linspace", [], {"static_start": 0.0, "static_step": 1.0}, "8xf32"),
        ("linspace", ["2xi32", "i32", "2xi32"], {}, "?x4xi32"),
        ("linspace", ["1xi32", "i64", "1xi64"], {}, "?xi64"),
        ("random_uniform", [], {}, "2x3xf16"),
        ("random_uniform", ["2xi32", "f32", "f32"], {}, "?x?xf32"),
        ("random_normal", ["1xi32"], {"static_mean": 0.0, "static_std": 2.0}, "?xf32"),
        ("one_hot", ["4xi32", "2xf32", "i32"], {"axis": 1}, "4x10xf32"),
    ],
)
def test_accepted(name, operands, attrs, result):
    """Static and dynamic parameters, and declared types that refine what is inferred."""
    if name == "one_hot":
        check_accepted(name, operands, attrs, [result])
    else:
        check_accepted(name, [*operands, *[None] * (3 - len(operands))], attrs, [result])


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "results", "fragments"),
    [
        ("constant", [], {}, ["2xf32"], ["needs the attribute weights"]),
        ("constant", [], {"weights": "mlir:dense<1.0> : tensor<2xf64>"}, None, ["tensor<2xf64>"]),
        ("linspace", [None, None, None], {"static_start": 0.0}, ["8xf32"], ["needs static_step"]),
        ("linspace", [None, "f32", None], {"static_step": 1.0}, ["8xf32"], ["start and step", "both"]),
        ("linspace", [None, None, "f32"], {"static_start": 1.0}, ["8xf32"], ["start and step", "both"]),
        ("linspace", [None, "f32", "f32"], {"static_step": 1.0}, ["8xf32"], ["step", "static_step"]),
        ("linspace", [None, "i32", "i32"], {}, ["8xf32"], ["start is tensor<i32>", "tensor<8xf32>"]),
        ("linspace", [None, "1xi32", "i32"], {}, ["8xi32"], ["start is tensor<1xi32>", "rank 0"]),
        (
            "linspace",
            [None] * 3,
            {"static_start": 0.0, "static_step": 1.0},
            ["2x4xf32"],
            ["tensor<2x4xf32>", "step"],
        ),
        (
            "linspace",
            [None, "f32", "3xf32"],
            {},
            ["2x4xf32"],
            ["step is tensor<3xf32>", "one value per dimension"],
        ),
        ("linspace", [None, "f32", "f32"], {}, ["2x4xf32"], ["step is tensor<f32>"]),
        (
            "linspace",
            [None] * 3,
            {"static_start": 0.0, "static_step": 1.0},
            ["?xf32"],
            ["tensor<?xf32>", "shape"],
        ),
        ("linspace", ["2xi32", None, None], {"static_start": 0.0, "static_step": 1.0}, ["?xf32"], ["shape is"]),
        ("random_uniform", [None, "f32", None], {}, ["2xf32"], ["low and high must both"]),
        ("random_uniform", [None, "f16", "f16"], {}, ["2xf32"], ["low is tensor<f16>", "tensor<2xf32>"]),
        ("random_uniform", [None, "f32", "1xf32"], {}, ["2xf32"], ["high is tensor<1xf32>", "rank 0"]),
        ("random_normal", [None, None, None], {}, ["?xf32"], ["tensor<?xf32>", "needs the operand shape"]),
        ("random_normal", [None, "f32", "f32"], {"static_std": 1.0}, ["2xf32"], ["std", "static_std"]),
        (
            "one_hot",
            ["4xi32", "2xf32", "i32"],
            {"axis": 2},
            None,
            ["axis = 2", "from -2 to 1", "tensor<4xi32>"],
        ),
        ("one_hot", ["4xi32", "3xf32", "i32"], {"axis": 0}, None, ["values is tensor<3xf32>"]),
        ("one_hot", ["4xi32", "2xf32", "1xi32"], {"axis": 0}, None, ["depth is tensor<1xi32>", "rank 0"]),
    ],
)
def test_rejected(name, operands, attrs, results, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, results, *fragments)
