"""`shapes=` in all its forms, and what is said when it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from mlirtrt_nb.errors import ShapeError
from mlirtrt_nb.profiles import parse_profiles
from mlirtrt_nb.program import TensorSpec

INPUTS = [
    TensorSpec("x", ("batch", 3, None, None), "f32"),
    TensorSpec("mask", ("batch",), "f32"),
    TensorSpec("size", (2,), "i64"),
]


def test_a_shape_a_string_and_a_range_mean_the_same_kind_of_thing():
    """Tuples and `1x3x4x4` can be mixed; one shape stands for min, opt and max; static inputs fill in."""
    (profile,) = parse_profiles(INPUTS, {"x": ((1, 3, 4, 4), "2x3x5x5", (8, 3, 9, 9)), "mask": ("1", "2", "8")})
    assert profile["x"] == ((1, 3, 4, 4), (2, 3, 5, 5), (8, 3, 9, 9))
    assert profile["mask"] == ((1,), (2,), (8,))
    assert profile["size"] == ((2,), (2,), (2,))
    (single,) = parse_profiles(INPUTS, {"x": "1x3x4x4", "mask": (1,)})
    assert single["x"] == ((1, 3, 4, 4),) * 3


@pytest.mark.parametrize(
    "shape",
    [
        np.array([[1, 3, 4, 4], [2, 3, 5, 5], [8, 3, 9, 9]]),
        [np.array([1, 3, 4, 4]), np.array([2, 3, 5, 5], np.int32), "8x3x9x9"],
        tuple(tuple(np.array(side)) for side in ([1, 3, 4, 4], [2, 3, 5, 5], [8, 3, 9, 9])),
    ],
    ids=["rows of an array", "arrays", "numbers of NumPy"],
)
def test_a_shape_may_be_an_array(shape):
    """An array, its rows and its numbers mean what a tuple does, and are Python's numbers afterwards."""
    (profile,) = parse_profiles(INPUTS, {"x": shape, "mask": np.array([[1], [2], [8]])})
    assert profile["x"] == ((1, 3, 4, 4), (2, 3, 5, 5), (8, 3, 9, 9))
    assert profile["mask"] == ((1,), (2,), (8,))
    assert {type(dim) for side in profile["x"] for dim in side} == {int}


@pytest.mark.parametrize(
    "value", [np.zeros((1, 3, 64, 64)), np.zeros((8, 4096)), np.array([1.0, 3, 4, 4]), np.int64(4)]
)
def test_data_is_no_shape(value):
    """Arrays of data, fractions and single numbers are refused in a line, however large."""
    with pytest.raises(ShapeError, match="the shape of input 'x' is ") as caught:
        parse_profiles(INPUTS, {"x": value, "mask": "1"})
    assert len(str(caught.value)) < 500


def test_a_list_gives_one_profile_per_entry():
    """Several profiles keep their order."""
    small, large = parse_profiles(INPUTS, [{"x": "1x3x4x4", "mask": "1"}, {"x": "8x3x64x64", "mask": "8"}])
    assert small["x"][1] == (1, 3, 4, 4)
    assert large["x"][1] == (8, 3, 64, 64)


def test_missing_shapes_give_a_template_that_itself_is_accepted():
    """The hint of the error can be pasted back."""
    with pytest.raises(ShapeError) as caught:
        parse_profiles(INPUTS, None)
    assert str(caught.value).startswith("dynamic inputs need shapes: x: batchx3x?x?xf32, mask: batchxf32")
    pasted = eval(caught.value.hint.removeprefix("shapes="))
    assert parse_profiles(INPUTS, pasted)[0]["x"] == ((1, 3, 32, 32), (1, 3, 128, 128), (4, 3, 256, 256))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"y": "1"}, "names an input 'y' that the program does not have"),
        ({"x": "1x4x4x4", "mask": "1"}, "axis 1 is 4, but the input is x: batchx3x?x?xf32"),
        ({"x": "1x3x4", "mask": "1"}, "has rank 3"),
        ({"x": "big", "mask": "1"}, "'big' is not a shape"),
        ({"x": 5, "mask": "1"}, "is 5"),
        ({"x": ("2x3x4x4", "1x3x4x4", "8x3x4x4"), "mask": "1"}, "axis 0 has min 2, opt 1, max 8"),
        ({"x": "2x3x4x4", "mask": "1"}, "dimension 'batch' is 2 in input 'x' but 1 in 'mask'"),
        ([], "an empty list"),
    ],
)
def test_each_mistake_is_named_with_its_axis_and_values(shapes, message):
    """One short error says which input, which axis, which values."""
    with pytest.raises(ShapeError) as caught:
        parse_profiles(INPUTS, shapes)
    assert message in str(caught.value)


OPEN = [TensorSpec("x", ("...",), "f32"), TensorSpec("y", ("...",), "f32")]


def test_shapes_say_the_rank_where_the_model_does_not():
    """Inputs of unknown rank take any, each its own, the same in every profile; the hint can be pasted."""
    (profile,) = parse_profiles(OPEN, {"x": ((1, 4), (2, 4), (8, 4)), "y": ()})
    assert profile == {"x": ((1, 4), (2, 4), (8, 4)), "y": ((), (), ())}
    with pytest.raises(ShapeError) as caught:
        parse_profiles(OPEN, None)
    pasted = eval(caught.value.hint.removeprefix("shapes="))
    assert parse_profiles(OPEN, pasted)[0]["y"] == ((1, 32), (1, 128), (4, 256))


@pytest.mark.parametrize(
    "shapes", [{"x": ((1, 4), (2, 4), (8, 4, 4)), "y": "1"}, [{"x": "4", "y": "1"}, {"x": "4x4x4", "y": "1"}]]
)
def test_one_input_has_one_rank(shapes):
    """Different ranks within a profile or between two are named."""
    with pytest.raises(ShapeError, match=r"the shapes of input 'x' have ranks \d and 3"):
        parse_profiles(OPEN, shapes)
