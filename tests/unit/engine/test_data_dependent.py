"""Bounds of what follows from data: each op at its least, middling and largest shape."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from mlirtrt_nb.engine.data_dependent import bounded

HEAD = '<ir_version: 8, opset_import: ["" : 17]> main '


def shapes(text: str, side: int) -> list[list[int]] | None:
    """The shapes of the inputs that stand for results, in the order of the nodes."""
    model = parser.parse_model(HEAD + text)
    given = len(model.graph.input)
    made = bounded(model, side)
    if made is None:
        return None
    assert not {node.op_type for node in made.graph.node} & {
        "NonZero",
        "Compress",
        "Unique",
        "NonMaxSuppression",
    }
    return [[dim.dim_value for dim in entry.type.tensor_type.shape.dim] for entry in made.graph.input[given:]]


CASES = {
    "NonZero": ("(float[3,4] x) => (int64[2,k] y) { y = NonZero(x) }", [[2, 0]], [[2, 6]], [[2, 12]]),
    "Compress, flat": (
        "(float[3,4] x, bool[5] c) => (float[k] y) { y = Compress(x, c) }",
        [[0]],
        [[3]],
        [[5]],
    ),
    "Compress, axis": (
        "(float[3,4] x, bool[9] c) => (float[3,k] y) { y = Compress<axis = -1>(x, c) }",
        [[3, 0]],
        [[3, 2]],
        [[3, 4]],
    ),
    "Unique": (
        "(float[3,4] x) => (float[k] y, int64[12] i) { y, f, i = Unique(x) }",
        [[1], [1], [12]],
        [[7], [7], [12]],
        [[12], [12], [12]],
    ),
    "Unique, axis": (
        "(float[3,4] x) => (float[k,4] y) { y = Unique<axis = 0>(x) }",
        [[1, 4]],
        [[2, 4]],
        [[3, 4]],
    ),
    "NonMaxSuppression": (
        """(float[2,9,4] b, float[2,3,9] s) => (int64[k,3] y) <int64[1] most = {5}>
        { y = NonMaxSuppression(b, s, most) }""",
        [[0, 3]],
        [[15, 3]],
        [[30, 3]],
    ),
    "one after the other": (
        "(float[4] x) => (int64[1,m] y) { a = NonZero(x) b = Cast<to = 1>(a) y = NonZero(b) }",
        [[1, 0], [2, 0]],
        [[1, 2], [2, 1]],
        [[1, 4], [2, 4]],
    ),
}


LENGTHS = {
    "Slice, any end": (
        "(float[8,3] x, int64[1] e) => (float[k,3] y) <int64[1] z = {0}> { y = Slice(x, z, e) }",
        ([0, 3], [8, 3]),
    ),
    "Slice, a limited end": (
        """(float[8,3] x, int64[1] e) => (float[k,3] y) <int64[1] z = {1}, int64 low = {2}, int64 high = {5}>
        { c = Clip(e, low, high) y = Slice(x, z, c) }""",
        ([1, 3], [4, 3]),
    ),
    "Slice, every other from the back": (
        """(float[3,9] x, int64[1] e) => (float[3,k] y) <int64[1] z = {-1}, int64[1] a = {1}, int64[1] s = {-2}>
        { y = Slice(x, z, e, a, s) }""",
        ([3, 0], [3, 5]),
    ),
    "Slice, one end known": (
        """(float[8,9] x, int64[1] e) => (float[k,m] y) <int64[2] z = {0, 0}, int64[1] four = {4}>
        { c = Concat<axis = 0>(four, e) y = Slice(x, z, c) }""",
        ([4, 0], [4, 9]),
    ),
    "TopK": ("(float[2,7] x, int64[1] k) => (float[2,n] y) { y, i = TopK(x, k) }", ([2, 0], [2, 7])),
    "TopK, at most three": (
        """(float[2,7] x, int64[1] k) => (float[2,n] y) <int64[1] three = {3}>
        { c = Min(k, three) y, i = TopK(x, c) }""",
        ([2, 0], [2, 3]),
    ),
    "Split": ("(float[6,2] x, int64[2] s) => (float[k,2] y) { y, z = Split(x, s) }", ([0, 2], [6, 2])),
    "Tile": (
        """(float[2,3] x, int64[1] r) => (float[k,3] y) <int64 one = {1}, int64 four = {4}, int64[1] o = {1}>
        { c = Clip(r, one, four) t = Concat<axis = 0>(c, o) y = Tile(x, t) }""",
        ([2, 3], [8, 3]),
    ),
    "Range, up to where an index points": (
        """(float[9] x) => (int64[k] y) <int64 z = {0}, int64 o = {1}>
        { i = ArgMax<axis = 0, keepdims = 0>(x) y = Range(z, i, o) }""",
        ([0], [8]),
    ),
    "Range, downwards by two": (
        """(int64 n) => (int64[k] y) <int64 z = {0}, int64 s = {-2}, int64 low = {3}, int64 high = {9}>
        { i = Clip(n, low, high) y = Range(i, z, s) }""",
        ([2], [5]),
    ),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_that_are_known_at_run_time_only(name: str) -> None:
    """The axis that is cut limits the length, or what is known of the number does; as counted by hand."""
    text, (least, most) = LENGTHS[name]
    assert (shapes(text, 0)[0], shapes(text, 2)[0]) == (least, most)  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    [
        "(int64 n) => (int64[k] y) <int64 z = {0}, int64 o = {1}> { y = Range(z, n, o) }",
        "(float[2] x, int64[1] r) => (float[k] y) { y = Tile(x, r) }",
        """(float[2] x, int64[1] r) => (float[k] y) <int64 low = {0}>
        { c = Clip(r, low) y = Tile(x, c) }""",
    ],
)
def test_what_a_number_makes_as_long_as_it_likes_has_no_bound(text: str) -> None:
    """The op stays, and its result stays unknown."""
    assert shapes(text, 2) == []


@pytest.mark.parametrize("name", CASES)
def test_bounds(name: str) -> None:
    """Least, middling and largest shapes, as counted by hand."""
    text, *expected = CASES[name]
    assert [shapes(text, side) for side in range(3)] == expected


def test_the_largest_shape_is_reached() -> None:
    """NumPy on data with nothing but true elements gives the largest shape, on zeros the least."""
    text = CASES["NonZero"][0]
    assert [list(np.array(np.nonzero(np.full((3, 4), value))).shape) for value in (0, 1)] == [
        shapes(text, 0)[0],  # type: ignore[index]
        shapes(text, 2)[0],  # type: ignore[index]
    ]


def test_what_inference_does_not_know_has_no_bound() -> None:
    """A Reshape to a shape that is an input leaves NonZero without one."""
    assert shapes("(float[4] x, int64[1] s) => (int64[1,k] y) { a = Reshape(x, s) y = NonZero(a) }", 2) is None
