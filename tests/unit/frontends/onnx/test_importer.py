"""Import of graphs: names, types, optional values, subgraphs, functions, constants."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from torch_mlir import ir

from mlirtrt_nb.dialects.onnx.ops import constant_value, is_absent, opset
from mlirtrt_nb.errors import InvalidModelError
from mlirtrt_nb.frontends.onnx import from_onnx
from mlirtrt_nb.ir.builder import Op
from mlirtrt_nb.ir.locations import sources_of

from .onnx_models import BOOL, F32, I64, check_import, counts, model, node

RNG = np.random.default_rng(0)


def operations(program):
    """The ops of the entry function, in order."""
    return [op.operation for op in program.module.body.operations[0].regions[0].blocks[0].operations]


def find(program, name):
    """The first op called `name`."""
    return next(op for op in operations(program) if op.name == name)


def test_signature_names_and_dimensions():
    """Inputs and outputs keep their names, static sizes, dimension names and element types."""
    proto = model([node("Relu", ["x"], ["y"])], {"x": ["batch", 3, None]}, ["y"])
    program = from_onnx(proto)
    assert str(program.inputs[0]) == "x: batchx3x?xf32"
    assert program.outputs[0].shape == ("batch", 3, None)
    assert program.outputs[0].name == "y"
    assert program.name == "test"


def test_question_mark_is_no_dimension_name():
    """A dim_param of "?", as some exporters write, ties no dimensions together."""
    proto = model([node("Relu", ["x"], ["y"])], {"x": ["?", "?"]}, ["y"])
    assert from_onnx(proto).inputs[0].shape == (None, None)


def test_node_names_become_locations():
    """A node's name is its op's location; a nameless node goes by its first output."""
    proto = model([node("Relu", ["x"], ["a"], name="first"), node("Abs", ["a"], ["y"])], {"x": [2]}, ["y"])
    program = from_onnx(proto)
    assert sources_of(find(program, "onnx.relu").location) == ("first",)
    assert sources_of(find(program, "onnx.abs").location) == ("y",)


def test_duplicate_node_names_are_told_apart():
    """Two nodes of one name get two locations."""
    proto = model(
        [node("Relu", ["x"], ["a"], name="n"), node("Abs", ["a"], ["y"], name="n")], {"x": [2]}, ["y"]
    )
    program = from_onnx(proto)
    assert sources_of(find(program, "onnx.relu").location) == ("n",)
    assert sources_of(find(program, "onnx.abs").location) == ("n_1",)


def test_a_node_keeps_its_name_beside_a_tensor_of_that_name():
    """Where a node and an initializer have one name, the node's location has it as it is."""
    weights = {"fc": np.ones((3, 2), np.float32)}
    proto = model([node("MatMul", ["x", "fc"], ["y"], name="fc")], {"x": [2, 3]}, ["y"], weights)
    program = from_onnx(proto)
    assert sources_of(find(program, "onnx.matmul").location) == ("fc",)
    assert sources_of(find(program, "onnx.constant").location) == ("fc_value",)


def test_absent_optional_input():
    """An optional input given as "" is onnx.novalue, and the op has its full operand list."""
    nodes = [node("Clip", ["x", "", "high"], ["y"])]
    proto = model(nodes, {"x": [4]}, ["y"], {"high": np.float32(1)})
    program = check_import(proto, {"x": np.array([-5, 0.5, 2, 9], np.float32)})
    clip = find(program, "onnx.clip")
    assert [is_absent(value) for value in clip.operands] == [False, True, False]


def test_unread_optional_output_is_absent():
    """A Dropout mask and MaxPool indices that nobody reads are of type none; read ones have a type."""
    nodes = [node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2])]
    unread = from_onnx(model(nodes, {"x": [1, 1, 4, 4]}, ["y"]))
    assert is_absent(find(unread, "onnx.maxpool").results[1])
    read = from_onnx(model(nodes, {"x": [1, 1, 4, 4]}, ["y", "i"], dtypes={"i": I64}))
    assert str(find(read, "onnx.maxpool").results[1].type) == "tensor<1x1x3x3xi64>"


