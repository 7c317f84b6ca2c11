"""Matrix products, reductions, normalizations, softmax and attention."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from .support import check, converted, fallbacks, model, normal, ops, run

TOLERANCE = 1e-4


@pytest.mark.parametrize(
    ("left", "right", "out"),
    [
        ("2,3", "3,4", "2,4"),
        ("5,2,3", "3,4", "5,2,4"),
        ("2,3", "5,3,4", "5,2,4"),
        ("5,1,2,3", "6,3,4", "5,6,2,4"),
        ("3", "3,4", "4"),
        ("2,3", "3", "2"),
        ("3", "3", ""),
        ("3", "5,3,4", "5,4"),
        ("5,2,3", "3", "5,2"),
        ("N,M,3", "3,4", "N,M,4"),
        ("N,2,M", "N,M,4", "N,2,4"),
    ],
)
def test_matmul(left, right, out):
    """Every pair of ranks that NumPy's matmul takes."""

    def spelled(dims):
        return f"float[{dims}]" if dims else "float"

    def array(dims):
        return normal(*[{"N": 2, "M": 5}.get(d) or int(d) for d in dims.split(",")])

    proto = model(f"({spelled(left)} a, {spelled(right)} b) => ({spelled(out)} y)", "y = MatMul(a, b)")
    check(proto, {"a": array(left), "b": array(right)}, tolerance=TOLERANCE)


def test_matmul_with_a_constant_is_one_layer():
    """A weight of rank 2 meets a batch without a layer of its own, without a copy, and by its own name."""
    program = converted(
        model("(float[N,M,32] x) => (float[N,M,64] y)", "y = MatMul(x, w)", {"w": normal(32, 64)})
    )
    assert ops(program) == {"matrix_multiply": 1}
    ((name, weight),) = program.weights.items()
    assert (name, weight.shape) == ("w.1x32x64", (1, 32, 64))


@pytest.mark.parametrize("scale", [(), (4,), (2, 4)])
@pytest.mark.parametrize("kind", [np.int8, ml_dtypes.int4])
def test_matmul_with_dequantized_weights_is_two_layers(scale, kind):
    """The small numbers meet the batch: nothing stands between their layer and the product, which engines
    would do again on every run."""
    weights, steps = (
        (np.arange(32).reshape(8, 4) % 15 - 7).astype(kind),
        np.abs(normal(*scale)) + np.float32(0.1),
    )
    options = "<axis = 0, block_size = 4>" if len(scale) == 2 else "<axis = 1>"
    body = f"d = DequantizeLinear{options}(w, s)  y = MatMul(x, d)"
    program = converted(
        model("(float[N,M,8] x) => (float[N,M,4] y)", body, {"w": weights, "s": steps.astype(np.float32)}, 21)
    )
    x, wide = normal(2, 3, 8), steps.repeat(4, axis=0) if len(scale) == 2 else steps
    np.testing.assert_allclose(run(program, {"x": x})[0], x @ (weights * wide), rtol=TOLERANCE, atol=TOLERANCE)
    assert not ops(program)["expand_rank"] and ops(program)["matrix_multiply"] == 1


def test_dequantized_weights_that_products_of_two_ranks_read():
    """A product of matrices reads them as they are, one of batches with a dimension in front."""
    weights, steps = np.arange(12).reshape(3, 4).astype(np.int8), np.array([0.1, 0.2, 0.3], np.float32)
    body = "d = DequantizeLinear<axis = 0>(w, s)  y = MatMul(x, d)  z = MatMul(v, d)"
    signature = "(float[5,2,3] x, float[2,3] v) => (float[5,2,4] y, float[2,4] z)"
    program = converted(model(signature, body, {"w": weights, "s": steps}))
    x, v = normal(5, 2, 3), normal(2, 3)
    for found, given in zip(run(program, {"x": x, "v": v}), (x, v), strict=True):
        np.testing.assert_allclose(found, given @ (weights * steps[:, None]), rtol=TOLERANCE, atol=TOLERANCE)
    assert ops(program) == {"dequantize": 2, "matrix_multiply": 2}


