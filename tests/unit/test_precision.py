"""`Precision`: what it takes, how it shows itself, and which targets have it."""

from __future__ import annotations

import pickle

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.precision import PRECISIONS, Keep, check_supported


@pytest.mark.parametrize("base", PRECISIONS)
def test_a_name_is_enough(base: str) -> None:
    """Each name makes a precision, and `of` gives a precision back as it is."""
    made = mt.Precision.of(base)
    assert made == mt.Precision(base) and mt.Precision.of(made) is made
    assert repr(made) == f"Precision('{base}')"


def test_values_are_shown_compared_and_pickled() -> None:
    """What differs from the defaults is shown; equal values are equal, also after pickling."""
    made = mt.Precision("int8", keep=["softmax", "/head/.*"], rest="fp32", method="mse")
    assert repr(made) == "Precision('int8', keep=('softmax', '/head/.*'), rest='fp32', method='mse')"
    assert pickle.loads(pickle.dumps(made)) == made
    assert made != mt.Precision("int8")
    assert str(made) == "int8 + fp32, 2 kept"


def test_exceptions_have_many_forms() -> None:
    """One pattern, several, a mapping to types, and functions all become `Keep` entries."""

    def small(op: object) -> bool:
        return op is None

    assert mt.Precision(keep="softmax").keep == (Keep("softmax"),)
    assert mt.Precision(keep={"a": "fp16", "b": "fp32"}).keep == (Keep("a", "fp16"), Keep("b"))
    assert mt.Precision(keep=small).keep == (Keep(small),)
    assert mt.Precision().with_keep("x", type="fp16").keep == (Keep("x", "fp16"),)


@pytest.mark.parametrize("pattern", ["a b", "x{2}", "p;q,r", "100%", "a->b", "plain"])
def test_a_pattern_survives_a_pipeline(pattern: str) -> None:
    """Characters that mean something in a pipeline's text are escaped there."""
    pipeline = mt.Pipeline.default("cpu", mt.Precision("fp16", keep={pattern: "fp16"}))
    again = mt.Pipeline.parse(str(pipeline))
    assert str(again) == str(pipeline)
    entry = next(entry for entry in again if entry.name == "precision-assign")
    assert [Keep.parse(text) for text in entry.pass_.keep] == [Keep(pattern, "fp16")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"base": "fp61"}, "unknown precision 'fp61'"),
        ({"base": "int8", "rest": "int4"}, "unknown rest= 'int4'"),
        ({"base": "fp16", "rest": "fp32"}, "rest= goes with a quantized precision"),
        ({"base": "int8", "method": "max"}, "unknown method= 'max'"),
        ({"base": "int4", "block": 100}, "block=100 is not a block size"),
        ({"keep": "("}, "keep='(' is not a regular expression"),
        ({"keep": [3]}, "keep= holds an int"),
        ({"keep": 3}, "keep= is an int"),
        ({"keep": b"conv"}, "keep= is a bytes"),
        ({"defaults": "no"}, "defaults='no' is no bool"),
        ({"io": 1}, "io=1 is no bool"),
        ({"base": "FP16"}, "unknown precision 'FP16'"),
        ({"keep": {"a": "int8"}}, "an op cannot be kept in 'int8'"),
    ],
)
def test_values_that_cannot_be(arguments: dict[str, object], said: str) -> None:
    """A wrong value is refused at once, with what there is."""
    with pytest.raises(mt.PrecisionError) as caught:
        mt.Precision(**arguments)
    assert said in caught.value.what and caught.value.hint


def test_names_in_capitals() -> None:
    """What is meant is named, whatever the case."""
    with pytest.raises(mt.PrecisionError) as caught:
        mt.Precision("FP16")
    assert str(caught.value.hint).startswith("did you mean 'fp16'?")


def test_the_rest_depends_on_the_targets() -> None:
    """What is not quantized is fp16 for TensorRT and fp32 for the CPU alone, unless it is said."""
    assert mt.Precision("int8").rest_for(("cpu",)) == "fp32"
    assert mt.Precision("int8").rest_for(("cpu", "sm89")) == "fp16"
    assert mt.Precision("int8", rest="bf16").rest_for(("cpu",)) == "bf16"
    assert mt.Precision("bf16").rest_for(("cpu",)) == "bf16"


@pytest.mark.parametrize(
    ("base", "target", "has"),
    [
        ("fp8", "sm86", "fp32, fp16, bf16, int8, int4"),
        ("int4", "sm75", "fp32, fp16, int8"),
        ("bf16", "sm75", "fp32, fp16, int8"),
    ],
)
def test_a_target_that_lacks_it(base: str, target: str, has: str) -> None:
    """The error says what the target has."""
    with pytest.raises(mt.PrecisionError, match=f"{target} has no {base}") as caught:
        check_supported(mt.Precision(base), (target,))
    assert caught.value.hint == f"it has {has}"


def test_a_pipeline_and_a_precision_contradict() -> None:
    """A pipeline says already which passes run."""
    program = mt.from_mlir("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")
    with pytest.raises(mt.OptionError, match="has no effect"):
        mt.compile(program, precision="fp16", pipeline=mt.Pipeline.default())
