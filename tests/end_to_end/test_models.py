"""Real models, whole: compiled for the CPU and `sm89`, run, and held against ONNX Runtime on the original."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest

import mlirtrt_nb as mt
from models.fetch import NAMES, SHAPES, model, sample

TOLERANCE = 1e-4  # max abs error / max abs value

# Two of the voice models choose a branch by an input, at run time: they have an If, which ONNX Runtime gets.
MODELS = [name for name in NAMES if name not in ("silero_vad", "silero_vad_op18_ifless")]


@pytest.fixture(scope="module", params=MODELS)
def compiled(request):
    """(name, plan) of each model; one at a time, since the large ones hold half a gigabyte."""
    name = request.param
    return name, mt.compile(model(name), target=["cpu", "sm89"], shapes=SHAPES.get(name), cache=False)


def relative_error(ours, theirs):
    """Largest absolute error over the largest absolute value."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def reference(name, inputs):
    """What ONNX Runtime gives for the original file."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(model(name)), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs), strict=True))


def test_the_plan_agrees_with_onnx_runtime_on_the_original_file(compiled):
    """The CPU runs the very functions that the TensorRT engines were built from, so this checks those too."""
    name, plan = compiled
    inputs = sample(name)
    ours = plan.session("cpu").run(inputs)
    theirs = reference(name, inputs)
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        assert ours[key].shape == value.shape
        assert relative_error(ours[key], value) <= TOLERANCE, key


def test_one_plan_serves_other_sizes_within_its_profile(compiled):
    """A model with dynamic shapes runs at sizes other than the optimum it was built for."""
    name, plan = compiled
    if name not in SHAPES:
        assert all(isinstance(dim, int) for spec in plan.inputs for dim in spec.shape)
        return
    smallest = {key: low for key, (low, _, _) in SHAPES[name].items()}
    inputs = {
        key: np.ascontiguousarray(value[tuple(slice(0, size) for size in smallest[key])])
        for key, value in sample(name).items()
        if key in smallest
    } | {key: value for key, value in sample(name).items() if key not in smallest}
    ours = plan.session("cpu").run(inputs)
    for key, value in reference(name, inputs).items():
        assert relative_error(ours[key], value) <= TOLERANCE, key


def all_nodes(graph):
    """The nodes of a graph and of the branches in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def test_the_engine_is_real_and_its_layers_name_their_sources(compiled):
    """The TensorRT engine has bytes, layers from the builder's own log, and source nodes of the model."""
    import onnx

    name, plan = compiled
    engines = plan.engines[plan.engines.target == "sm89"]
    assert len(engines) >= 1
    assert (engines.engine_bytes > 1000).all()
    assert (engines.layers > 0).all()
    graph = onnx.load(str(model(name)), load_external_data=False).graph
    nodes = list(all_nodes(graph))
    known = {entry for node in nodes for entry in (node.name, *node.output)}
    known |= {entry.name for entry in graph.initializer}  # a constant is a source by its own name
    layers = plan.layers[plan.layers.target == "sm89"]
    named = [source for sources in layers.sources for source in sources]
    assert named
    assert set(named) <= known | {f"{node.op_type}_{n}" for n, node in enumerate(graph.node)}


def test_tensorrt_takes_the_whole_model(compiled):
    """Nothing falls back, recurrences and resizes included: each model is one engine per target."""
    _, plan = compiled
    assert plan.fallbacks.empty
    assert plan.engines.target.tolist() == ["cpu", "sm89"]


def test_the_file_holds_the_same_plan(compiled, tmp_path):
    """Saved and opened again, a Plan has the same engines and gives the same numbers."""
    name, plan = compiled
    path = tmp_path / f"{name}.plan"
    plan.save(path)
    again = mt.Plan.load(path)
    assert again.engines.equals(plan.engines)
    assert again.text() == plan.text()
    inputs = sample(name)
    ours, theirs = again.session("cpu").run(inputs), plan.session("cpu").run(inputs)
    for key in theirs:
        np.testing.assert_array_equal(ours[key], theirs[key])