@pytest.mark.parametrize(
    "attributes",
    ["", "transA = 1", "transB = 1", "transA = 1, transB = 1", "alpha = 0.5, beta = 2.0", "beta = 0.0"],
)
@pytest.mark.parametrize("bias", [(4,), (2, 4), (2, 1), ()])
def test_gemm(attributes, bias):
    """Every transposition and scale, with each form of C."""
    a = (3, 2) if "transA" in attributes else (2, 3)
    b = (4, 3) if "transB" in attributes else (3, 4)
    constants = {"b": normal(*b), "c": np.asarray(normal(*bias), np.float32)}
    proto = model(f"(float[{a[0]},{a[1]}] a) => (float[2,4] y)", f"y = Gemm<{attributes}>(a, b, c)", constants)
    check(proto, {"a": normal(*a)}, tolerance=TOLERANCE)


def test_gemm_weights_keep_their_layout():
    """transB is the layer's own transposition: the weight keeps its name and bytes."""
    program = converted(
        model("(float[2,32] a) => (float[2,64] y)", "y = Gemm<transB = 1>(a, w)", {"w": normal(64, 32)})
    )
    assert list(program.weights) == ["w"]
    assert ops(program) == {"matrix_multiply": 1}


@pytest.mark.parametrize(
    "equation",
    [
        "bij,bjk->bik",
        "bhid,bhjd->bhij",
        "ij,jk",
        "ij->ji",
        "...ij,...jk->...ik",
        "i,j->ij",
        "Ab,bC->AC",
        "bij,jk,kl->bil",
    ],
)
def test_einsum(equation):
    """Implicit results, ellipses, capitals, and three operands."""
    shapes = {
        "bij": (2, 3, 4),
        "bjk": (2, 4, 5),
        "bhid": (2, 3, 4, 5),
        "bhjd": (2, 3, 6, 5),
        "ij": (3, 4),
        "jk": (4, 5),
    }
    shapes |= {
        "...ij": (2, 3, 4),
        "...jk": (2, 4, 5),
        "i": (3,),
        "j": (4,),
        "Ab": (3, 4),
        "bC": (4, 5),
        "kl": (5, 2),
    }
    terms = equation.split("->")[0].split(",")
    names = "abc"[: len(terms)]
    inputs = ", ".join(f"float[{','.join(map(str, shapes[t]))}] {n}" for n, t in zip(names, terms, strict=True))
    rank = len(equation.split("->")[1].replace("...", "x")) if "->" in equation else 2
    result = ",".join("PQRST"[:rank])
    proto = model(
        f"({inputs}) => (float[{result}] y)", f'y = Einsum<equation = "{equation}">({", ".join(names)})'
    )
    check(proto, {n: normal(*shapes[t]) for n, t in zip(names, terms, strict=True)}, tolerance=TOLERANCE)


REDUCTIONS = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSumExp",
]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("axes", "keep"), [((1,), 1), ((-1, 0), 0), (None, 1)])
def test_reductions(name, axes, keep):
    """Axes as input (opset 18), kept and dropped, and all of them."""
    constants = {} if axes is None else {"a": np.array(axes, np.int64)}
    text = f"y = {name}<keepdims = {keep}>(x{'' if axes is None else ', a'})"
    rank = 3 if keep else 3 - len(axes or (0, 1, 2))
    dims = ",".join("PQR"[:rank])
    proto = model(f"(float[N,3,4] x) => (float{f'[{dims}]' if dims else ''} y)", text, constants, opset=18)
    check(proto, {"x": normal(2, 3, 4)}, tolerance=TOLERANCE)


def test_reductions_of_older_opsets_and_of_nothing():
    """Axes as an attribute; an empty list that means none."""
    check(
        model("(float[2,3] x) => (float[2] y)", "y = ReduceMean<axes = [1], keepdims = 0>(x)", opset=11),
        {"x": normal(2, 3)},
    )
    text = "y = ReduceSum<noop_with_empty_axes = 1>(x, a)"
    program = converted(model("(float[2,3] x) => (float[2,3] y)", text, {"a": np.zeros(0, np.int64)}))
    assert ops(program) == {}
    check(
        model(
            "(float[2,3] x) => (float[2,1] y)",
            "l = Abs(x) y = ReduceLogSum(l, a)",
            {"a": np.array([1])},
            opset=18,
        ),
        {"x": normal(2, 3)},
    )


