"""Ops that ONNX defines by others become those, and the numbers stay."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import mlirtrt_nb as mt
from mlirtrt_nb.dialects.onnx.functions import function_of
from mlirtrt_nb.frontends.onnx import from_onnx
from tests.unit.frontends.onnx.onnx_models import counts, transformed

RNG = np.random.default_rng(3)
PASS = "onnx-expand-functions"


def randn(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def model(nodes, inputs, outputs, weights=None, opset=28):
    """A model of float32; dimensions may be names."""
    ins = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    outs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    constants = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "g", ins, outs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def attention(opset=28):
    """Linear attention with its third and fourth optional inputs absent and present, on a large weight."""
    node = helper.make_node(
        "LinearAttention",
        ["q", "k", "v", "", "decay"],
        ["y", "state"],
        name="attend",
        update_rule="gated",
        q_num_heads=2,
        kv_num_heads=2,
    )
    shapes = {name: [1, 3, 8] for name in ("q", "k", "v", "decay")}
    return model([node], shapes, ["y", "state"], opset=opset)


def test_the_definition_takes_the_place_of_the_op():
    """All ops of the definition carry the name of the node that they came from."""
    program = transformed(from_onnx(attention()), PASS)
    assert "onnx.LinearAttention" not in counts(program)
    assert counts(program)["onnx.MatMul"] >= 1
    feeds = {name: randn(1, 3, 8) for name in ("q", "k", "v")} | {"decay": -abs(randn(1, 3, 8))}
    plan = mt.compile(attention(), target=["cpu", "sm89"], cache=False)
    assert plan.fallbacks.empty
    assert {source for row in plan.layers.sources for source in row} <= {"attend"}
    expected = ReferenceEvaluator(attention()).run(None, feeds)
    for ours, theirs in zip(plan.session("cpu").run(feeds).values(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_large_weight_is_read_in_place():
    """A weight that the op reads is the op's own afterwards, not a copy of it."""
    weight = randn(64, 64)
    nodes = [helper.make_node("SwiGLU", ["w", "w"], ["s"]), helper.make_node("MatMul", ["x", "s"], ["y"])]
    program = transformed(from_onnx(model(nodes, {"x": ["n", 64]}, ["y"], {"w": weight})), PASS)
    assert "onnx.SwiGLU" not in counts(program)
    assert [array.shape for array in program.weights.values() if array.size == weight.size] == [(64, 64)]


def test_the_option_says_which():
    """Ops that are not in the list stay."""
    program = transformed(from_onnx(attention()), f"{PASS}{{ops=SwiGLU}}")
    assert counts(program)["onnx.LinearAttention"] == 1


def test_dynamic_dimensions():
    """A definition by shapes that are not known yet is one by Shape ops."""
    node = helper.make_node("SwiGLU", ["x", "x"], ["y"])
    built = model([node], {"x": ["n", 6]}, ["y"])
    plan = mt.compile(built, shapes={"x": ((1, 6), (2, 6), (5, 6))}, cache=False)
    x = randn(5, 6)
    np.testing.assert_allclose(
        plan.session("cpu")(x), ReferenceEvaluator(built).run(None, {"x": x})[0], rtol=1e-5
    )


def test_a_definition_is_of_the_models_own_opset():
    """ReduceMean has its axes as an attribute before opset 18 and as an input from then on."""
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    kinds = [helper.make_tensor_type_proto(TensorProto.FLOAT, [1, 2, 3, 3])]
    for opset, inputs in ((13, 1), (17, 1), (18, 2), (21, 2)):
        function = function_of(node, kinds, {"": opset})
        assert next(len(n.input) for n in function.node if n.op_type == "ReduceMean") == inputs
        assert {entry.domain: entry.version for entry in function.opset_import} == {"": opset}


def test_what_has_no_definition_gives_none():
    """An op that is no function, one of another version than its definition's ops, and one that is unknown."""
    kinds = [helper.make_tensor_type_proto(TensorProto.FLOAT, [1, 2, 3, 3])]
    assert function_of(helper.make_node("Relu", ["x"], ["y"]), kinds, {"": 13}) is None
    assert function_of(helper.make_node("MeanVarianceNormalization", ["x"], ["y"]), kinds, {"": 12}) is None
    assert function_of(helper.make_node("Nothing", ["x"], ["y"]), kinds, {"": 13}) is None