@pytest.mark.parametrize(("version", "axis"), [(11, 1), (13, -1)])
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_default_that_changed_between_opsets(op_type, version, axis):
    """A default axis that differs between versions is written out, so the op says what it does."""
    proto = model([node(op_type, ["x"], ["y"])], {"x": [2, 3, 4]}, ["y"], opset=version)
    program = check_import(proto, {"x": RNG.standard_normal((2, 3, 4), dtype=np.float32)})
    made = find(program, f"onnx.{op_type.lower()}")
    assert Op.of(made).attr("axis") == axis
    assert opset(made) == version


def test_attribute_kinds():
    """Numbers, lists and strings arrive under their ONNX names; values equal to the default are left out."""
    attributes = {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [1, 1], "ceil_mode": 0}
    program = from_onnx(model([node("MaxPool", ["x"], ["y"], **attributes)], {"x": [1, 1, 8, 8]}, ["y"]))
    pool = find(program, "onnx.maxpool")
    assert Op.of(pool).attr("kernel_shape") == [3, 3]
    assert Op.of(pool).attr("auto_pad") == "SAME_UPPER"
    assert "ceil_mode" not in pool.attributes
    assert Op.of(pool).attr("ceil_mode") == 0


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"value_float": 1.5}, np.float32(1.5)),
        ({"value_ints": [3, 4]}, np.array([3, 4])),
        ({"value_int": 7}, np.array(7)),
        ({"value_floats": [1.0, 2.0]}, np.array([1, 2], np.float32)),
        ({"value": numpy_helper.from_array(np.eye(3, dtype=np.float32))}, np.eye(3, dtype=np.float32)),
    ],
)
def test_constant_nodes(attributes, expected):
    """Every way of writing a Constant node gives one onnx.constant with its value."""
    kind = F32 if np.asarray(expected).dtype == np.float32 else I64
    proto = model([node("Constant", [], ["y"], **attributes)], {}, ["y"], dtypes={"y": kind})
    program = from_onnx(proto)
    found = constant_value(find(program, "onnx.constant").results[0], program.weights)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.asarray(expected).dtype


def test_strings():
    """Constants of strings import, keep their shape, and compute."""
    words = np.array([["a", "ß"], ["", "d"]], object)
    nodes = [node("Equal", ["x", "w"], ["y"])]
    proto = model(
        nodes, {"x": [2, 2]}, ["y"], {"w": words}, opset=19, dtypes={"x": TensorProto.STRING, "y": BOOL}
    )
    program = check_import(proto, {"x": np.array([["a", "b"], ["", "e"]], object)})
    assert str(find(program, "onnx.constant").results[0].type) == "tensor<2x2x!onnx.string>"


def test_initializer_that_is_also_an_input():
    """The IR version 3 habit of listing weights as inputs gives constants, not inputs."""
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [2], "w": [2]}, ["y"], {"w": np.ones(2, np.float32)})
    proto.ir_version = 3
    assert [spec.name for spec in from_onnx(proto).inputs] == ["x"]


def test_unused_initializer_is_left_out():
    """A weight that no node reads is not imported."""
    proto = model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], {"w": np.ones(99, np.float32)})
    program = from_onnx(proto)
    assert not program.weights
    assert "onnx.Constant" not in counts(program)


def branches(then_shape, else_shape):
    """An If on x's first element whose branches give constants of these shapes."""

    def branch(name, shape):
        filled = helper.make_tensor("t", F32, shape, np.full(int(np.prod(shape)), len(shape), np.float32))
        constant = node("Constant", [], [name], value=filled)
        return helper.make_graph([constant], name, [], [helper.make_tensor_value_info(name, F32, None)])

    nodes = [
        node("Greater", ["x", "zero"], ["c"]),
        node(
            "If", ["c"], ["y"], then_branch=branch("t_out", then_shape), else_branch=branch("e_out", else_shape)
        ),
    ]
    return model(nodes, {"x": []}, ["y"], {"zero": np.float32(0)})