def test_log_sum_exp_does_not_overflow():
    """Large values stay finite."""
    proto = model(
        "(float[2,3] x) => (float[2,1] y)", "y = ReduceLogSumExp(x, a)", {"a": np.array([1])}, opset=18
    )
    check(proto, {"x": normal(2, 3) + 500})


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("opset", [11, 13])
def test_softmax_kinds(name, axis, opset):
    """Up to opset 12 all dimensions from the axis on are normalised together, after it one."""
    proto = model(
        "(float[2,3,4] x) => (float[2,3,4] y)",
        f"y = {name}<{'' if axis is None else f'axis = {axis}'}>(x)",
        opset=opset,
    )
    program = converted(proto)
    if name == "Hardmax" and opset == 11 and axis != -1:
        assert fallbacks(program) == {"onnx.hardmax": "more than one axis"}
        return
    check(proto, {"x": normal(2, 3, 4)})


def test_softmax_is_one_layer_where_one_axis_counts():
    """[1, 1000, 1, 1] with axis 1 under opset 9 is a plain softmax."""
    proto = model("(float[1,10,1,1] x) => (float[1,10,1,1] y)", "y = Softmax(x)", opset=9)
    assert check(proto, {"x": normal(1, 10, 1, 1)}) == {"softmax": 1}
    check(model("(float[5] x) => (float[5] y)", "y = Softmax(x)", opset=13), {"x": normal(5)})


def test_log_softmax_keeps_what_is_far_below_the_largest():
    """exp underflows at -200; its logarithm must not become minus infinity."""
    x = np.array([[0, -200.0, -300.0]], np.float32)
    check(model("(float[1,3] x) => (float[1,3] y)", "y = LogSoftmax(x)"), {"x": x})


@pytest.mark.parametrize(("axis", "shape"), [(-1, (8,)), (1, (3, 8))])
@pytest.mark.parametrize("bias", [True, False])
def test_layer_normalization(axis, shape, bias):
    """One layer, with and without a bias."""
    constants = {"s": normal(*shape)} | ({"b": normal(*shape)} if bias else {})
    text = f"y = LayerNormalization<axis = {axis}, epsilon = 0.001>(x, s{', b' if bias else ''})"
    proto = model("(float[N,3,8] x) => (float[N,3,8] y)", text, constants)
    assert check(proto, {"x": normal(2, 3, 8)}, tolerance=TOLERANCE) == {"normalization": 1}


def test_layer_normalization_with_its_statistics():
    """Mean and inverse deviation, where they are read."""
    proto = model(
        "(float[2,3,8] x) => (float[2,3,8] y, float[2,3,1] m, float[2,3,1] d)",
        "y, m, d = LayerNormalization(x, s, b)",
        {"s": normal(8), "b": normal(8)},
    )
    check(proto, {"x": normal(2, 3, 8)}, tolerance=TOLERANCE)


@pytest.mark.parametrize("dims", [(2, 3, 5), (2, 3, 4, 5)])
def test_batch_normalization(dims):
    """Constant statistics make one scale layer; computed ones a few."""
    signature = ",".join(map(str, dims))
    statistics = {k: normal(3) for k in "sbm"} | {"v": np.abs(normal(3)) + 0.5}
    body = "y = BatchNormalization<epsilon = 0.01>(x, s, b, m, v)"
    proto = model(f"(float[{signature}] x) => (float[{signature}] y)", body, statistics)
    assert check(proto, {"x": normal(*dims)}, tolerance=TOLERANCE) == {"scale": 1}
    inputs = ", ".join(f"float[3] {k}" for k in "sbmv")
    proto = model(f"(float[{signature}] x, {inputs}) => (float[{signature}] y)", body)
    check(proto, {"x": normal(*dims), **statistics}, tolerance=TOLERANCE)


