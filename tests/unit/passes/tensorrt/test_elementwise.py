"""Arithmetic, comparisons and activations: numbers as ONNX Runtime has them, and how many layers they take."""

from __future__ import annotations

import ml_dtypes  # noqa: F401  (registers bfloat16 with NumPy)
import numpy as np
import pytest

from .support import check, converted, fallbacks, model, normal, ops, run

SAME = "(float[2,3] x) => (float[2,3] y)"


@pytest.mark.parametrize(
    "name",
    [
        *(
            [
                "Abs",
                "Asinh",
                "Atan",
                "Ceil",
                "Cos",
                "Cosh",
                "Erf",
                "Exp",
                "Floor",
                "Neg",
                "Round",
                "Sign",
                "Sin",
                "Sinh",
                "Tan",
                "Tanh",
                "Relu",
                "Sigmoid",
                "Elu",
            ]
        ),
        *(
            [
                "Selu",
                "Softsign",
                "Softplus",
                "HardSigmoid",
                "HardSwish",
                "Mish",
                "LeakyRelu",
                "ThresholdedRelu",
                "Celu",
                "Identity",
            ]
        ),
    ],
)
def test_functions_of_one_tensor(name):
    """Each function gives ONNX Runtime's numbers, on negative and positive values."""
    proto = model(SAME, f"y = {name}(x)", opset=18)
    x = 3 * normal(2, 3)
    check(proto, {"x": x}) if name != "Identity" else check_passes_through(proto, x)


def check_passes_through(proto, x):
    program = converted(proto)
    assert not ops(program)
    assert fallbacks(program) == {}


@pytest.mark.parametrize("name", ["Acos", "Asin", "Atanh", "Acosh", "Log", "Reciprocal", "Sqrt"])
def test_functions_with_a_domain(name):
    """Functions that are not defined everywhere, inside their domain."""
    low = 1.5 if name == "Acosh" else 0.1
    check(model(SAME, f"y = {name}(x)"), {"x": (low + 0.5 * np.abs(np.tanh(normal(2, 3)))).astype(np.float32)})


