"""specialize-shapes and onnx-fold-constants: types get precise, shape arithmetic goes, results stay."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

import mlirtrt_nb as mt
from mlirtrt_nb.dialects.onnx.ops import constant_value
from mlirtrt_nb.errors import InputError, ShapeError
from mlirtrt_nb.frontends.onnx import from_onnx
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.pipeline import Pipeline
from tests.unit.frontends.onnx.onnx_models import (
    BOOL,
    F32,
    I64,
    counts,
    model,
    node,
    reference,
    run,
    transformed,
)

RNG = np.random.default_rng(0)
BOTH = "specialize-shapes,onnx-fold-constants"


def check(proto, passes, shapes=None, feeds=None):
    """Run passes on an imported model and compare with ONNX Runtime on the original; return the program."""
    program = transformed(from_onnx(proto), passes, shapes)
    feeds = feeds or {n: RNG.standard_normal(s).astype(np.float32) for n, s in (shapes or {}).items()}
    for ours, theirs in zip(run(program, feeds), reference(proto, feeds), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    return program


def flattening(opset=17):
    """x -> reshape to (batch, everything else), with the shape computed by Shape, Gather, Mul and Concat."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["b"]),
        node("Gather", ["s", "one"], ["c"]),
        node("Gather", ["s", "two"], ["w"]),
        node("Mul", ["c", "w"], ["m"]),
        node("Unsqueeze", ["b", "axes"], ["b1"]),
        node("Unsqueeze", ["m", "axes"], ["m1"]),
        node("Concat", ["b1", "m1"], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["y"]),
    ]
    weights = {"zero": np.array(0), "one": np.array(1), "two": np.array(2), "axes": np.array([0])}
    return model(nodes, {"x": ["b", 3, "w"]}, ["y"], weights, opset=opset)


def test_static_shapes_fold_shape_arithmetic():
    """With fixed input shapes a chain of shape ops becomes one constant, and types are static."""
    program = check(flattening(), "specialize-shapes", {"x": (2, 3, 5)})
    assert set(counts(program)) == {
        "onnx.Reshape",
        "onnx.Constant",
        "func.func",
        "func.return",
        "builtin.module",
    }
    assert program.inputs[0].shape == (2, 3, 5)
    assert program.outputs[0].shape == (2, 15)


def test_dynamic_dimensions_stay():
    """What the profile leaves open stays open; what it fixes is fixed."""
    profiles = ({"x": ((1, 3, 5), (2, 3, 5), (4, 3, 5))},)
    program = (
        Pipeline.parse("specialize-shapes").run(from_onnx(flattening()), PassContext(profiles=profiles)).program
    )
    assert program.inputs[0].shape == ("b", 3, 5)
    assert program.outputs[0].shape == ("b", 15)


def test_a_dimension_fixed_in_only_one_profile_stays():
    """Two profiles that fix a dimension to different sizes leave it dynamic."""
    profiles = ({"x": ((1, 3, 5),) * 3}, {"x": ((2, 3, 5),) * 3})
    program = (
        Pipeline.parse("specialize-shapes").run(from_onnx(flattening()), PassContext(profiles=profiles)).program
    )
    assert program.inputs[0].shape == ("b", 3, 5)


