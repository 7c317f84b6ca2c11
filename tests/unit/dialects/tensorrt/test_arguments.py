"""Attributes of function arguments."""

import pytest

from mlirtrt_nb.ir.assembly import parse_module
from mlirtrt_nb.ir.context import new_context
from mlirtrt_nb.ir.verifier import errors_of

PROFILE = "tensorrt.shape_profile = #tensorrt.shape_profile<min = [{0}], opt = [{1}], max = [{2}]>"


@pytest.fixture(scope="module")
def context():
    return new_context()


def _errors(context, kind, attribute):
    text = f"func.func @f(%x: tensor<{kind}> {{{attribute}}}) {{\nreturn\n}}"
    return [error.what for error in errors_of(parse_module(text, "<t>", context))]


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [
        ("?x8xf32", PROFILE.format("1, 8", "4, 8", "16, 8")),
        ("f32", PROFILE.format("", "", "")),
        (
            "2xi32",
            PROFILE.format("1, 1", "2, 2", "3, 3").replace(
                "tensorrt.shape_profile =", "tensorrt.value_bounds ="
            ),
        ),
        ("?x8xf32", 'tensorrt.dimension_names = {"0" = "batch"}'),
        ("2xi32", "tensorrt.host_tensor"),
        ("2xi32", 'plan.name = "x"'),
    ],
)
def test_accepted(context, kind, attribute):
    """Profiles within the type, bounds for each value, names of dimensions."""
    assert _errors(context, kind, attribute) == []


@pytest.mark.parametrize(
    ("kind", "attribute", "fragments"),
    [
        ("?x8xf32", PROFILE.format("1, 8", "4", "16, 8"), ["2 values in min, 1 in opt"]),
        ("?x8xf32", PROFILE.format("4, 8", "1, 8", "16, 8"), ["4, 1, 16 at 0"]),
        ("?x8xf32", PROFILE.format("1, 7", "4, 7", "16, 7"), ["1x7", "tensor<?x8xf32>"]),
        ("?x8xf32", PROFILE.format("1", "4", "16"), ["has 1,", "tensor<?x8xf32>"]),
        ("?x8xf32", PROFILE.format("-1, 8", "4, 8", "16, 8"), ["negative"]),
        ("?x8xf32", "tensorrt.shape_profile = 1 : i64", ["is not a shape profile"]),
        (
            "3xi32",
            PROFILE.format("1", "2", "3").replace("tensorrt.shape_profile =", "tensorrt.value_bounds ="),
            ["1 values for the 3"],
        ),
        ("?x8xf32", 'tensorrt.dimension_names = {"2" = "batch"}', ['names "2"']),
        ("?x8xf32", 'tensorrt.dimension_names = {"0" = 1 : i64}', ["no string"]),
        ("?x8xf32", 'tensorrt.dimension_names = "batch"', ["not a dictionary"]),
        ("2xi32", "tensorrt.host_tensor = 1 : i64", ["unit attribute"]),
    ],
)
def test_rejected(context, kind, attribute, fragments):
    """The message names the function, the argument, its type and the attribute."""
    (error,) = _errors(context, kind, attribute)
    assert error.startswith(f"func.func @f: argument 0, tensor<{kind}>: tensorrt.")
    for fragment in fragments:
        assert fragment in error
