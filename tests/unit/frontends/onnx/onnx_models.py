"""Small ONNX models for tests, and a way to run a Program of onnx ops to compare it with the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from mlirtrt_nb.dialects.onnx.export import export_function
from mlirtrt_nb.dialects.onnx.ort_session import open_session
from mlirtrt_nb.frontends.onnx import from_onnx
from mlirtrt_nb.ir.inspect import entry_function
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.pipeline import Pipeline
from mlirtrt_nb.program import Program

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def node(
    op_type: str, inputs: Sequence[str], outputs: Sequence[str], name: str = "", **attributes: Any
) -> NodeProto:
    """A node; its name is empty unless given."""
    return helper.make_node(op_type, list(inputs), list(outputs), name=name, **attributes)


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Sequence[int | str | None]],
    outputs: Sequence[str],
    weights: Mapping[str, np.ndarray] | None = None,
    *,
    opset: int = 17,
    dtypes: Mapping[str, int] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
    domains: Mapping[str, int] | None = None,
) -> ModelProto:
    """A model of float inputs of the given shapes (or of `dtypes[name]`); outputs have no declared shape."""
    kinds = dtypes or {}
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(n, kinds.get(n, F32), list(s)) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, kinds.get(n, F32), None) for n in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    imports = [helper.make_opsetid("", opset)]
    imports += [helper.make_opsetid(domain, version) for domain, version in (domains or {}).items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=list(functions))


def loop_body_model(constant: NodeProto) -> ModelProto:
    """A Loop whose body holds the Constant node `constant`, which gives "c", and adds it to what it carries."""
    body = helper.make_graph(
        [constant, node("Add", ["v", "c"], ["v_out"]), node("Identity", ["k"], ["k_out"])],
        "body",
        [
            helper.make_tensor_value_info("i", I64, []),
            helper.make_tensor_value_info("k", BOOL, []),
            helper.make_tensor_value_info("v", F32, None),
        ],
        [helper.make_tensor_value_info("k_out", BOOL, None), helper.make_tensor_value_info("v_out", F32, None)],
    )
    return model([node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": [4000]}, ["y"], {"n": np.array(2)})


def reference(proto: ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What ONNX Runtime computes from the original model."""
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(feeds))


def run(program: Program, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What ONNX Runtime computes from the program's entry function, written back as a model."""
    function = entry_function(program.module.operation)
    assert function is not None
    with program.context:
        exported = export_function(function, program.weights)
    table = {name: program.weights[name] for name in exported.weights}
    opened = open_session(exported.model.SerializeToString(), table)
    return opened.session.run(None, dict(feeds))


def transformed(program: Program, passes: str, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Program:
    """The program after the passes, with inputs fixed to `shapes`."""
    profiles = ({name: (shape,) * 3 for name, shape in shapes.items()},) if shapes else ()
    return Pipeline.parse(passes).run(program, PassContext(profiles=profiles)).program


def counts(program: Program) -> dict[str, int]:
    """Op name (as shown) -> how many there are."""
    return dict(zip(program.ops["op"], program.ops["count"], strict=True))


def check_import(proto: ModelProto, feeds: Mapping[str, np.ndarray]) -> Program:
    """Import `proto`, verify it, and check that it still computes what it did; return the program."""
    program = from_onnx(proto)
    assert program.module.operation.verify()
    for ours, theirs in zip(run(program, feeds), reference(proto, feeds), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    return program