def test_partly_known_shapes():
    """A known element of a shape that is known in part becomes a constant, without any profile."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "one"], ["c"]),
        node("Cast", ["c"], ["f"], to=F32),
        node("Mul", ["x", "f"], ["y"]),
    ]
    proto = model(nodes, {"x": ["b", 3]}, ["y"], {"one": np.array(1)})
    program = check(proto, "onnx-fold-constants", feeds={"x": np.ones((2, 3), np.float32)})
    assert set(counts(program)) & {"onnx.Shape", "onnx.Gather", "onnx.Cast"} == set()


def test_numbers_of_unknown_rank_are_put_together():
    """A vector that begins with a tensor of unknown rank has no known entries, and stays."""
    program = mt.from_mlir("""func.func @main(%x: tensor<*xi64>) -> tensor<?xi64> {
      %one = onnx.Constant dense<1> : tensor<1xi64>
      %0 = onnx.Concat(%x, %one) {axis = 0 : i64} : (tensor<*xi64>, tensor<1xi64>) -> tensor<?xi64>
      return %0 : tensor<?xi64>
    }""")
    assert counts(transformed(program, "specialize-shapes"))["onnx.Concat"] == 1


def test_resize_by_computed_sizes():
    """Sizes through floats (Cast, Mul, Floor, Cast) reach a Resize with three empty inputs before them."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "two", "four"], ["hw"]),
        node("Cast", ["hw"], ["f"], to=F32),
        node("Mul", ["f", "scale"], ["m"]),
        node("Floor", ["m"], ["r"]),
        node("Cast", ["r"], ["sizes_hw"], to=I64),
        node("Slice", ["s", "zero", "two"], ["nc"]),
        node("Concat", ["nc", "sizes_hw"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest"),
    ]
    weights = {
        "zero": np.array([0]),
        "two": np.array([2]),
        "four": np.array([4]),
        "scale": np.array(1.5, np.float32),
    }
    program = check(model(nodes, {"x": [1, 2, "h", "w"]}, ["y"], weights), BOTH, {"x": (1, 2, 5, 7)})
    assert program.outputs[0].shape == (1, 2, 7, 10)
    assert "onnx.Shape" not in counts(program)


def test_ops_that_numpy_does_not_do():
    """A chain of ops on weights that needs ONNX Runtime is computed at once, and only its end is kept."""
    nodes = [
        node("Softmax", ["w"], ["a"]),
        node("Tanh", ["a"], ["b"]),
        node("MatMul", ["x", "b"], ["y"]),
    ]
    weight = RNG.standard_normal((8, 8)).astype(np.float32)
    program = check(model(nodes, {"x": [2, 8]}, ["y"], {"w": weight}), BOTH, {"x": (2, 8)})
    assert counts(program)["onnx.Constant"] == 1 and "onnx.Tanh" not in counts(program)
    assert any(array.shape == (8, 8) for array in program.weights.values())


def test_shapes_that_wait_for_onnx_runtime():
    """A shape that only ONNX Runtime can compute is computed before what it shapes."""
    nodes = [node("CumSum", ["w", "axis"], ["s"]), node("Expand", ["x", "s"], ["y"])]
    proto = model(nodes, {"x": [1, 1]}, ["y"], {"w": np.array([2, 3]), "axis": np.array(0)})
    program = check(proto, BOTH, {"x": (1, 1)})
    assert program.outputs[0].shape == (2, 5)


def test_known_condition_takes_its_branch():
    """An If whose condition follows from static shapes is replaced by the branch taken."""

    def branch(op_type, name):
        made = node(op_type, ["x"], [name])
        return helper.make_graph([made], name, [], [helper.make_tensor_value_info(name, F32, None)])

    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "one"], ["n"]),
        node("Equal", ["n", "one"], ["c"]),
        node("If", ["c"], ["y"], then_branch=branch("Relu", "t"), else_branch=branch("Neg", "e")),
    ]
    proto = model(nodes, {"x": ["b", "n"]}, ["y"], {"one": np.array(1)})
    program = check(proto, "specialize-shapes", {"x": (2, 4)})
    assert "onnx.If" not in counts(program) and counts(program)["onnx.Neg"] == 1
    assert program.outputs[0].shape == (2, 4)


def test_if_result_is_what_both_branches_share():
    """With an unknown condition the result type is what the branches have in common."""

    def branch(name, columns):
        filled = helper.make_tensor("v", F32, [2, columns], np.zeros(2 * columns, np.float32))
        made = [
            node("Constant", [], [f"{name}_c"], value=filled),
            node("Concat", ["x", f"{name}_c"], [name], axis=1),
        ]
        return helper.make_graph(made, name, [], [helper.make_tensor_value_info(name, F32, None)])

    nodes = [node("If", ["c"], ["y"], then_branch=branch("t", 1), else_branch=branch("e", 2))]
    proto = model(nodes, {"x": ["b", "n"], "c": []}, ["y"], dtypes={"c": BOOL})
    program = transformed(from_onnx(proto), "specialize-shapes", {"x": (2, 4)})
    assert program.outputs[0].shape == (2, None)


