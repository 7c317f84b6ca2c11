"""plan-clustering: group the ops of each function into `plan.cluster` regions, one backend each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...program import Program
from ..base import Pass, PassContext, option, register
from .partition import partition, topological_order

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["PlanClustering"]


@register
class PlanClustering(Pass):
    """Group ops into `plan.cluster` regions by union-find with a cycle check, TensorRT first.

    Constants are cloned into each cluster that reads them; a weight is a handle, so no bytes are copied.
    """

    name = "plan-clustering"
    phase = "clustering"

    min_cluster_size: int = option(1, "a TensorRT cluster of fewer ops runs on ONNX Runtime instead")
    merge_independent: bool = option(True, "also join clusters that have no path between them")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir.dialects import func

        with program.context:
            for operation in list(program.module.body.operations):
                if isinstance(operation, func.FuncOp) and not operation.is_external:
                    self._cluster_function(operation.regions[0].blocks[0])

    def _cluster_function(self, block: ir.Block) -> None:
        from ...dialects.plan.attributes import BACKENDS
        from .values import captured_values, is_constant

        *operations, terminator = [op.operation for op in block.operations]
        nodes = [op for op in operations if not is_constant(op)]
        producer_of = {result: n for n, op in enumerate(nodes) for result in op.results}
        captured = [captured_values(op) for op in nodes]
        producers = [sorted({producer_of[v] for v in values if v in producer_of}) for values in captured]
        backends = [_backend_of(op) for op in nodes]
        clusters = partition(backends, producers, BACKENDS, merge_independent=self.merge_independent)
        members: dict[int, list[ir.Operation]] = {}
        for node, cluster in enumerate(clusters):
            members.setdefault(cluster, []).append(nodes[node])
        for cluster in topological_order(clusters, producers):
            group = members[cluster]
            backend = _backend_of(group[0])
            if backend:
                _wrap(group, self._settle(backend, len(group)), terminator)
            else:
                for op in group:
                    op.move_before(terminator)
        for op in operations:
            if is_constant(op) and not any(True for result in op.results for _ in result.uses):
                op.erase()

    def _settle(self, backend: str, size: int) -> str:
        return "host" if backend == "tensorrt" and size < self.min_cluster_size else backend


def _backend_of(operation: ir.Operation) -> str:
    """The backend that takes the op: tensorrt; onnx for what has no TensorRT form; host for a tensorrt op
    that the builder refused (marked `plan.fallback`); "" for an op that no engine runs."""
    dialect = operation.name.partition(".")[0]
    if dialect == "tensorrt":
        return "host" if "plan.fallback" in operation.attributes else "tensorrt"
    return "onnx" if dialect == "onnx" else ""


def _wrap(group: list[ir.Operation], backend: str, terminator: ir.Operation) -> None:
    """Move `group` into a new cluster before `terminator`; its outside users read the cluster's results."""
    from torch_mlir import ir

    from ...dialects.plan import backend as backend_attribute
    from ...ir.builder import create
    from .values import is_inside, results_used_outside

    outputs = results_used_outside(group)
    cluster = create(
        "plan.cluster",
        [],
        {"target": backend_attribute(backend)},
        [value.type for value in outputs],
        loc=group[0].location,
        ip=ir.InsertionPoint(terminator),
    )
    inside = set(group)
    for old, new in zip(outputs, cluster.results, strict=True):
        for use in list(old.uses):
            if not is_inside(use.owner.operation, inside):
                use.owner.operation.operands[use.operand_number] = new
    body = cluster.regions[0].blocks.append()
    end = create("plan.yield", [outputs], loc=group[0].location, ip=ir.InsertionPoint(body))
    for op in group:
        op.move_before(end)
    _clone_constants(group, end, body)


def _clone_constants(group: list[ir.Operation], end: ir.Operation, body: ir.Block) -> None:
    from torch_mlir import ir

    from .values import captured_values, is_constant, replace_operands

    inside = set(group)
    start = ir.InsertionPoint.at_block_begin(body)
    copies: dict[ir.Value, ir.Value] = {}
    for op in [*group, end]:
        for value in captured_values(op):
            owner = value.owner
            if value in copies or not isinstance(owner, ir.OpView | ir.Operation):
                continue
            if owner.operation not in inside and is_constant(owner.operation):
                copies[value] = owner.operation.clone(start).results[value.result_number]
    replace_operands(group, copies)
