"""Functions of onnx ops as ONNX models."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from torch_mlir import ir
from torch_mlir.dialects import func

from mlirtrt_nb.dialects.onnx.export import ExportedModel, export_function
from mlirtrt_nb.frontends.text import from_mlir


def exported(text: str, weights: dict[str, np.ndarray] | None = None) -> ExportedModel:
    program = from_mlir(text)
    function = next(op for op in program.module.operation.regions[0].blocks[0] if isinstance(op, func.FuncOp))
    return export_function(function.operation, program.weights if weights is None else weights)


def run(model: ExportedModel, *arrays: np.ndarray) -> list[np.ndarray]:
    onnx.checker.check_model(model.model)
    session = onnxruntime.InferenceSession(model.model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {port.name: a for port, a in zip(model.inputs, arrays, strict=True)})


OPSET = 'attributes {onnx.opset_import = {"ai.onnx" = 17 : i64}}'


def test_attributes_and_absent_inputs() -> None:
    """Integers, floats, lists and strings keep their kinds; an absent input is an empty name."""
    model = exported(f"""func.func @main(%x: tensor<1x1x4x4xf32> {{plan.name = "x"}})
        -> tensor<1x1x8x8xf32> {OPSET} {{
      %none = onnx.NoValue
      %s = onnx.Constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
      %0 = onnx.Resize(%x, %none, %s, %none) {{mode = "linear", cubic_coeff_a = -0.5 : f32}} :
        (tensor<1x1x4x4xf32>, none, tensor<4xf32>, none) -> tensor<1x1x8x8xf32>
      return %0 : tensor<1x1x8x8xf32>
    }}""")
    (node,) = model.model.graph.node
    assert list(node.input)[:2] == ["x", ""] and len(node.input) == 3
    kinds = {a.name: a.type for a in node.attribute}
    assert kinds["mode"] == onnx.AttributeProto.STRING and kinds["cubic_coeff_a"] == onnx.AttributeProto.FLOAT
    assert model.model.opset_import[0].version == 17
    assert run(model, np.ones((1, 1, 4, 4), np.float32))[0].shape == (1, 1, 8, 8)


def test_absent_outputs() -> None:
    """A result of type none has no name, and trailing ones are left out."""
    model = exported(f"""func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {OPSET} {{
      %s = onnx.Constant dense<1.0> : tensor<4xf32>
      %0:3 = onnx.LayerNormalization(%x, %s, %s) :
        (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4xf32>, none, none)
      return %0#0 : tensor<1x4xf32>
    }}""")
    assert [list(node.output) for node in model.model.graph.node] == [["result0"]]


def test_results_that_nobody_reads_but_onnx_requires() -> None:
    """TopK lists its indices too, whether they are read or not, as both are required of it."""
    model = exported(f"""func.func @main(%x: tensor<?xf32>, %k: tensor<1xi64>) -> tensor<?xf32> {OPSET} {{
      %0:2 = onnx.TopK(%x, %k) : (tensor<?xf32>, tensor<1xi64>) -> (tensor<?xf32>, none)
      return %0#0 : tensor<?xf32>
    }}""")
    assert [len(node.output) for node in model.model.graph.node] == [2]
    (found,) = run(model, np.array([1, 3, 2], np.float32), np.array([2], np.int64))
    np.testing.assert_array_equal(found, [3, 2])


def test_absent_inputs_that_onnx_counts() -> None:
    """A Loop that carries nothing lists its condition, which is not given, as it has two inputs at least."""
    model = exported(f"""func.func @main(%n: tensor<i64>) -> tensor<?xi64> {OPSET} {{
      %none = onnx.NoValue
      %0 = onnx.Loop(%n, %none) : (tensor<i64>, none) -> tensor<?xi64> body {{
      ^bb0(%i: tensor<i64>, %on: tensor<i1>):
        onnx.yield %on, %i : tensor<i1>, tensor<i64>
      }}
      return %0 : tensor<?xi64>
    }}""")
    assert [len(node.input) for node in model.model.graph.node] == [2]
    np.testing.assert_array_equal(run(model, np.array(3, np.int64))[0], [0, 1, 2])


def test_constants_of_engines() -> None:
    """What the tensorrt dialect has folded may be read by an op that stays: it is an initializer too."""
    model = exported(f"""func.func @main() -> tensor<1x?xi64> {OPSET} {{
      %c = tensorrt.constant dense<[0, 7, 0]> : tensor<3xi64>
      %0 = onnx.NonZero(%c) : (tensor<3xi64>) -> tensor<1x?xi64>
      return %0 : tensor<1x?xi64>
    }}""")
    np.testing.assert_array_equal(run(model)[0], [[1]])


BRANCHES = f"""func.func @main(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {OPSET} {{
  %two = onnx.Constant dense<2.0> : tensor<2xf32>
  %0 = onnx.If(%c) : (tensor<i1>) -> tensor<2xf32> then_branch {{
    %1 = onnx.Mul(%x, %two) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %1 : tensor<2xf32>
  }} else_branch {{
    onnx.yield %x : tensor<2xf32>
  }}
  return %0 : tensor<2xf32>
}}"""


def test_regions_are_graphs_that_see_outer_values() -> None:
    """Each branch is a graph; a branch that gives an outer value back gets a node of its own for it."""
    model = exported(BRANCHES)
    x = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(run(model, np.array(True), x)[0], x * 2)
    np.testing.assert_array_equal(run(model, np.array(False), x)[0], x)


def test_returned_arguments_and_repeats() -> None:
    """A returned argument, a constant, and a value returned twice each become an output of its own."""
    model = exported(f"""func.func @main(%x: tensor<2xf32>)
        -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>) {OPSET} {{
      %c = onnx.Constant dense<5.0> : tensor<f32>
      %0 = onnx.Neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %x, %0, %0, %c : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>
    }}""")
    x = np.array([1, 2], np.float32)
    for got, expected in zip(run(model, x), (x, -x, -x, np.float32(5)), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_types_beyond_tensors() -> None:
    """Sequences and strings have their ONNX types."""
    model = exported(f"""func.func @main(%x: tensor<2x3xf32>, %t: tensor<?x!onnx.string>)
        -> (!onnx.seq<tensor<?x3xf32>>, tensor<?x!onnx.string>) {OPSET} {{
      %none = onnx.NoValue
      %0 = onnx.SplitToSequence(%x, %none) : (tensor<2x3xf32>, none) -> !onnx.seq<tensor<?x3xf32>>
      return %0, %t : !onnx.seq<tensor<?x3xf32>>, tensor<?x!onnx.string>
    }}""")
    texts = np.array(["a", "bc"], dtype=object)
    parts, same = run(model, np.ones((2, 3), np.float32), texts)
    assert [part.shape for part in parts] == [(1, 3), (1, 3)]
    assert list(same) == ["a", "bc"]


def test_weights_are_named_not_written() -> None:
    """A handle is an external initializer; a small weight stands in the model."""
    text = f"""func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {OPSET} {{
      %w = onnx.Constant dense_resource<"w/0"> : tensor<64x64xf32>
      %b = onnx.Constant dense_resource<bias> : tensor<64xf32>
      %0 = onnx.MatMul(%x, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %1 = onnx.Add(%0, %b) : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
      return %1 : tensor<64x64xf32>
    }}"""
    weights = {"w/0": np.ones((64, 64), np.float32), "bias": np.arange(64, dtype=np.float32)}
    model = exported(text, weights)
    assert model.weights == ("w/0",)
    external = {t.name: t.data_location == onnx.TensorProto.EXTERNAL for t in model.model.graph.initializer}
    assert external == {"w/0": True, "bias": False}
    with pytest.raises(KeyError, match="bias"):
        exported(text, {"w/0": weights["w/0"]})


def test_ops_of_other_dialects_are_named() -> None:
    """An op that ONNX does not have is a KeyError with its name."""
    with pytest.raises(KeyError, match=r"tensorrt\.unary"):
        exported("""func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
          %0 = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kEXP>} %x : tensor<2xf32>
          return %0 : tensor<2xf32>
        }""")


def test_value_types_by_name() -> None:
    """The MLIR type of each value of the model can be looked up by its name there."""
    model = exported(BRANCHES)
    assert set(model.types) >= {"arg0", "arg1", "result0"}
    assert all(isinstance(kind, ir.Type) for kind in model.types.values())