def test_random_and_quantisation_stay():
    """Random ops differ from run to run, and QDQ pairs are what engines look for: neither is folded."""
    nodes = [
        node("RandomNormal", [], ["r"], shape=[3]),
        node("QuantizeLinear", ["w", "scale"], ["q"]),
        node("DequantizeLinear", ["q", "scale"], ["d"]),
        node("Sum", ["x", "r", "d"], ["y"]),
    ]
    weights = {"w": np.ones(3, np.float32), "scale": np.array(0.5, np.float32)}
    program = transformed(from_onnx(model(nodes, {"x": [3]}, ["y"], weights)), BOTH)
    assert {"onnx.RandomNormal", "onnx.QuantizeLinear", "onnx.DequantizeLinear"} <= set(counts(program))


def test_int32_bias_is_dequantised():
    """A quantised bias becomes a float bias, which every engine takes."""
    nodes = [node("DequantizeLinear", ["b", "scale"], ["d"]), node("Add", ["x", "d"], ["y"])]
    weights = {"b": np.array([100, -20], np.int32), "scale": np.array(0.25, np.float32)}
    program = check(model(nodes, {"x": [2]}, ["y"], weights), "onnx-fold-constants", {"x": (2,)})
    assert "onnx.DequantizeLinear" not in counts(program)


@pytest.mark.parametrize(("limit", "folded"), [(1 << 26, True), (1000, False)])
def test_size_limit(limit, folded):
    """A result larger than the limit and than its operands is not folded."""
    nodes = [node("ConstantOfShape", ["s"], ["big"]), node("Add", ["x", "big"], ["y"])]
    proto = model(nodes, {"x": [100, 100]}, ["y"], {"s": np.array([100, 100])})
    program = check(proto, f"onnx-fold-constants{{max-bytes={limit}}}", {"x": (100, 100)})
    assert ("onnx.ConstantOfShape" not in counts(program)) == folded


def test_large_weights_may_be_reshaped_beyond_the_limit():
    """Folding that makes nothing larger is done whatever the limit, and a reshaped weight is not copied."""
    weight = RNG.standard_normal((100, 100)).astype(np.float32)
    nodes = [node("Reshape", ["w", "s"], ["v"]), node("Add", ["x", "v"], ["y"])]
    program = from_onnx(model(nodes, {"x": [10000]}, ["y"], {"w": weight, "s": np.array([-1])}))
    folded = transformed(program, "onnx-fold-constants{max-bytes=8}")
    assert "onnx.Reshape" not in counts(folded)
    (made,) = (array for array in folded.weights.values() if array.shape == (10000,))
    assert np.shares_memory(made, program.weights["w"])


def test_strings_are_left_alone():
    """Constants of strings take no part in folding."""
    nodes = [node("Concat", ["w", "w"], ["c"], axis=0), node("Equal", ["x", "c"], ["y"])]
    words = np.array(["a", "b"], object)
    proto = model(nodes, {"x": [4]}, ["y"], {"w": words}, opset=19, dtypes={"x": TensorProto.STRING, "y": BOOL})
    program = transformed(from_onnx(proto), BOTH)
    feeds = {"x": np.array(["a", "x", "a", "b"], object)}
    np.testing.assert_array_equal(run(program, feeds)[0], [True, False, True, True])


def test_the_program_given_is_not_changed():
    """The pipeline works on a copy: the loaded program keeps its ops and types."""
    program = from_onnx(flattening())
    before = str(program.module)
    transformed(program, BOTH, {"x": (2, 3, 5)})
    assert str(program.module) == before