def test_batch_normalization_of_rank_2():
    """The scale layer takes three dimensions, so two are spelled out."""
    statistics = {k: normal(3) for k in "sbm"} | {"v": np.abs(normal(3)) + 0.5}
    proto = model("(float[N,3] x) => (float[N,3] y)", "y = BatchNormalization(x, s, b, m, v)", statistics)
    check(proto, {"x": normal(2, 3)}, tolerance=TOLERANCE)


def test_instance_normalization():
    """Over the positions of each channel, in one and two dimensions."""
    for dims in ((2, 3, 6), (2, 3, 4, 5)):
        signature = ",".join(map(str, dims))
        proto = model(
            f"(float[{signature}] x) => (float[{signature}] y)",
            "y = InstanceNormalization(x, s, b)",
            {"s": normal(3), "b": normal(3)},
        )
        check(proto, {"x": normal(*dims)}, tolerance=TOLERANCE)


def test_lrn_and_lp_normalization():
    """Local response, and the l1 and l2 norm along an axis."""
    proto = model(
        "(float[1,8,3,3] x) => (float[1,8,3,3] y)", "y = LRN<size = 5, alpha = 0.01, beta = 0.5, bias = 2.0>(x)"
    )
    assert check(proto, {"x": normal(1, 8, 3, 3)}) == {"lrn": 1}
    for p in (1, 2):
        check(
            model("(float[2,3] x) => (float[2,3] y)", f"y = LpNormalization<p = {p}>(x)"), {"x": normal(2, 3)}
        )


def test_decomposed_attention_with_a_mask():
    """The ops of an exported transformer: products, a mask, a softmax, reshapes of two dynamic dimensions."""
    body = """
        q = MatMul(x, w)  q4 = Reshape(q, heads)  qt = Transpose<perm = [0, 2, 1, 3]>(q4)
        kt = Transpose<perm = [0, 2, 3, 1]>(q4)
        s = MatMul(qt, kt)  sm = Add(s, mask)  p = Softmax<axis = -1>(sm)
        o = MatMul(p, qt)  ot = Transpose<perm = [0, 2, 1, 3]>(o)  y = Reshape(ot, back)
    """
    constants = {
        "w": normal(16, 16),
        "heads": np.array([0, 0, 4, 4]),
        "back": np.array([0, 0, 16]),
    }
    proto = model("(float[N,S,16] x, float[N,1,1,S] mask) => (float[N,S,16] y)", body, constants)
    counts = check(proto, {"x": normal(2, 5, 16), "mask": normal(2, 1, 1, 5)}, tolerance=TOLERANCE)
    assert counts == {"matrix_multiply": 3, "shuffle": 5, "element_wise": 1, "softmax": 1}


@pytest.mark.parametrize(
    ("attributes", "parts", "axis", "length"),
    [
        ("", 1, 1, None),
        ("", 2, 2, 4),
        ("", 1, 1, 9),
        ("inverse = 1", 2, 1, None),
        ("inverse = 1", 2, 2, 7),
        ("onesided = 1", 1, 1, None),
        ("onesided = 1", 1, 2, 4),
    ],
)
def test_fourier_transforms(attributes, parts, axis, length):
    """Real and complex input, either direction, cut and filled to a length."""
    constants = {"n": np.array(length, np.int64)} if length else {}
    text = f"y = DFT<axis = {axis}{', ' + attributes if attributes else ''}>(x{', n' if length else ''})"
    proto = model(f"(float[2,6,5,{parts}] x) => (float[P,Q,R,2] y)", text, constants)
    check(proto, {"x": normal(2, 6, 5, parts)}, tolerance=1e-3)


@pytest.mark.parametrize("name", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_window_functions(name, periodic):
    """A window of known size is a constant."""
    proto = model(
        "(float[10] x) => (float[10] y)",
        f"w = {name}<periodic = {periodic}>(n)  y = Mul(x, w)",
        {"n": np.array(10)},
    )
    assert check(proto, {"x": normal(10)}) == {"element_wise": 1}
