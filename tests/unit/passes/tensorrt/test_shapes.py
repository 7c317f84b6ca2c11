"""Reshapes, slices and shape arithmetic: static ones cost nothing at run time, dynamic ones stay right."""

from __future__ import annotations

import numpy as np
import pytest

from .support import check, converted, fallbacks, model, normal, ops

MAX = np.iinfo(np.int64).max


def ints(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("target", [(6, 4), (2, -1), (0, 0, 2, 2), (-1,), (0, -1), (24,), (1, 2, 3, 4)])
def test_static_reshapes(target):
    """Zeros and -1 are worked out before run time."""
    rank = ",".join("ABCDE"[: len(target)])
    proto = model(f"(float[2,3,4] x) => (float[{rank}] y)", "y = Reshape(x, s)", {"s": ints(*target)})
    assert check(proto, {"x": normal(2, 3, 4)}) == {"shuffle": 1}


@pytest.mark.parametrize("target", [(0, 0, 2, 4), (0, -1, 2, 4), (-1, 8), (0, -1), (0, -1, 1, 8)])
def test_reshapes_of_dynamic_dimensions(target):
    """With 0 and -1 the layer needs no shape to be computed."""
    rank = ",".join("ABCDE"[: len(target)])
    proto = model(f"(float[N,M,8] x) => (float[{rank}] y)", "y = Reshape(x, s)", {"s": ints(*target)})
    assert check(proto, {"x": normal(2, 3, 8)}, {"x": normal(4, 1, 8)}) == {"shuffle": 1}


def test_a_shape_that_is_read_and_put_together():
    """The idiom of exporters, Concat(Gather(Shape(x)), ...), is read as what it means: one layer."""
    body = """
        s = Shape(x)  b = Gather(s, zero)  n = Gather(s, one)
        b1 = Unsqueeze(b, axes)  n1 = Unsqueeze(n, axes)
        t = Concat<axis = 0>(b1, n1, heads, minus)
        y = Reshape(x, t)
    """
    constants = {
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "axes": ints(0),
        "heads": ints(4),
        "minus": ints(-1),
    }
    proto = model("(float[N,M,8] x) => (float[N,M,4,P] y)", body, constants)
    assert check(proto, {"x": normal(2, 3, 8)}, {"x": normal(1, 5, 8)}) == {"shuffle": 1}


def test_dimensions_are_traced_through_ops():
    """A batch size read before a convolution is known after it."""
    body = """
        s = Shape<start = 0, end = 1>(x)
        c = Conv(x, w)
        t = Concat<axis = 0>(s, rest)
        y = Reshape(c, t)
    """
    constants = {"w": normal(4, 3, 3, 3), "rest": ints(-1)}
    proto = model("(float[N,3,H,W] x) => (float[N,P] y)", body, constants)
    counts = check(proto, {"x": normal(2, 3, 5, 6)}, {"x": normal(1, 3, 4, 4)}, tolerance=1e-4)
    assert counts == {"convolution": 1, "shuffle": 1}


def test_a_shape_that_must_be_computed():
    """Dimensions that changed places are read at run time."""
    body = "s = Shape(x)  t = Gather(s, order)  y = Reshape(x, t)"
    proto = model("(float[N,M,H] x) => (float[H,N,M] y)", body, {"order": ints(2, 0, 1)})
    check(proto, {"x": normal(2, 3, 4)}, {"x": normal(3, 1, 5)})


def test_a_shape_made_from_data_stays_on_the_host():
    """A reshape whose target is computed from data is no layer."""
    body = "a = Abs(d)  t = Cast<to = 7>(a)  y = Reshape(x, t)"
    proto = model("(float[N,4] x, float[2] d) => (float[A,B] y)", body)
    assert fallbacks(converted(proto)) == {"onnx.reshape": "shape is computed from data"}


def test_allowzero():
    """With allowzero a 0 means no elements."""
    constants = {"s": ints(0, 4)}
    proto = model("(float[0,3] x) => (float[0,4] y)", "y = Reshape<allowzero = 1>(x, s)", constants)
    check(proto, {"x": np.zeros((0, 3), np.float32)})


@pytest.mark.parametrize("axis", [-3, -1, 0, 1, 2, 3])
@pytest.mark.parametrize("signature", ["2,3,4", "N,3,4", "N,M,4"])
def test_flatten(axis, signature):
    """Every legal axis, with dynamic dimensions on both sides of it."""
    proto = model(f"(float[{signature}] x) => (float[A,B] y)", f"y = Flatten<axis = {axis}>(x)")
    check(proto, {"x": normal(2, 3, 4)})


def test_squeeze_and_unsqueeze():
    """Unit dimensions come and go, by attribute and by input, with dynamic ones between."""
    proto = model("(float[N,1,M,1] x) => (float[N,M] y)", "y = Squeeze(x, a)", {"a": ints(1, -1)})
    check(proto, {"x": normal(2, 1, 3, 1)})
    check(model("(float[2,1,3] x) => (float[2,3] y)", "y = Squeeze(x)"), {"x": normal(2, 1, 3)})
    check(
        model("(float[2,3] x) => (float[1,2,3,1] y)", "y = Unsqueeze<axes = [0, 3]>(x)", opset=11),
        {"x": normal(2, 3)},
    )
    proto = model("(float[N,M] x) => (float[N,1,M,1] y)", "y = Unsqueeze(x, a)", {"a": ints(-1, 1)})
    check(proto, {"x": normal(2, 3)})


def test_squeeze_of_a_dimension_known_only_at_run_time():
    """A dimension that is declared dynamic and is named in axes."""
    proto = model("(float[N,K,3] x) => (float[N,3] y)", "y = Squeeze(x, a)", {"a": ints(1)})
    assert check(proto, {"x": normal(2, 1, 3)}) == {"squeeze": 1}


def test_transpose():
    """A given order, and the default one."""
    check(
        model("(float[N,3,4] x) => (float[4,N,3] y)", "y = Transpose<perm = [2, 0, 1]>(x)"),
        {"x": normal(2, 3, 4)},
    )
    check(model("(float[2,3,4] x) => (float[4,3,2] y)", "y = Transpose(x)"), {"x": normal(2, 3, 4)})


SLICES = [
    ((0,), (2,), (0,), None),
    ((1,), (MAX,), (1,), None),
    ((-2,), (MAX,), (1,), None),
    ((0,), (-1,), (1,), None),
    ((1,), (-1,), (0,), None),
    ((0,), (100,), (1,), (2,)),
    ((1,), (MAX,), (1,), (3,)),
    ((100,), (200,), (1,), None),
    ((-100,), (3,), (1,), None),
    ((-1,), (-MAX,), (1,), (-1,)),
    ((-1,), (-MAX,), (1,), (-2,)),
    ((3,), (0,), (1,), (-1,)),
    ((100,), (-5,), (1,), (-2,)),
    ((-3,), (1,), (1,), (-1,)),
    ((0,), (3,), (1,), (-1,)),
    ((1, 0), (3, 5), (0, 1), (1, 2)),
]


@pytest.mark.parametrize(("starts", "ends", "axes", "steps"), SLICES)
@pytest.mark.parametrize("dims", ["4,6", "N,6", "4,M", "N,M"])
def test_slices(starts, ends, axes, steps, dims):
    """Every way to say where a slice begins and ends, on static and dynamic dimensions."""
    constants = {"s": ints(*starts), "e": ints(*ends), "a": ints(*axes)}
    if steps is not None:
        constants["t"] = ints(*steps)
    text = f"y = Slice(x, s, e, a{', t' if steps else ''})"
    proto = model(f"(float[{dims}] x) => (float[A,B] y)", text, constants)
    check(proto, {"x": normal(4, 6)})


def test_slices_up_to_a_dimension_of_another_tensor():
    """Position embeddings are cut to the length of the sequence; -1 and sums count too."""
    body = """
        s = Shape(x)  n = Slice(s, one, two)  m = Add(n, minus)
        p = Slice(table, zero, n, zero)  q = Slice(table, m, n, zero)
    """
    constants = {"one": ints(1), "two": ints(2), "zero": ints(0), "minus": ints(-2), "table": normal(16, 4)}
    proto = model("(float[N,M,4] x) => (float[M,4] p, float[K,4] q)", body, constants)
    check(proto, {"x": normal(2, 5, 4)}, {"x": normal(1, 16, 4)}, {"x": normal(1, 2, 4)})


def test_padding_and_repetition_by_dimensions():
    """Amounts that are computed from shapes."""
    body = "s = Shape<start = 0, end = 1>(x)  p = Concat<axis = 0>(zero, zero, s, zero)  y = Pad(x, p)"
    proto = model("(float[N,3] x) => (float[A,3] y)", body, {"zero": ints(0)})
    check(proto, {"x": normal(2, 3)}, {"x": normal(4, 3)})
    body = "s = Shape<start = 0, end = 1>(x)  r = Concat<axis = 0>(s, two)  y = Tile(x, r)"
    check(model("(float[N,3] x) => (float[A,6] y)", body, {"two": ints(2)}), {"x": normal(2, 3)})


def test_range_between_computed_bounds():
    """Start, end and step may be sums of dimensions, in either direction."""
    for start, limit, step in (("one", "n", "two"), ("n", "one", "back"), ("n", "m", "one")):
        body = f"s = Shape(x)  n = Gather(s, zero)  m = Mul(n, two)  y = Range({start}, {limit}, {step})"
        numbers = {"zero": 0, "one": 1, "two": 2, "back": -2}
        constants = {k: np.array(v, np.int64) for k, v in numbers.items()}
        proto = model("(float[N,3] x) => (int64[K] y)", body, constants)
        check(proto, {"x": normal(4, 3)}, {"x": normal(7, 3)}, {"x": normal(1, 3)})


def test_slices_with_reversed_steps_on_every_axis():
    """Reversal within bounds, in three dimensions at once."""
    constants = {"s": ints(-1, 3, 4), "e": ints(-MAX, 0, -6), "a": ints(0, 1, 2), "t": ints(-1, -1, -2)}
    proto = model("(float[3,5,6] x) => (float[A,B,C] y)", "y = Slice(x, s, e, a, t)", constants)
    check(proto, {"x": normal(3, 5, 6)})


def test_slice_of_opset_9():
    """Bounds as attributes."""
    text = "y = Slice<starts = [1, 0], ends = [3, -1], axes = [1, 0]>(x)"
    check(model("(float[3,5] x) => (float[2,2] y)", text, opset=9), {"x": normal(3, 5)})


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_split(opset):
    """Equal parts, given lengths, and a part that nothing reads."""
    if opset == 11:
        text = "a, b = Split<axis = 1, split = [2, 4]>(x)"
    elif opset == 13:
        text = "a, b = Split<axis = 1>(x, l)"
    else:
        text = "a, b = Split<axis = 1, num_outputs = 2>(x)"
    constants = {"l": ints(2, 4)} if opset == 13 else {}
    proto = model("(float[N,6] x) => (float[N,P] a, float[N,Q] b)", text, constants, opset=opset)
    check(proto, {"x": normal(3, 6)})
    unread = model("(float[2,6] x) => (float[2,3] a)", "a, b = Split<axis = 1, num_outputs = 2>(x)", opset=18)
    assert check(unread, {"x": normal(2, 6)}) == {"slice": 1}


def test_concat():
    """Along any axis, and of a single tensor."""
    proto = model("(float[N,2] a, float[N,3] b) => (float[N,5] y)", "y = Concat<axis = -1>(a, b)")
    check(proto, {"a": normal(2, 2), "b": normal(2, 3)})


@pytest.mark.parametrize(
    ("mode", "pads", "value"),
    [
        ("constant", (0, 1, 2, 0), None),
        ("constant", (1, 1, 1, 1), 2.5),
        ("reflect", (1, 2, 1, 1), None),
        ("edge", (2, 2, 0, 1), None),
        ("constant", (-1, 0, 0, -2), None),
        ("constant", (-1, 2, 1, -2), None),
        ("wrap", (1, 1, 2, 0), None),
    ],
)
@pytest.mark.parametrize("dims", ["4,5", "N,M"])
def test_padding(mode, pads, value, dims):
    """Every mode and sign of padding is one layer and its shape."""
    constants = {"p": ints(*pads)}
    if value is not None:
        constants["v"] = np.array(value, np.float32)
    text = f'y = Pad<mode = "{mode}">(x, p{", v" if value is not None else ""})'
    proto = model(f"(float[{dims}] x) => (float[A,B] y)", text, constants, opset=19)
    check(proto, {"x": normal(4, 5)})


def test_padding_of_some_axes_and_of_opset_10():
    """axes of opset 18; pads as an attribute."""
    proto = model(
        "(float[2,3] x) => (float[2,6] y)", "y = Pad(x, p, , a)", {"p": ints(1, 2), "a": ints(-1)}, opset=18
    )
    check(proto, {"x": normal(2, 3)})
    check(
        model("(float[2,3] x) => (float[3,3] y)", "y = Pad<pads = [1, 0, 0, 0], value = 1.5>(x)", opset=10),
        {"x": normal(2, 3)},
    )


@pytest.mark.parametrize(
    ("dims", "target"), [("3,1", (2, 3, 4)), ("3,1", (3, 1)), ("3,4", (1, 1)), ("N,1", (1, 4)), ("1,N", (4, 1))]
)
def test_expand(dims, target):
    """Both sides broadcast."""
    rank = ",".join("ABCDE"[: max(len(target), 2)])
    proto = model(f"(float[{dims}] x) => (float[{rank}] y)", "y = Expand(x, s)", {"s": ints(*target)})
    shape = [3 if d == "N" else int(d) for d in dims.split(",")]
    check(proto, {"x": normal(*shape)})


def test_expand_to_a_shape_of_the_graph():
    """The target is the shape of another tensor."""
    proto = model("(float[1,M] x, float[N,M] z) => (float[N,M] y)", "s = Shape(z)  y = Expand(x, s)")
    check(proto, {"x": normal(1, 3), "z": normal(2, 3)})


def test_tile_and_constant_of_shape():
    """Repetition, and constants of a dynamic shape."""
    check(model("(float[N,3] x) => (float[A,6] y)", "y = Tile(x, r)", {"r": ints(2, 2)}), {"x": normal(2, 3)})
    body = "s = Shape(x)  y = ConstantOfShape<value = float[1] {1.5}>(s)"
    check(model("(float[N,3] x) => (float[N,3] y)", body), {"x": normal(2, 3)}, {"x": normal(5, 3)})


def test_shape_and_size_as_results():
    """Shapes leave the function as int64."""
    check(model("(float[N,3,M] x) => (int64[3] y)", "y = Shape(x)"), {"x": normal(2, 3, 4)})
    check(model("(float[N,3,M] x) => (int64[2] y)", "y = Shape<start = 1>(x)"), {"x": normal(2, 3, 4)})
    check(model("(float[N,3] x) => (int64 y)", "y = Size(x)"), {"x": normal(2, 3)})
    program = converted(model("(float[2,3] x) => (int64[2] y)", "y = Shape(x)"))
    assert ops(program) == {}


def test_range_up_to_a_dimension():
    """Positions 0, 1, 2, ... as many as there are rows."""
    constants = {"zero": np.array(0, np.int64), "one": np.array(1, np.int64)}
    body = "s = Shape(x)  n = Gather(s, zero)  y = Range(zero, n, one)"
    check(model("(float[N,3] x) => (int64[N] y)", body, constants), {"x": normal(4, 3)})


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode):
    """Blocks of channels become blocks of pixels, and back."""
    proto = model(
        "(float[N,8,H,3] x) => (float[N,2,P,6] y)", f'y = DepthToSpace<blocksize = 2, mode = "{mode}">(x)'
    )
    check(proto, {"x": normal(1, 8, 2, 3)})
    check(
        model("(float[N,2,4,6] x) => (float[N,8,2,3] y)", "y = SpaceToDepth<blocksize = 2>(x)"),
        {"x": normal(1, 2, 4, 6)},
    )