def test_if_branches_of_one_shape():
    """Branches become regions that end in onnx.yield, then_branch first; the result type is theirs."""
    program = check_import(branches([2], [2]), {"x": np.array(1, np.float32)})
    made = find(program, "onnx.if")
    assert [list(region.blocks[0].operations)[-1].operation.name for region in made.regions] == [
        "onnx.yield"
    ] * 2
    first = next(iter(made.regions[0].blocks[0].operations)).operation
    assert sources_of(first.location) == ("t_out",)
    assert str(made.results[0].type) == "tensor<2xf32>"


def test_if_branches_of_different_rank():
    """Branches of different rank give a result of unknown rank, and still compute."""
    program = check_import(branches([2], [3, 1]), {"x": np.array(-1, np.float32)})
    assert isinstance(find(program, "onnx.if").results[0].type, ir.UnrankedTensorType)


def loop_model():
    """Two Loops whose bodies use the same inner names; each adds an outer value in every turn."""

    def body(name):
        nodes = [
            node("Add", ["carried", "outer"], ["sum"]),
            node("Identity", ["cond_in"], ["cond_out"]),
            node("Identity", ["sum"], ["scan"]),
        ]
        inputs = [
            helper.make_tensor_value_info("i", I64, []),
            helper.make_tensor_value_info("cond_in", BOOL, []),
            helper.make_tensor_value_info("carried", F32, None),
        ]
        outputs = [
            helper.make_tensor_value_info(n, k, None)
            for n, k in (("cond_out", BOOL), ("sum", F32), ("scan", F32))
        ]
        return helper.make_graph(nodes, name, inputs, outputs)

    nodes = [
        node("Relu", ["x"], ["outer"]),
        node("Loop", ["count", "", "x"], ["a", "a_scan"], body=body("first")),
        node("Loop", ["count", "", "a"], ["b", "b_scan"], body=body("second")),
    ]
    return model(nodes, {"x": [2]}, ["b", "b_scan"], {"count": np.array(3)})


def test_loops_that_reuse_inner_names():
    """Bodies see outer values as plain uses, and equal inner names do not mix."""
    program = check_import(loop_model(), {"x": np.array([1, -2], np.float32)})
    body = find(program, "onnx.loop").regions[0].blocks[0]
    assert [str(a.type) for a in body.arguments] == ["tensor<i64>", "tensor<i1>", "tensor<*xf32>"]


def test_scan_body_types():
    """A scanned input without a declared type is a slice of its sequence."""
    body = helper.make_graph(
        [node("Add", ["s", "e"], ["s_out"]), node("Identity", ["s_out"], ["o"])],
        "body",
        [helper.make_tensor_value_info(n, F32, None) for n in ("s", "e")],
        [helper.make_tensor_value_info(n, F32, None) for n in ("s_out", "o")],
    )
    proto = model(
        [node("Scan", ["z", "x"], ["f", "y"], num_scan_inputs=1, body=body)],
        {"z": [3], "x": [5, 3]},
        ["f", "y"],
    )
    program = check_import(proto, {"z": np.zeros(3, np.float32), "x": np.ones((5, 3), np.float32)})
    arguments = find(program, "onnx.scan").regions[0].blocks[0].arguments
    assert str(arguments[1].type) == "tensor<3xf32>"