@pytest.mark.parametrize("attributes", ["alpha = 0.3", "alpha = 2.0"])
@pytest.mark.parametrize("name", ["LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "HardSigmoid"])
def test_alpha(name, attributes):
    """The first parameter reaches the layer."""
    check(model(SAME, f"y = {name}<{attributes}>(x)"), {"x": 2 * normal(2, 3)})


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate):
    """Both forms of Gelu are one layer."""
    counts = check(
        model(SAME, f'y = Gelu<approximate = "{approximate}">(x)', opset=20),
        {"x": normal(2, 3)},
        tolerance=1e-4,
    )
    assert counts == {"activation": 1}


def test_selu_and_shrink_parameters():
    """Parameters in pairs keep their order."""
    check(model(SAME, "y = Selu<alpha = 2.0, gamma = 0.5>(x)"), {"x": normal(2, 3)})
    check(model(SAME, "y = Shrink<bias = 0.3, lambd = 0.7>(x)"), {"x": 2 * normal(2, 3)})


@pytest.mark.parametrize("name", ["Add", "Sub", "Mul", "Div", "Max", "Min"])
@pytest.mark.parametrize("kind", ["float", "int32", "int64"])
def test_arithmetic_on_each_type(name, kind):
    """Integers stay integers, and a quotient rounds towards zero."""
    dtype = {"float": np.float32, "int32": np.int32, "int64": np.int64}[kind]
    a = np.array([[7, -7, 5], [-5, 4, 9]], dtype)
    b = np.array([[2, 2, -3], [-3, 4, 1]], dtype)
    check(model(f"({kind}[2,3] a, {kind}[2,3] b) => ({kind}[2,3] y)", f"y = {name}(a, b)"), {"a": a, "b": b})


def test_int64_is_not_clamped():
    """Values beyond 32 bits pass through arithmetic whole."""
    a = np.array([2**40 + 1, -(2**40)], np.int64)
    check(model("(int64[2] a) => (int64[2] y)", "y = Add(a, a)"), {"a": a})


@pytest.mark.parametrize(
    ("left", "right", "out"),
    [
        ("2,3,4", "4", "2,3,4"),
        ("4", "2,3,4", "2,3,4"),
        ("2,1,4", "3,1", "2,3,4"),
        ("1", "2,3", "2,3"),
        ("", "2,3", "2,3"),
        ("N,3", "1,3", "N,3"),
        ("N,3", "N,1", "N,3"),
    ],
)
def test_broadcasting(left, right, out):
    """Operands of different rank meet as in ONNX, static and dynamic."""

    def array(dims):
        return normal(*[5 if d == "N" else int(d) for d in dims.split(",") if d])

    def spelled(dims):
        return f"float[{dims}]" if dims else "float"

    proto = model(f"({spelled(left)} a, {spelled(right)} b) => ({spelled(out)} y)", "y = Add(a, b)")
    check(proto, {"a": array(left), "b": array(right)})


def test_a_constant_of_lower_rank_costs_no_layer():
    """Its bytes get the missing dimensions in its type, under a second name, uncopied."""
    bias = normal(48)
    proto = model("(float[2,8,48] x) => (float[2,8,48] y)", "y = Add(x, b)", {"b": bias})
    program = converted(proto)
    assert ops(program) == {"element_wise": 1}
    (weight,) = program.weights.values()
    assert weight.shape == (1, 1, 48)
    np.testing.assert_array_equal(weight.reshape(-1), bias)


@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min"])
def test_many_operands(name):
    """Ops of any number of operands."""
    proto = model("(float[2,3] a, float[3] b, float[1] c) => (float[2,3] y)", f"y = {name}(a, b, c)")
    check(proto, {"a": normal(2, 3), "b": normal(3), "c": normal(1)})


@pytest.mark.parametrize("name", ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"])
def test_comparisons(name):
    """Comparisons give booleans; NaN compares false with everything."""
    a = np.array([1.0, 2.0, np.nan, 3.0], np.float32)
    b = np.array([1.0, 1.0, 1.0, np.nan], np.float32)
    check(model("(float[4] a, float[4] b) => (bool[4] y)", f"y = {name}(a, b)"), {"a": a, "b": b})


@pytest.mark.parametrize("name", ["And", "Or", "Xor"])
def test_logic(name):
    """Logic on booleans, with broadcasting."""
    a, b = np.array([[True], [False]]), np.array([True, False])
    check(model("(bool[2,1] a, bool[2] b) => (bool[2,2] y)", f"y = {name}(a, b)"), {"a": a, "b": b})


def test_where_and_not():
    """A condition chooses element by element, with three-way broadcasting."""
    proto = model("(bool[2,1] c, float[3] a, float[1] b) => (float[2,3] y)", "n = Not(c) y = Where(n, a, b)")
    check(proto, {"c": np.array([[True], [False]]), "a": normal(3), "b": normal(1)})


@pytest.mark.parametrize("exponent", [2.0, 0.5, -1.0])
def test_powers(exponent):
    """Constant exponents, of the base's type and of another."""
    x = np.abs(normal(2, 3)) + 0.1
    check(model(SAME, "y = Pow(x, e)", {"e": np.array(exponent, np.float32)}), {"x": x})
    if exponent.is_integer():
        check(model(SAME, "y = Pow(x, e)", {"e": np.array(exponent, np.int64)}), {"x": x})


@pytest.mark.parametrize("fmod", [0, 1])
def test_mod_of_integers(fmod):
    """fmod = 0 takes the divisor's sign, fmod = 1 the dividend's."""
    a = np.array([7, -7, 7, -7, 6], np.int32)
    b = np.array([3, 3, -3, -3, 3], np.int32)
    proto = model("(int32[5] a, int32[5] b) => (int32[5] y)", f"y = Mod<fmod = {fmod}>(a, b)")
    check(proto, {"a": a, "b": b})


@pytest.mark.parametrize(
    ("low", "high", "layers"),
    [(0.0, 6.0, "activation"), (None, 1.0, "element_wise"), (-0.5, None, "element_wise")],
)
def test_clip_by_constants(low, high, layers):
    """A range is one layer; so is a single bound."""
    constants = {k: np.array(v, np.float32) for k, v in (("lo", low), ("hi", high)) if v is not None}
    text = f"y = Clip(x, {'lo' if low is not None else ''}, {'hi' if high is not None else ''})"
    counts = check(model(SAME, text, constants), {"x": 4 * normal(2, 3)})
    assert counts == {layers: 1}


def test_clip_by_inputs_and_by_attributes():
    """Run-time bounds, and the attributes of opset 6."""
    proto = model("(float[2,3] x, float lo, float hi) => (float[2,3] y)", "y = Clip(x, lo, hi)")
    check(proto, {"x": normal(2, 3), "lo": np.array(-0.2, np.float32), "hi": np.array(0.3, np.float32)})
    check(model(SAME, "y = Clip<min = -0.5, max = 0.25>(x)", opset=10), {"x": normal(2, 3)})


def test_clip_of_integers():
    """Integer bounds, larger than a float can tell apart."""
    limit = np.array(2**53 + 1, np.int64)
    proto = model("(int64[3] x) => (int64[3] y)", "y = Clip(x, , hi)", {"hi": limit})
    check(proto, {"x": np.array([0, 2**53 + 1, 2**53 + 3], np.int64)})


@pytest.mark.parametrize(
    ("source", "target"), [("float", 6), ("float", 7), ("float", 9), ("int64", 1), ("bool", 1)]
)
def test_casts(source, target):
    """Casts cut towards zero; anything but zero is true."""
    dtype = {"float": np.float32, "int64": np.int64, "bool": bool}[source]
    kinds = {1: "float", 6: "int32", 7: "int64", 9: "bool"}
    x = np.array([0, 1.7, -1.7, 3], np.float32).astype(dtype)
    check(model(f"({source}[4] x) => ({kinds[target]}[4] y)", f"y = Cast<to = {target}>(x)"), {"x": x})


@pytest.mark.parametrize("attributes", ["", "exclusive = 1", "reverse = 1", "exclusive = 1, reverse = 1"])
def test_running_sums(attributes):
    """Every direction of CumSum is one layer."""
    proto = model(SAME, f"y = CumSum<{attributes}>(x, a)", {"a": np.array(1, np.int64)})
    assert check(proto, {"x": normal(2, 3)}) == {"cumulative": 1}


@pytest.mark.parametrize("flags", ["", "detect_negative = 0", "detect_positive = 0"])
def test_infinities(flags):
    """IsInf tells the signs apart; IsNaN is its own layer."""
    x = np.array([np.inf, -np.inf, np.nan, 1.0], np.float32)
    check(model("(float[4] x) => (bool[4] y)", f"y = IsInf<{flags}>(x)"), {"x": x})
    check(model("(float[4] x) => (bool[4] y)", "y = IsNaN(x)"), {"x": x})


def test_prelu_slopes():
    """A slope per channel, a scalar slope, and integers."""
    check(
        model("(float[1,3,2,2] x, float[3,1,1] s) => (float[1,3,2,2] y)", "y = PRelu(x, s)"),
        {"x": normal(1, 3, 2, 2), "s": normal(3, 1, 1)},
    )
    check(
        model("(float[2,3] x, float[1] s) => (float[2,3] y)", "y = PRelu(x, s)"),
        {"x": normal(2, 3), "s": normal(1)},
    )


def test_dropout_passes_through_and_keeps_all():
    """At inference Dropout is nothing; its mask, where it is read, is all true."""
    program = converted(model(SAME, "y, m = Dropout(x)"))
    assert not ops(program)
    proto = model("(float[2,3] x) => (float[2,3] y, bool[2,3] m)", "y, m = Dropout(x)")
    check(proto, {"x": normal(2, 3)})


def test_half_precisions_keep_their_type():
    """f16 and bf16 are computed as such, not widened."""
    proto = model("(float16[2,3] x) => (float16[2,3] y)", "y = Add(x, x)")
    check(proto, {"x": normal(2, 3, dtype="float16")}, tolerance=1e-2)
    program = converted(model("(bfloat16[4] x) => (bfloat16[4] y)", "y = Add(x, x)"))
    x = np.arange(4).astype("bfloat16")
    np.testing.assert_array_equal(run(program, {"x": x})[0], x + x)


@pytest.mark.parametrize(
    ("signature", "body", "op", "words"),
    [
        ("(double[2] x) => (double[2] y)", "y = Relu(x)", "onnx.relu", "no element type f64"),
        ("(uint8[2] x) => (uint8[2] y)", "y = Add(x, x)", "onnx.add", "ui8"),
        ("(int16[2] x) => (int16[2] y)", "y = Add(x, x)", "onnx.add", "no element type i16"),
        (
            "(int32[2] x) => (int32[2] y)",
            "y = BitwiseNot(x)",
            "onnx.bitwisenot",
            "no TensorRT layer for BitwiseNot",
        ),
        ("(float[2] x) => (float[2] y)", "y = Tanh(x) ", None, ""),
    ],
)
def test_reasons(signature, body, op, words):
    """What stays behind says why, in words for users."""
    found = fallbacks(converted(model(signature, body, opset=18)))
    if op is None:
        assert found == {}
    else:
        assert words in found[op]


def test_the_option_keep():
    """An op that the user names stays, with that as the reason."""
    found = fallbacks(converted(model(SAME, "y = Relu(x)"), keep=["Relu"]))
    assert found == {"onnx.relu": "Relu is kept by the option keep"}
