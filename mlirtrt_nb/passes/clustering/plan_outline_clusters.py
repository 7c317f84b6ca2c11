"""plan-outline-clusters: turn each `plan.cluster` into a function that the program calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...program import Program
from ..base import Pass, PassContext, register

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["ENGINES_MODULE", "PlanOutlineClusters"]

ENGINES_MODULE = "trt_engines"


@register
class PlanOutlineClusters(Pass):
    """Move each cluster into a function: TensorRT ones into `tensorrt.module @trt_engines`, called by
    `tensorrt.call_alloc`; the others beside the program, called by `func.call`."""

    name = "plan-outline-clusters"
    phase = "clustering"

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir.dialects import func

        with program.context:
            functions = [op for op in program.module.body.operations if isinstance(op, func.FuncOp)]
            for function in functions:
                if not function.is_external:
                    _outline_function(program, function)


def _outline_function(program: Program, function: ir.OpView) -> None:
    opsets = function.attributes["onnx.opset_import"] if "onnx.opset_import" in function.attributes else None
    name = function.name.value
    engines = hosts = 0
    for operation in list(function.regions[0].blocks[0].operations):
        if operation.operation.name != "plan.cluster":
            continue
        cluster = operation.operation
        if _is_tensorrt(cluster):
            _outline(cluster, _engines_block(program), f"{name}_{engines}", None)
            engines += 1
        else:
            _outline(cluster, program.module.body, f"host_{hosts}" if name == "main" else f"{name}_host_{hosts}", opsets)
            hosts += 1


def _is_tensorrt(cluster: ir.Operation) -> bool:
    return "tensorrt_backend" in str(cluster.attributes["target"])


def _engines_block(program: Program) -> ir.Block:
    """The block of `tensorrt.module @trt_engines`, made on first use at the module's end."""
    from torch_mlir import ir

    from ...ir.builder import create

    for op in program.module.body.operations:
        if op.operation.name == "tensorrt.module":
            return op.operation.regions[0].blocks[0]
    with ir.InsertionPoint(program.module.body), ir.Location.unknown():
        made = create("tensorrt.module", [], {"sym_name": ENGINES_MODULE}, [])
    return made.regions[0].blocks.append()


def _outline(cluster: ir.Operation, home: ir.Block, name: str, opsets: ir.Attribute | None) -> None:
    """Make `@name` in `home` from the cluster's body and put a call where the cluster stood."""
    from torch_mlir import ir
    from torch_mlir.dialects import func

    from ..clustering.values import captured_values, replace_operands

    inputs = captured_values(cluster)
    results = [result.type for result in cluster.results]
    with ir.InsertionPoint(home), cluster.location:
        made = func.FuncOp(name, ([value.type for value in inputs], results))
    if opsets is not None:
        made.attributes["sym_visibility"] = ir.StringAttr.get("private")
        made.attributes["plan.backend"] = ir.StringAttr.get("onnx")
        made.attributes["onnx.opset_import"] = opsets
    entry = made.add_entry_block([cluster.location] * len(inputs))
    body = [op.operation for op in cluster.regions[0].blocks[0].operations]
    replace_operands(body, dict(zip(inputs, entry.arguments, strict=True)))
    with ir.InsertionPoint(entry), cluster.location:
        end = func.ReturnOp(list(body[-1].operands)).operation
    for op in body[:-1]:
        op.move_before(end)
    body[-1].erase()
    call = _call(cluster, inputs, results, name, engine=opsets is None and home.owner.name == "tensorrt.module")
    for old, new in zip(cluster.results, call.results, strict=True):
        old.replace_all_uses_with(new)
    cluster.erase()


def _call(
    cluster: ir.Operation, inputs: list[ir.Value], results: list[ir.Type], name: str, *, engine: bool
) -> ir.Operation:
    from torch_mlir import ir
    from torch_mlir.dialects import func

    from ...ir.builder import create

    with ir.InsertionPoint(cluster), cluster.location:
        if engine:
            callee = {"callee": f"{ENGINES_MODULE}::{name}"}
            return create("tensorrt.call_alloc", [inputs], callee, results)
        return func.CallOp(results, ir.FlatSymbolRefAttr.get(name), inputs).operation
