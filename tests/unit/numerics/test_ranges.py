"""Ranges are found before any build, and what they say cures what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

import mlirtrt_nb as mt
from mlirtrt_nb.errors import Cancelled, InputError
from mlirtrt_nb.ir import dtypes
from mlirtrt_nb.numerics.ranges import OpRange

from .models import classifier, faint, inputs, overflowing
from .programs import exponential


def test_overflow_is_found_and_its_cure_works() -> None:
    """blow is named with its largest value; the precision that keeps it is right where fp16 is not."""
    samples = inputs((4, 8))
    found = mt.ranges(overflowing(), samples)
    bad = [finding for finding in found.findings if finding.level == "bad"]
    assert [finding.source for finding in bad] == ["blow"]
    assert bad[0].value > 65504
    assert "divide what comes in by" in bad[0].cure
    assert bad[0].keep == "blow" and bad[0].patterns == ("blow", "shrink")  # which reads it
    assert "keep=('blow', 'shrink')" in str(found)
    cured = found.precision("fp16")
    assert [entry.pattern for entry in cured.keep] == ["blow", "shrink"]
    curve = mt.error_curve(overflowing(), cured, samples)
    assert curve.overflow is None and curve.first_bad is None
    for base in ("bf16", "fp32", mt.Precision("int8", rest="bf16")):
        assert found.precision(base) == mt.Precision.of(base)  # these hold what f16 does not


@pytest.mark.parametrize(
    ("nodes", "cures"),
    [
        ("y = Softmax(x)", {"y": "none needed: fp16 keeps it in fp32 (softmax sums exponentials)"}),
        ("y = Exp(x)", {"y": "none needed: fp16 keeps it in fp32 (exp magnifies rounding errors)"}),
        ("e = Exp(x)  y = Relu(e)", {
            "e": "keep what reads it in fp32 too, or take bf16",
            "y": "keep it in fp32, take bf16, or scale its input up",
        }),
        ("y = Reciprocal(x)", {"y": "keep it in fp32, or take bf16"}),
    ],
)  # fmt: skip
def test_the_advice_is_that_of_the_op(nodes: str, cures: dict[str, str]) -> None:
    """What fp16 keeps in fp32 needs no cure unless it is read in f16; a scaled input helps linear ops only."""
    x = np.array([[1e9] * 4 if "Reciprocal" in nodes else [0, -40, -60, -80]], np.float32)
    text = f'<ir_version: 8, opset_import: ["" : 17]> main (float[1,4] x) => (float[1,4] y) {{ {nodes} }}'
    found = mt.ranges(parser.parse_model(text), x)
    assert {finding.source: finding.cure for finding in found.findings} == cures
    asked = [cure for cure in cures.values() if "none needed" not in cure]
    assert len(found.precision("fp16").keep) == len(asked)
    assert all((finding.level == "good") == ("none needed" in finding.cure) for finding in found.findings)


def test_values_are_those_of_numpy() -> None:
    """Lowest, highest and the number of values that overflow, for one product and its exponential."""
    x = np.random.default_rng(2).standard_normal((2, 8)).astype(np.float32) * 8
    frame = mt.ranges(exponential(), x).df
    frame = frame[frame["op"] != "weights"].reset_index(drop=True)
    product = x @ np.full((8, 4), 0.3, np.float32)
    assert frame.loc[0, "low"] == pytest.approx(product.min(), rel=1e-5)
    assert frame.loc[0, "high"] == pytest.approx(product.max(), rel=1e-5)
    assert frame.loc[1, "overflow_f16"] == int((np.exp(product) >= 65520).sum())


def test_dead_channels_are_listed_once() -> None:
    """Channel 2 of conv1 is 0; relu1, which passes it on, does not say so again."""
    found = mt.ranges(classifier(), inputs((1, 3, 12, 12)))
    dead = [finding for finding in found.findings if "throughout" in finding.problem]
    assert any(finding.source == "conv1" and "channel 2 of 8" in finding.problem for finding in dead)
    assert not any(finding.source == "relu1" and "channel 2 of" in finding.problem for finding in dead)


def test_subnormal_and_vanishing_values() -> None:
    """Below 2^-14 f16 loses bits; at or below 2^-25 nothing is left. Zeros count as neither."""
    entry = OpRange("op", "source", "f32", "source")
    entry.add(np.array([0, 1, 2.0**-15, 2.0**-25, 2.0**-24, np.inf], np.float32))
    assert entry.subnormal == pytest.approx(3 / 4)
    assert entry.vanishing == pytest.approx(1 / 4)
    assert entry.not_finite == 1
    np.testing.assert_array_equal(
        np.array([2.0**-25, 2.0**-24], np.float32).astype(np.float16) == 0, [True, False]
    )


def test_largest_values_that_do_not_overflow() -> None:
    """65519 rounds to 65504, 65520 to infinity: only the second overflows."""
    entry = OpRange("op", "source", "f32", "source")
    entry.add(np.array([65519.0], np.float32))
    assert entry.overflowing == 0
    entry.add(np.array([-65520.0], np.float32))
    assert entry.overflowing == 1


def test_shown_and_stopped() -> None:
    """The card gives the cure and the call that applies it."""
    found = mt.ranges(overflowing(), inputs((4, 8), 1))
    for shown in (str(found), found._repr_html_()):
        assert "blow" in shown
        assert "keep=" in shown
        assert "65504" in shown
    assert found.plot().axes
    with pytest.raises(Cancelled):
        mt.ranges(overflowing(), progress=lambda *_: False)
    with pytest.raises(InputError, match="NaN"):
        mt.ranges(overflowing(), np.full((4, 8), np.nan, np.float32))


def test_weights_are_looked_at_too() -> None:
    """Small weights vanish in f16: the op that reads them is named, as is what they are."""
    found = mt.ranges(faint(), inputs((4, 8), 1))
    weights = [finding for finding in found.findings if finding.op == "weights"]
    assert [finding.source for finding in weights] == ["dense"]
    assert "become 0 in f16" in weights[0].problem
    assert weights[0].keep == "dense"
    row = found.df[found.df["op"] == "weights"].iloc[0]
    assert row["vanishing_f16"] == pytest.approx(0.5)
    assert row["channels"] == 0


BROAD = """
func.func @main(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  %0 = tensorrt.element_wise <kSUM>(%x, %x : tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}"""


def test_what_a_bf16_model_holds_beyond_f16() -> None:
    """bf16 is a floating-point type: its values have ranges, and some of them overflow f16."""
    x = np.array([1e5, 1.0], dtypes.by_mlir("bf16").np)
    found = mt.ranges(mt.from_mlir(BROAD), x)
    (row,) = found.df.to_dict("records")
    assert row["largest"] == 2 * float(x[0]) and row["overflow_f16"] == 1
    with pytest.raises(InputError, match="NaN"):
        mt.ranges(mt.from_mlir(BROAD), np.full(2, np.nan, x.dtype))