def test_folded_constants_keep_their_source():
    """A folded constant carries the location of the op that it replaces."""
    nodes = [node("Add", ["a", "b"], ["c"], name="sum"), node("Mul", ["x", "c"], ["y"])]
    proto = model(nodes, {"x": [2]}, ["y"], {"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)})
    program = transformed(from_onnx(proto), "onnx-fold-constants")
    block = program.module.body.operations[0].regions[0].blocks[0]
    made = next(op.operation for op in block.operations if op.operation.name == "onnx.constant")
    assert "sum" in str(made.location)
    np.testing.assert_array_equal(constant_value(made.results[0], program.weights), [2, 2])


def test_shapes_that_the_model_cannot_take():
    """Input shapes that contradict each other give one error with the node and its types."""
    proto = model([node("Add", ["x", "z"], ["y"], name="sum")], {"x": ["n", 4], "z": ["m", 4]}, ["y"])
    with pytest.raises(ShapeError, match=r"'sum' \(Add\) of tensor<2x4xf32>, tensor<3x4xf32>"):
        transformed(from_onnx(proto), "specialize-shapes", {"x": (2, 4), "z": (3, 4)})


@pytest.mark.parametrize(("columns", "taken"), [(4, True), (5, False)])
def test_branch_for_other_shapes(columns, taken):
    """A branch that could not run with these shapes gives way to the other, and its condition fails by name."""

    def branch(name, weight):
        made = [node("MatMul", ["x", weight], [name])]
        return helper.make_graph(made, name, [], [helper.make_tensor_value_info(name, F32, None)])

    branches = {"then_branch": branch("t", "w4"), "else_branch": branch("e", "w5")}
    nodes = [node("If", ["c"], ["y"], name="pick", **branches)]
    weights = {"w4": np.ones((4, 2), np.float32), "w5": np.ones((5, 2), np.float32)}
    proto = model(nodes, {"x": ["b", "n"], "c": []}, ["y"], weights, dtypes={"c": BOOL})
    shapes = {"x": (1, columns), "c": ()}
    program = transformed(from_onnx(proto), "specialize-shapes", shapes)
    assert "onnx.If" not in counts(program) and counts(program)["onnx.MatMul"] == 1
    session = mt.compile(proto, shapes=shapes, cache=False).session("cpu")
    x = np.ones((1, columns), np.float32)
    np.testing.assert_array_equal(session.run({"x": x, "c": np.array(taken)})["y"], [[columns, columns]])
    with pytest.raises(InputError, match=f"the condition of the If 'pick' must be {str(taken).lower()}"):
        session.run({"x": x, "c": np.array(not taken)})


def test_a_branch_that_cannot_run_stays_inside_a_loop():
    """An If in a loop's body is left as it is: its condition may differ from turn to turn."""

    def branch(name, weight):
        made = [
            node("MatMul", ["v", weight], [f"{name}_m"]),
            node("ReduceSum", [f"{name}_m"], [name], keepdims=0),
        ]
        return helper.make_graph(made, name, [], [helper.make_tensor_value_info(name, F32, None)])

    body = helper.make_graph(
        [
            node("Cast", ["i"], ["odd"], to=BOOL),
            node("If", ["odd"], ["s"], then_branch=branch("t", "w5"), else_branch=branch("e", "w4")),
            node("Add", ["v", "s"], ["v2"]),
            node("Identity", ["go"], ["go2"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", BOOL, []),
            helper.make_tensor_value_info("v", F32, None),
        ],
        [helper.make_tensor_value_info("go2", BOOL, []), helper.make_tensor_value_info("v2", F32, None)],
    )
    weights = {"w4": np.ones((4, 2), np.float32), "w5": np.ones((5, 2), np.float32), "turns": np.array(1)}
    proto = model([node("Loop", ["turns", "", "x"], ["y"], body=body)], {"x": ["b", "n"]}, ["y"], weights)
    program = transformed(from_onnx(proto), "specialize-shapes", {"x": (1, 4)})
    assert counts(program)["onnx.Loop"] == 1 and "tensorrt.assertion" not in counts(program)
    x = np.ones((1, 4), np.float32)
    found = mt.compile(proto, shapes={"x": (1, 4)}, cache=False).session("cpu")(x)
    np.testing.assert_array_equal(found, [[9, 9, 9, 9]])