def test_trilu_and_eye():
    """Triangles keep their offset."""
    for upper, k in ((1, 0), (0, 1), (1, -1)):
        proto = model(
            "(float[2,3,4] x) => (float[2,3,4] y)",
            f"y = Trilu<upper = {upper}>(x, k)",
            {"k": np.array(k, np.int64)},
        )
        check(proto, {"x": normal(2, 3, 4)})
    check(model("(float[3,4] x) => (float[3,4] y)", "y = EyeLike<k = 1>(x)"), {"x": normal(3, 4)})


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [-2, 0, 1, MAX, -MAX])
def test_triangles_of_varying_lengths(upper, k):
    """A causal mask of any sequence length stays in the engine."""
    proto = model(
        "(float[N,R,C] x) => (float[N,R,C] y)",
        f"y = Trilu<upper = {upper}>(x, k)",
        {"k": np.array(k, np.int64)},
    )
    for shape in ((1, 1, 1), (2, 3, 5), (1, 4, 2)):
        check(proto, {"x": normal(*shape)})
    assert not fallbacks(converted(proto))


def test_what_reads_an_unknown_rank_stays():
    """An op whose second result nobody reads, on a value of unknown rank, stays with a reason."""
    program = converted(model("(float[] x, float[4] s) => (float[] y)", "y = LayerNormalization(x, s)"))
    assert fallbacks(program) == {"onnx.layernormalization": "tensor<*xf32> is not a tensor of known rank"}
