"""Contexts that get their dialects when they are needed."""

from __future__ import annotations

from onnx import TensorProto, helper
from torch_mlir import ir

import mlirtrt_nb as mt
from mlirtrt_nb.ir import builder
from mlirtrt_nb.ir.context import complete, context_of_ops, new_context

RELU = '%0 = "onnx.relu"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>'
# An op of each dialect: a plain one, one with 256 optional operands, and one that MLIR does not bring.
OTHERS = ("onnx.sigmoid", "onnx.concat", "tensorrt.activation", "tensorrt.concatenation", "plan.return")


def registered(context: ir.Context, *names: str) -> list[bool]:
    """Whether each op is known."""
    return [context.is_registered_operation(name) for name in names]


def relu_program() -> mt.Program:
    """An imported model of one op."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    return mt.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


def test_a_context_of_some_ops_has_no_others() -> None:
    """An importer's context costs what its model needs."""
    context = context_of_ops("onnx", ["onnx.relu"])
    assert registered(context, "onnx.relu", *OTHERS) == [True] + [False] * len(OTHERS)


def test_completing_adds_the_others_and_keeps_the_ops() -> None:
    """A module that was made before is sound after it, and completing twice does nothing."""
    context = context_of_ops("onnx", ["onnx.relu", "onnx.concat"])
    text = f"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {{\n{RELU}\nreturn %0 : tensor<2xf32>\n}}"
    with context:
        module = ir.Module.parse(text)
    complete(context)
    complete(context)
    assert all(registered(context, "onnx.relu", "stablehlo.add", "torch.aten.add.Tensor", *OTHERS))
    assert module.operation.verify()
    with context, ir.Location.unknown():
        attribute = '#tensorrt.activation_type<"kRELU">'
        assert str(ir.Attribute.parse(attribute)) == attribute


def test_a_full_context_is_left_as_it_is() -> None:
    """Registering an op twice would end the process."""
    context = new_context()
    complete(context)
    assert all(registered(context, *OTHERS))


def test_looking_at_an_imported_program_does_not_complete_its_context() -> None:
    """Signature, ops, text and clones need only the ops that there are; with its module others can be made."""
    program = relu_program()
    context = program.clone()._module.context
    assert "onnx.Relu" in program.text()
    assert str(program.inputs[0]) == "x: 2xf32"
    assert "onnx.Relu" in list(program.ops["op"])
    assert registered(context, *OTHERS) == [False] * len(OTHERS)
    body = program.module.body.operations[0].regions[0].blocks[0]
    assert all(registered(context, *OTHERS))
    with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
        kind = body.arguments[0].type
        made = builder.create("onnx.sigmoid", [body.arguments[0]], results=[kind])
    assert made.name == "onnx.sigmoid"


def test_a_program_that_was_only_looked_at_pickles() -> None:
    """Its copy is in a full context of its own."""
    import pickle

    program = relu_program()
    copy = pickle.loads(pickle.dumps(program))
    assert copy.text() == program.text()
    assert registered(program._module.context, *OTHERS) == [False] * len(OTHERS)
    assert all(registered(copy._module.context, *OTHERS))