def test_local_functions_are_inlined():
    """A model's own function is replaced by its body."""
    function = helper.make_function(
        "local", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    call = helper.make_node("Twice", ["x"], ["y"], domain="local")
    proto = model([call], {"x": [2]}, ["y"], functions=[function], domains={"local": 1})
    program = check_import(proto, {"x": np.array([1, 2], np.float32)})
    assert counts(program)["onnx.Add"] == 1


def test_sequences_and_optionals():
    """Sequence values have the dialect's own type, and the model still computes."""
    nodes = [
        node("SequenceConstruct", ["x", "x"], ["s"]),
        node("SequenceAt", ["s", "one"], ["y"]),
    ]
    program = check_import(model(nodes, {"x": [2]}, ["y"], {"one": np.array(1)}), {"x": np.ones(2, np.float32)})
    assert str(find(program, "onnx.sequenceconstruct").results[0].type) == "!onnx.seq<tensor<2xf32>>"


def test_nodes_out_of_order_are_put_in_order():
    """A graph that lists a reader before its producer imports in dependency order."""
    proto = model([node("Abs", ["a"], ["y"]), node("Relu", ["x"], ["a"])], {"x": [2]}, ["y"])
    program = from_onnx(proto)
    names = [op.name for op in operations(program)]
    assert names.index("onnx.relu") < names.index("onnx.abs")


def test_more_inputs_than_an_op_holds():
    """A Concat of 600 inputs is made of several, and computes the same."""
    inputs = {"x": [1]}
    proto = model([node("Concat", ["x"] * 600, ["y"], axis=0)], inputs, ["y"])
    program = check_import(proto, {"x": np.ones(1, np.float32)})
    assert program.outputs[0].shape == (600,)


def test_types_stale_in_the_file_give_way_to_inference():
    """A shape that the file declares and inference contradicts is not believed."""
    proto = model([node("Relu", ["x"], ["a"]), node("Relu", ["a"], ["y"])], {"x": [2, 3]}, ["y"])
    proto.graph.value_info.append(helper.make_tensor_value_info("a", F32, [7, 7]))
    program = from_onnx(proto)
    assert str(find(program, "onnx.relu").results[0].type) == "tensor<2x3xf32>"


def test_declared_type_counts_where_inference_knows_nothing():
    """The results of an op without a schema have the type that the file declares."""
    call = helper.make_node("FusedThing", ["x"], ["a"], domain="com.microsoft")
    proto = model([call, node("Relu", ["a"], ["y"])], {"x": [2]}, ["y"], domains={"com.microsoft": 1})
    proto.graph.value_info.append(helper.make_tensor_value_info("a", F32, [5, 6]))
    program = from_onnx(proto)
    custom = find(program, "onnx.custom")
    assert str(custom.results[0].type) == "tensor<5x6xf32>"
    assert Op.of(custom).attr("op_type") == "FusedThing"
    assert str(find(program, "onnx.relu").results[0].type) == "tensor<5x6xf32>"


def test_model_without_any_shape():
    """A model whose input has no shape imports with tensors of unknown rank."""
    proto = model([node("Relu", ["x"], ["y"])], {"x": [1]}, ["y"])
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    program = from_onnx(proto)
    assert program.inputs[0].shape == ("...",)
    assert str(find(program, "onnx.relu").results[0].type) == "tensor<*xf32>"


def test_an_input_and_a_weight_that_are_outputs_as_they_are():
    """What no node makes may be an output and be read by nodes, and keeps the type of where it comes from."""
    weights = {"w": np.arange(4, dtype=np.float32)}
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": ["N", 4]}, ["y"], weights)
    proto.graph.output.append(helper.make_tensor_value_info("x", F32, ["N", 4]))
    proto.graph.output.append(helper.make_tensor_value_info("w", F32, None))
    program = from_onnx(proto)
    assert [str(spec) for spec in program.outputs] == ["y: Nx4xf32", "x: Nx4xf32", "w: 4xf32"]


def test_an_input_that_is_an_output_of_another_type():
    """An output that declares another element type than the input that it is, is refused."""
    proto = model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"])
    proto.graph.output.append(helper.make_tensor_value_info("x", I64, [2]))
    with pytest.raises(InvalidModelError, match="declares 'x' as INT64, but it is made as FLOAT"):
        from_onnx(proto)
