"""The rounding reference on real models: exact in fp32, and near the engines where types are small."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.numerics.conversion import converted
from mlirtrt_nb.numerics.interpreter import Interpreter
from mlirtrt_nb.numerics.metrics import Errors
from models.fetch import SHAPES, model, sample

SMALL = ("squeezenet", "shufflenet", "silero_vad_16k_sequence", "silero_vad", "encoder")


@pytest.mark.parametrize("name", SMALL)
def test_fp32_is_what_onnx_runtime_gives(name: str) -> None:
    """Op by op and unfused, every output of the model is ONNX Runtime's own."""
    inputs = sample(name)
    found = Interpreter(converted(mt.load(model(name)), shapes=SHAPES.get(name))).run(inputs)
    expected = onnxruntime.InferenceSession(str(model(name))).run(None, inputs)
    for one, two in zip(found.values(), expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(two).max())))


@pytest.mark.parametrize("precision", ["fp16", "bf16", "int4"])
def test_engines_err_as_the_reference_does(precision: str) -> None:
    """What the CPU engine of a small type gives is nearer to the reference's values than to fp32's."""
    program, shapes = mt.load(model("ch_ppocr_mobile_v2.0_cls_mobile")), {"x": "1x3x48x192"}
    inputs = sample("ch_ppocr_mobile_v2.0_cls_mobile")
    reference = Interpreter(converted(program, precision, shapes=shapes)).run(inputs)
    engine = mt.compile(program, precision=precision, shapes=shapes).session("cpu").run(inputs)
    exact = mt.compile(program, shapes=shapes).session("cpu").run(inputs)
    from_reference, from_exact = Errors(), Errors()
    for name in engine:
        from_reference.add(reference[name], engine[name])
        from_exact.add(exact[name], engine[name])
    assert from_reference.snr_db > from_exact.snr_db
