"""Models whose nodes contradict what they are given are refused when they are read, by the node's name."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

import mlirtrt_nb as mt

_F, _I = TensorProto.FLOAT, TensorProto.INT64


def _model(nodes, inputs, outputs, opset=17):
    def values(listed):
        return [helper.make_tensor_value_info(*entry) for entry in listed]

    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def _refused(*args, **settings) -> str:
    with pytest.raises(mt.InvalidModelError) as caught:
        mt.load(_model(*args, **settings))
    return str(caught.value)


def test_inputs_of_two_element_types():
    """An Add of float32 and int64 is refused, with both types and what to put before which input."""
    node = helper.make_node("Add", ["x", "w"], ["y"], name="A")
    said = _refused([node], [("x", _F, [2]), ("w", _I, [2])], [("y", _F, [2])])
    assert "node 'A' (Add)" in said and "float32 and int64" in said
    assert "Cast to float32 before 'w'" in said


def test_two_element_types_inside_a_loop():
    """Element types are looked at in the bodies of loops, and of values from outside."""
    inner = [
        helper.make_node("Identity", ["c"], ["again"]),
        helper.make_node("Mul", ["v", "w"], ["next"], name="M"),
    ]
    body = helper.make_graph(
        inner,
        "body",
        [
            helper.make_tensor_value_info(*v)
            for v in (("i", _I, []), ("c", TensorProto.BOOL, []), ("v", _F, [2]))
        ],
        [helper.make_tensor_value_info(*v) for v in (("again", TensorProto.BOOL, []), ("next", _F, [2]))],
    )
    loop = helper.make_node("Loop", ["n", "go", "x"], ["y"], name="L", body=body)
    inputs = [("n", _I, []), ("go", TensorProto.BOOL, []), ("x", _F, [2]), ("w", _I, [2])]
    assert "node 'M' (Mul)" in _refused([loop], inputs, [("y", _F, [2])])


@pytest.mark.parametrize(
    ("op", "attributes"), [("MatMul", {}), ("Gemm", {}), ("Add", {}), ("Concat", {"axis": 0})]
)
def test_shapes_that_do_not_go_together(op, attributes):
    """The message names the node and both shapes, though the model declares a shape for the result."""
    node = helper.make_node(op, ["x", "w"], ["y"], name="N", **attributes)
    said = _refused([node], [("x", _F, [2, 3]), ("w", _F, [4, 5])], [("y", _F, [2, 5])])
    assert f"node 'N' ({op})" in said and "'x' float32[2,3]" in said and "'w' float32[4,5]" in said


def test_open_dimensions_are_no_contradiction():
    """What may yet go together is read."""
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    program = mt.load(_model([node], [("x", _F, [2, "n"]), ("w", _F, [4, 5])], [("y", _F, [2, 5])]))
    assert program.inputs[0].shape == (2, "n")


def test_a_type_that_only_a_newer_version_takes():
    """Relu of int64 came with opset 14; engines take it at any, so it is read."""
    node = helper.make_node("Relu", ["x"], ["y"])
    program = mt.load(_model([node], [("x", _I, [2])], [("y", _I, [2])], opset=11))
    assert program.inputs[0].shape == (2,)


def test_a_branch_for_other_shapes():
    """A branch that cannot run on these shapes may never run, so it is read."""

    def branch(kind):
        node = helper.make_node(kind, ["x", "w"], ["q"], name=kind)
        return helper.make_graph([node], kind, [], [helper.make_tensor_value_info("q", _F, None)])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("MatMul"), else_branch=branch("Mul"))
    inputs = [("c", TensorProto.BOOL, []), ("x", _F, [2, 3]), ("w", _F, [2, 3])]
    assert len(mt.load(_model([node], inputs, [("y", _F, None)])).inputs) == 3
