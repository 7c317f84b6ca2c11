"""plan-clustering: group the ops of each function into `plan.cluster` regions, one backend each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import OptionError
from ...program import Program
from ..base import Pass, PassContext, option, register
from .partition import MERGES, settled_partition, topological_order

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["PlanClustering"]


@register
class PlanClustering(Pass):
    """Group ops into `plan.cluster` regions by union-find with a cycle check, TensorRT first.

    Constants are cloned into each cluster that reads them; a weight is a handle, so no bytes are copied. A
    tensorrt branch or loop that the builder refused is opened first if there is work for engines in it.
    """

    name = "plan-clustering"
    phase = "clustering"

    min_cluster_size: int = option(1, "a TensorRT cluster of fewer ops runs on ONNX Runtime instead")
    merge: str = option(
        "all", "which clusters of a backend are joined: all that may be, neighbours (connected ones), or none"
    )

    def __post_init__(self) -> None:
        if self.merge not in MERGES:
            raise OptionError(
                f"pass {self.name}: merge={self.merge} is not known", hint=f"one of {', '.join(MERGES)}"
            )
        if self.min_cluster_size < 1:
            raise OptionError(f"pass {self.name}: min_cluster_size is {self.min_cluster_size}, at least 1")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir.dialects import func

        from .host_values import tensors_at_the_border
        from .refused_regions import open_refused

        worth = any(target != "cpu" for target in context.targets)
        with program.context:
            for operation in list(program.module.body.operations):
                if (
                    isinstance(operation, func.FuncOp)
                    and not operation.is_external
                    and not _is_helper(operation)
                ):
                    tensors_at_the_border(operation)
                    open_refused(operation.regions[0].blocks[0], worth=worth)
                    self._cluster_function(operation.regions[0].blocks[0])

    def _cluster_function(self, block: ir.Block) -> None:
        from ...dialects.plan.attributes import BACKENDS
        from ...ir.values import is_read
        from .dataflow import backend_of, producers_of, work_of
        from .values import CONTROL_FLOW, READ, is_constant

        *operations, terminator = [op.operation for op in block.operations]
        nodes = work_of(block)
        for op in nodes:
            if op.name in CONTROL_FLOW:
                for region in op.regions:
                    self._cluster_function(region.blocks[0])
        producers = producers_of(nodes)
        clusters, backends = settled_partition(
            [backend_of(op) for op in nodes],
            producers,
            BACKENDS,
            merge=self.merge,
            least=self.min_cluster_size,
        )
        members: dict[int, list[ir.Operation]] = {}
        backend: dict[int, str] = {}
        for node, cluster in enumerate(clusters):
            members.setdefault(cluster, []).append(nodes[node])
            backend[cluster] = backends[node]
        for cluster in topological_order(clusters, producers):
            if backend[cluster]:
                _wrap(members[cluster], backend[cluster], terminator)
            else:
                for op in members[cluster]:
                    op.move_before(terminator)
        for op in operations:
            if is_constant(op) and not is_read(op):
                op.erase()
        for op in reversed([op.operation for op in block.operations]):
            if READ in op.attributes and not is_read(op):
                op.erase()


def _is_helper(function: ir.OpView) -> bool:
    """Whether a function is only called by host code, and compiled with it."""
    from .host_values import is_host_op
    from .values import is_constant

    if "sym_visibility" not in function.attributes:
        return False
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    return all(is_host_op(op) or is_constant(op) for op in operations)


def _wrap(group: list[ir.Operation], backend: str, terminator: ir.Operation) -> None:
    """Move `group` into a new cluster before `terminator`; its outside users read the cluster's results."""
    from torch_mlir import ir

    from ...dialects.plan import backend as backend_attribute
    from ...ir.builder import create
    from .host_values import as_tensors, border_type
    from .values import results_used_outside

    outputs = results_used_outside(group)
    cluster = create(
        "plan.cluster",
        [],
        {"target": backend_attribute(backend)},
        [border_type(value.type) for value in outputs],
        loc=group[0].location,
        ip=ir.InsertionPoint(terminator),
    )
    _read_from(cluster, outputs, set(group), terminator)
    body = cluster.regions[0].blocks.append()
    for op in group:
        body.append(op)
    with group[0].location, ir.InsertionPoint(body):
        end = create("plan.yield", [as_tensors(outputs)])
    _clone_constants([*group, end], body)


def _read_from(
    cluster: ir.Operation, outputs: list[ir.Value], inside: set[ir.Operation], terminator: ir.Operation
) -> None:
    """Let what is outside of the cluster read its results instead of `outputs`, numbers from their tensors."""
    from torch_mlir import ir

    from .host_values import read
    from .values import is_inside

    for old, result in zip(outputs, cluster.results, strict=True):
        new: ir.Value = result
        if old.type != result.type:
            with cluster.location, ir.InsertionPoint(terminator):
                new = read(result, old.type)
        for use in list(old.uses):
            if not is_inside(use.owner.operation, inside):
                use.owner.operation.operands[use.operand_number] = new


def _clone_constants(operations: list[ir.Operation], body: ir.Block) -> None:
    """Copy to the start of `body` the constants that `operations` read from outside, and what those read."""
    from torch_mlir import ir

    from .values import captured_values, is_constant, replace_operands

    inside = set(operations)
    copies: dict[ir.Value, ir.Value] = {}

    def copy(value: ir.Value) -> ir.Value:
        owner = value.owner
        if value in copies or not isinstance(owner, ir.OpView | ir.Operation):
            return copies.get(value, value)
        if owner.operation in inside or not is_constant(owner.operation):
            return value
        operands = [copy(operand) for operand in owner.operation.operands]
        made = owner.operation.clone(ir.InsertionPoint(first))
        for position, operand in enumerate(operands):
            made.operation.operands[position] = operand
        copies[value] = made.operation.results[value.result_number]
        return copies[value]

    first = next(iter(body.operations))
    for op in operations:
        for value in captured_values(op):
            copy(value)
    replace_operands(operations, copies)
