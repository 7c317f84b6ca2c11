"""Shapes that ONNX's inference lets pass and no runtime can run are refused at compilation, by the node."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt
from mlirtrt_nb.ir.verifier import errors_of

_F, _I = TensorProto.FLOAT, TensorProto.INT64


def _program(node, inputs, initializers=(), result=None):
    def value(name, shape):
        return helper.make_tensor_value_info(name, _F, shape)

    graph = helper.make_graph(
        [node],
        "g",
        [value(name, shape) for name, shape in inputs.items()],
        [value("y", result)],
        [numpy_helper.from_array(array, name) for name, array in initializers],
    )
    return mt.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


@pytest.mark.parametrize(
    ("op", "attributes", "inputs", "initializers", "said"),
    [
        ("Conv", {}, {"x": [2, 3, 8, 8], "w": [4, 5, 3, 3]}, (), "3 channels, the kernel is for 5"),
        ("Conv", {"group": 2}, {"x": [2, 4, 8], "w": [3, 2, 3]}, (), "3 outputs, which do not divide into 2"),
        ("Conv", {}, {"x": [2, 3, 8], "w": [4, 3, 3], "b": [5]}, (), "5 elements for 4 output channels"),
        ("ConvTranspose", {}, {"x": [2, 3, 8], "w": [4, 5, 3]}, (), "3 channels, the kernel is for 4"),
        ("Reshape", {}, {"x": [6]}, [("s", np.array([8]))], "6 elements do not fit the shape [8]"),
    ],
)
def test_refused(op, attributes, inputs, initializers, said):
    """The message says what does not fit, names the node, and speaks of no shapes= where none were given."""
    names = [*inputs, *(name for name, _ in initializers)]
    program = _program(helper.make_node(op, names, ["y"], name="V", **attributes), inputs, initializers)
    with pytest.raises(mt.ShapeError, match="node 'V'") as caught:
        mt.compile(program, isolate=False, cache=False)
    assert said in caught.value.what and "model's own shapes" in caught.value.what
    assert "shapes=" not in str(caught.value)


def test_given_shapes_are_at_fault():
    """Where the shapes were given, they are what the hint names."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="V")
    program = _program(node, {"x": [1, "c", 8, 8], "w": [4, 5, 3, 3]})
    with pytest.raises(mt.ShapeError, match="kernel is for 5") as caught:
        mt.compile(program, shapes={"x": "1x3x8x8"}, isolate=False, cache=False)
    assert "shapes=" in str(caught.value)


@pytest.mark.parametrize("target", [[0, 3], [2, -1], [-1, 0], [3, 2]])
def test_reshapes_that_fit(target):
    """Zeros that keep a dimension, and one that is worked out, are no contradiction."""
    node = helper.make_node("Reshape", ["x", "s"], ["y"], name="V")
    program = _program(node, {"x": [2, 3]}, [("s", np.array(target))])
    result = mt.compile(program, isolate=False, cache=False).session()(np.zeros((2, 3), np.float32))
    assert result.size == 6


def test_conversion_leaves_no_op_that_the_dialect_refuses():
    """An Add of two element types, as text may have it, stays in onnx with the verifier's reason."""
    program = mt.from_mlir(
        "func.func @main(%x: tensor<2xf32>, %w: tensor<2xi64>) -> tensor<2xf32> {\n"
        '  %y = "onnx.add"(%x, %w) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>\n'
        "  return %y : tensor<2xf32>\n}"
    )
    made = mt.Pipeline.parse("onnx-to-tensorrt").run(program, isolate=False).program
    with made.context:
        assert errors_of(made.module.operation) == []
    assert "element types must be equal" in made.text()
