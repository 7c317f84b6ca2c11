"""Outlined programs and CPU engines for tests, made by hand: what the passes and builders hand to the Plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from torch_mlir import ir
from torch_mlir.dialects import builtin, func

from mlirtrt_nb.engine.base import Binding, Engine, EngineReport, LayerRow
from mlirtrt_nb.ir.builder import create
from mlirtrt_nb.ir.context import new_context
from mlirtrt_nb.ir.symbols import engines_module
from mlirtrt_nb.program import Program

Shape = Sequence[int]


class Outline:
    """Builds an outlined module: declare `engine`s and `host` functions, then write `main` with `call`s.

    Shapes are of f32 tensors; -1 varies.
    """

    def __init__(self) -> None:
        self.context = new_context()
        with self.context, ir.Location.unknown():
            self.module = builtin.ModuleOp()

    def engine(self, name: str, ins: Sequence[Shape], outs: Sequence[Shape]) -> str:
        """An empty engine function; its path."""
        with self.context, ir.Location.unknown():
            self._function(engines_module(self.module, "trt_engines"), name, ins, outs)
        return f"trt_engines::{name}"

    def host(self, name: str, ins: Sequence[Shape], outs: Sequence[Shape]) -> str:
        """A host function without a body; its path."""
        with self.context, ir.Location.unknown():
            made = self._function(self.module.body, name, ins, outs)
            made.attributes["plan.backend"] = ir.StringAttr.get("onnx")
        return name

    def main(
        self,
        ins: dict[str, Shape],
        outs: dict[str, Shape],
        body: Callable[[Caller, list[ir.Value]], Sequence[ir.Value]],
        dims: dict[str, dict[int, str]] | None = None,
    ) -> Program:
        """`@main`, whose `body(call, arguments)` returns its results; the finished program."""
        with self.context, ir.Location.name("net"):
            with ir.InsertionPoint(self.module.body):
                main = func.FuncOp(
                    "main", ([_type(s) for s in ins.values()], [_type(s) for s in outs.values()])
                )
            main.arg_attrs = ir.ArrayAttr.get([_attributes(name, (dims or {}).get(name)) for name in ins])
            main.attributes["res_attrs"] = ir.ArrayAttr.get([_attributes(name, None) for name in outs])
            block = main.add_entry_block()
            with ir.InsertionPoint(block):
                func.ReturnOp(list(body(_call, list(block.arguments))))
        return Program(self.module, {}, name="net")

    def _function(self, block: ir.Block, name: str, ins: Sequence[Shape], outs: Sequence[Shape]) -> func.FuncOp:
        with ir.InsertionPoint(block):
            return func.FuncOp(name, ([_type(s) for s in ins], [_type(s) for s in outs]), visibility="private")


Caller = Callable[[str, Sequence[ir.Value], Sequence[Shape]], list[ir.Value]]


def _call(path: str, operands: Sequence[ir.Value], outs: Sequence[Shape]) -> list[ir.Value]:
    with ir.Location.name(f"node_{path.rpartition('::')[2]}"):
        types = [_type(shape) for shape in outs]
        if "::" in path:
            return list(create("tensorrt.call_alloc", [list(operands)], {"callee": path}, types).results)
        return list(func.CallOp(types, ir.FlatSymbolRefAttr.get(path), list(operands)).results)


def _type(shape: Shape) -> ir.Type:
    dims = [ir.ShapedType.get_dynamic_size() if dim < 0 else dim for dim in shape]
    return ir.RankedTensorType.get(dims, ir.F32Type.get())


def _attributes(name: str, dims: dict[int, str] | None) -> ir.Attribute:
    entry: dict[str, ir.Attribute] = {"plan.name": ir.StringAttr.get(name)}
    if dims:
        named = {str(axis): ir.StringAttr.get(dim) for axis, dim in dims.items()}
        entry["tensorrt.dimension_names"] = ir.DictAttr.get(named)
    return ir.DictAttr.get(entry)


def cpu_engine(
    name: str,
    nodes: Sequence[tuple[str, Sequence[str], Sequence[str]]],
    ins: dict[str, Shape],
    outs: dict[str, Shape],
    weights: dict[str, np.ndarray] | None = None,
    dtype: int = TensorProto.FLOAT,
) -> Engine:
    """An ONNX Runtime engine of (op, inputs, outputs) nodes; `weights` stay outside its blob."""
    graph = helper.make_graph(
        [helper.make_node(op, list(i), list(o)) for op, i, o in nodes],
        name,
        [helper.make_tensor_value_info(n, dtype, [None if d < 0 else d for d in s]) for n, s in ins.items()],
        [helper.make_tensor_value_info(n, dtype, [None if d < 0 else d for d in s]) for n, s in outs.items()],
    )
    for key, array in (weights or {}).items():
        tensor = numpy_helper.from_array(array, key)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=key)
        graph.initializer.append(tensor)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    layers = tuple(
        LayerRow(f"{op}_{n}", op, tuple(i), tuple(o), sources=(f"{op}_{n}",))
        for n, (op, i, o) in enumerate(nodes)
    )
    return Engine(
        name,
        "onnxruntime",
        "cpu",
        model.SerializeToString(),
        tuple(Binding(n, tuple(s), "f32") for n, s in ins.items()),
        tuple(Binding(n, tuple(s), "f32") for n, s in outs.items()),
        tuple(weights or {}),
        EngineReport(layers, build_seconds=0.1, builder="ONNX Runtime"),
    )
