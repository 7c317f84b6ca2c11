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

        from .refused_regions import open_refused

        worth = any(target != "cpu" for target in context.targets)
        with program.context:
            for operation in list(program.module.body.operations):
                if isinstance(operation, func.FuncOp) and not operation.is_external:
                    open_refused(operation.regions[0].blocks[0], worth=worth)
                    self._cluster_function(operation.regions[0].blocks[0])

    def _cluster_function(self, block: ir.Block) -> None:
        from ...dialects.plan.attributes import BACKENDS
        from .dataflow import backend_of, producers_of, work_of
        from .values import CONTROL_FLOW, is_constant

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
            if is_constant(op) and not any(True for result in op.results for _ in result.uses):
                op.erase()


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
