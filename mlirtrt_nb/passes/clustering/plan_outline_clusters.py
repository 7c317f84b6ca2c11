"""plan-outline-clusters: turn each `plan.cluster` into a function that the program calls."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...errors import PassError
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
    from torch_mlir import ir

    from ...dialects.plan import backend_name
    from ...ir.symbols import engines_module

    counts: Counter[str] = Counter()
    for cluster in _clusters(function.regions[0].blocks[0]):
        backend = backend_name(cluster.attributes["target"])
        engine = backend == "tensorrt"
        kind = "" if engine else "host_"
        name = f"{function.name.value}_{kind}{counts[kind]}"
        counts[kind] += 1
        home = engines_module(program.module, ENGINES_MODULE) if engine else program.module.body
        if _is_taken(home, name):
            raise PassError(
                f"the program is cut into engines already: @{name} is one of its parts",
                hint="compile the program it was made from, or that of a step before plan-outline-clusters",
            )
        made = _outline(cluster, home, name, function)
        if not engine:
            made.attributes["sym_visibility"] = ir.StringAttr.get("private")
            made.attributes["plan.backend"] = ir.StringAttr.get("host" if backend == "kernel" else "onnx")
            if backend != "kernel" and "onnx.opset_import" in function.attributes:
                made.attributes["onnx.opset_import"] = function.attributes["onnx.opset_import"]


def _is_taken(home: ir.Block, name: str) -> bool:
    from torch_mlir import ir

    symbols = (op.operation.attributes.get("sym_name", None) for op in home.operations)
    return any(isinstance(symbol, ir.StringAttr) and symbol.value == name for symbol in symbols)


def _clusters(block: ir.Block) -> list[ir.Operation]:
    """The clusters of a block and of the branches and loops in it, in order."""
    from .values import CONTROL_FLOW

    found = []
    for operation in block.operations:
        if operation.operation.name == "plan.cluster":
            found.append(operation.operation)
        elif operation.operation.name in CONTROL_FLOW:
            for region in operation.operation.regions:
                found += _clusters(region.blocks[0])
    return found


def _outline(cluster: ir.Operation, home: ir.Block, name: str, caller: ir.OpView) -> ir.OpView:
    """Move the cluster's body into a new function `@name` in `home`; put a call where the cluster stood."""
    from torch_mlir import ir
    from torch_mlir.dialects import func

    from ...ir.symbols import is_engines_module
    from .values import captured_values, replace_operands

    inputs = captured_values(cluster)
    results = [result.type for result in cluster.results]
    with ir.InsertionPoint(home), cluster.location:
        made = func.FuncOp(name, ([value.type for value in inputs], results))
    _name_boundary(made, inputs, list(cluster.results), caller)
    entry = made.add_entry_block([cluster.location] * len(inputs))
    *body, end = [op.operation for op in cluster.regions[0].blocks[0].operations]
    replace_operands([*body, end], dict(zip(inputs, entry.arguments, strict=True)))
    with ir.InsertionPoint(entry), cluster.location:
        terminator = func.ReturnOp(list(end.operands)).operation
    for op in body:
        op.move_before(terminator)
    end.erase()
    call = _call(cluster, inputs, results, name, engine=is_engines_module(home.owner))
    for old, new in zip(cluster.results, call.results, strict=True):
        old.replace_all_uses_with(new)
    cluster.erase()
    return made


def _call(
    cluster: ir.Operation, inputs: list[ir.Value], results: list[ir.Type], name: str, *, engine: bool
) -> ir.Operation:
    from torch_mlir import ir
    from torch_mlir.dialects import func

    from ...ir.builder import create

    with ir.InsertionPoint(cluster), cluster.location:
        if engine:
            return create("tensorrt.call_alloc", [inputs], {"callee": f"{ENGINES_MODULE}::{name}"}, results)
        return func.CallOp(results, ir.FlatSymbolRefAttr.get(name), inputs).operation


def _name_boundary(made: ir.OpView, inputs: list[ir.Value], results: list[ir.Value], caller: ir.OpView) -> None:
    """Carry names across: an argument or result that is the caller's own keeps its attributes there."""
    name = made.name.value
    arguments = {value: n for n, value in enumerate(caller.arguments)}
    returned = list(caller.regions[0].blocks[0].operations)[-1].operation.operands
    outputs = {value: n for n, value in reversed(list(enumerate(returned)))}
    _set_boundary(made, caller, "arg_attrs", [arguments.get(v) for v in inputs], f"{name}_in")
    _set_boundary(made, caller, "res_attrs", [outputs.get(v) for v in results], f"{name}_out")


def _set_boundary(
    made: ir.OpView, caller: ir.OpView, which: str, positions: list[int | None], prefix: str
) -> None:
    from torch_mlir import ir

    given = list(caller.attributes[which]) if which in caller.attributes else []
    entries = []
    for n, position in enumerate(positions):
        if position is not None and position < len(given):
            entries.append(given[position])
        else:
            entries.append(ir.DictAttr.get({"plan.name": ir.StringAttr.get(f"{prefix}{n}")}))
    made.attributes[which] = ir.ArrayAttr.get(entries)
