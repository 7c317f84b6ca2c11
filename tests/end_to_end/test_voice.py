"""The voice models: state carried from call to call, and branches that depend on the sampling rate."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest

import mlirtrt_nb as mt
from models.fetch import NAMES, SHAPES, model, sample

VOICE = [name for name in NAMES if name.startswith("silero")]
TOLERANCE = 1e-4  # max abs error / max abs value
CALLS = 10


@pytest.fixture(scope="module", params=VOICE)
def compiled(request):
    """(name, plan) of each model."""
    name = request.param
    return name, mt.compile(model(name), target=["cpu", "sm89"], shapes=SHAPES.get(name), cache=False)


def original(name):
    """ONNX Runtime on the original file, as a function from inputs to outputs by name."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(str(model(name)), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(None, inputs), strict=True))


def test_a_sequence_of_calls_stays_with_onnx_runtime(compiled):
    """Ten calls, each fed with the state that the one before gave, agree with the original file."""
    name, plan = compiled
    carried = {"hn": "h", "cn": "c"} if name.endswith("sequence") else {"stateN": "state"}
    session, reference = plan.session("cpu"), original(name)
    mine, theirs = sample(name), sample(name)
    for call in range(CALLS):
        frame = {"input": sample(name, seed=call)["input"]}
        ours, expected = session.run(mine | frame), reference(theirs | frame)
        for key, value in expected.items():
            assert np.abs(ours[key] - value).max() <= TOLERANCE * np.abs(value).max(), (call, key)
        mine |= {target: ours[source] for source, target in carried.items()}
        theirs |= {target: expected[source] for source, target in carried.items()}


def test_all_of_it_is_one_real_engine(compiled):
    """One engine for sm89 holds the model; only silero_vad has a check of its sampling rate beside it."""
    name, plan = compiled
    engines = plan.engines[plan.engines.target == "sm89"]
    assert len(engines) == 1
    assert (engines.engine_bytes > 100_000).all()
    expected = [["tensorrt.assertion", 1, "conditions on data are checked on the host", "onnxruntime"]]
    found = plan.fallbacks[["op", "count", "reason", "backend"]].values.tolist()
    assert found == (expected if name == "silero_vad" else [])


def test_a_branch_that_the_shapes_rule_out_fails_by_name():
    """Frames of 16 kHz do not suit the branch for 8 kHz: the Plan names the If, ONNX Runtime fails in it."""
    name = "silero_vad"
    plan = mt.compile(model(name), shapes=SHAPES[name], cache=False)
    inputs = sample(name) | {"sr": np.array(8000, np.int64)}
    with pytest.raises(mt.InputError, match="the condition of the If 'If_0' must be true"):
        plan.session("cpu").run(inputs)
    with pytest.raises(Exception, match="LSTM"):
        original(name)(inputs)
