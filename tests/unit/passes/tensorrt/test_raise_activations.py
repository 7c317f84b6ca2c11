"""raise-activations."""

import pytest

from .before_after import check, check_unchanged, function, mnemonics, run

X = "%x: tensor<2x8xf32>"
T = "tensor<2x8xf32>"
GELU = (
    function(
        X,
        "%g = tensorrt.activation {{activationType = #tensorrt.activation_type<{0}>}} %x : tensor<2x8xf32>",
        f"%g : {T}",
    )
    .replace("{{", "{")
    .replace("}}", "}")
)


def _number(name: str, value: float) -> str:
    return f"%{name} = tensorrt.constant dense<{value!r}> : tensor<1x1xf32>\n"


def _binary(name: str, kind: str, a: str, b: str) -> str:
    kinds = ", ".join("tensor<1x1xf32>" if v.startswith("c") else T for v in (a, b))
    return f"%{name} = tensorrt.element_wise <{kind}>(%{a}, %{b} : {kinds}) -> {T}\n"


ERF = "%e = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kERF>} %s : tensor<2x8xf32>\n"
TANH = "%e = tensorrt.activation {activationType = #tensorrt.activation_type<kTANH>} %s : tensor<2x8xf32>\n"
NUMBERS = (
    _number("c_half", 0.5) + _number("c_one", 1.0) + _number("c_two", 2.0) + _number("c_root", 2.0**0.5)
) + _number("c_inverse", 0.5**0.5)
DIVIDED = _binary("s", "kDIV", "x", "c_root")
MULTIPLIED = _binary("s", "kPROD", "c_inverse", "x")
ADDED = _binary("a", "kSUM", "e", "c_one")


@pytest.mark.parametrize("scaled", [DIVIDED, MULTIPLIED])
@pytest.mark.parametrize(
    "ending",
    [
        _binary("p", "kPROD", "x", "a") + _binary("g", "kPROD", "p", "c_half"),
        _binary("p", "kPROD", "a", "c_half") + _binary("g", "kPROD", "x", "p"),
        _binary("p", "kPROD", "c_half", "x") + _binary("g", "kPROD", "p", "a"),
        _binary("p", "kDIV", "x", "c_two") + _binary("g", "kPROD", "a", "p"),
        _binary("p", "kPROD", "a", "x") + _binary("g", "kDIV", "p", "c_two"),
    ],
)
def test_gelu_by_erf(scaled, ending):
    """The factors of x * 0.5 * (1 + erf(x / sqrt 2)) in any order are one GELU."""
    before = function(X, NUMBERS + scaled + ERF + ADDED + ending, f"%g : {T}")
    assert mnemonics(run(before, "raise-activations")) == ["activation"]
    check(before, GELU.replace("{0}", "kGELU_ERF"), "raise-activations,canonicalize")


TANH_NUMBERS = NUMBERS + _number("c_k", 0.044715) + _number("c_c", 0.7978845608) + _number("c_three", 3.0)


@pytest.mark.parametrize(
    "cube",
    [
        _binary("q", "kPOW", "x", "c_three"),
        _binary("h", "kPROD", "x", "x") + _binary("q", "kPROD", "h", "x"),
        _binary("h", "kPOW", "x", "c_two") + _binary("q", "kPROD", "x", "h"),
    ],
)
def test_gelu_by_tanh(cube):
    """The cube may be a power or products."""
    inner = cube + _binary("k", "kPROD", "c_k", "q") + _binary("i", "kSUM", "x", "k")
    scaled = _binary("s", "kPROD", "i", "c_c")
    ending = _binary("p", "kPROD", "x", "c_half") + _binary("g", "kPROD", "p", "a")
    before = function(X, TANH_NUMBERS + inner + scaled + TANH + ADDED + ending, f"%g : {T}")
    check(before, GELU.replace("{0}", "kGELU_TANH"), "raise-activations,canonicalize")


PRODUCT = _binary("p", "kPROD", "x", "a") + _binary("g", "kPROD", "p", "c_half")


@pytest.mark.parametrize(
    ("body", "returns"),
    [
        # Another factor than 1 / sqrt(2).
        (_binary("s", "kPROD", "x", "c_half") + ERF + ADDED + PRODUCT, f"%g : {T}"),
        # erf(x) + 2.
        (DIVIDED + ERF + _binary("a", "kSUM", "e", "c_two") + PRODUCT, f"%g : {T}"),
        # Without one half.
        (DIVIDED + ERF + ADDED + _binary("g", "kPROD", "x", "a"), f"%g : {T}"),
        # x twice.
        (
            DIVIDED + ERF + ADDED + _binary("p", "kPROD", "x", "a") + _binary("g", "kPROD", "p", "x"),
            f"%g : {T}",
        ),
        # An inner value is a result too.
        (DIVIDED + ERF + ADDED + PRODUCT, f"%g, %a : {T}, {T}"),
        # tanh of x / sqrt(2) is no GELU.
        (DIVIDED + TANH + ADDED + PRODUCT, f"%g : {T}"),
    ],
)
def test_others_stay(body, returns):
    """A chain that computes something else, or whose inner values are read, is left alone."""
    check_unchanged(function(X, NUMBERS + body, returns), "raise-activations")


def test_location_names_every_op():
    """The activation is said to come from all ops of the chain."""
    named = "\n".join(
        f'{line} loc("n{n}")' if "element_wise" in line or "unary" in line else line
        for n, line in enumerate((NUMBERS + DIVIDED + ERF + ADDED + PRODUCT).splitlines())
    )
    program = run(function(X, named, f"%g : {T}"), "raise-activations")
    block = program.module.body.operations[0].operation.regions[0].blocks[0]
    made = next(op for op in block.operations if op.operation.name == "tensorrt.activation")
    from mlirtrt_nb.ir.locations import sources_of

    assert set(sources_of(made.operation.location)) >= {"n6", "n7", "n8", "n9"}
