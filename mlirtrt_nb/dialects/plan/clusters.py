"""Ops shared with MLIR-TensorRT: clusters, the ties between tensors and their shapes, transfers, ranges."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, Region, ResultDef
from ...ir.shapes import volume
from ...ir.verifier import reject

__all__ = ["OPS"]

_PURE = frozenset({"pure"})
_EFFECT: frozenset[str] = frozenset()


def _same_type(operand: str) -> Callable[[Op], list[ir.Type] | None]:
    def infer(op: Op) -> list[ir.Type] | None:
        value = op.operand(operand)
        return None if value is None else [value.type]

    return infer


def _same_types(op: Op) -> list[ir.Type]:
    return [value.type for value in op.group("operands")]


def _element_types(op: Op) -> list[ir.Type] | None:
    return [op.type("operand")]


def _verify_with_shape(op: Op) -> None:
    rank, given = op.type("operand").rank, len(op.group("shape"))
    if rank != given:
        reject(op, f"a tensor of rank {rank} needs {rank} dimensions, got {given}")


def _verify_with_values(op: Op) -> None:
    kind = op.type("operand")
    count, given = volume(kind.shape), len(op.group("elements"))
    if count is None:
        reject(op, f"the tensor must have a static shape, got {kind}")
    if count != given:
        reject(op, f"{kind} has {count} elements, got {given} values")


def _verify_bounds(op: Op) -> None:
    pairs = [("input_attrs", "inputs")]
    if op.definition.attr("res_attrs") is not None:
        pairs.append(("res_attrs", "outs"))
    for attribute, group in pairs:
        entries = op.raw(attribute)
        count = len(ir.ArrayAttr(entries)) if entries is not None else 0
        want = len(op.group(group))
        if count != want:
            reject(op, f"{attribute} needs one entry for each of the {want} {group}, got {count}")


_TARGET = Attr("target", "any", optional=True, doc="The backend that runs the region.")

OPS = (
    OpDef(
        "plan.cluster",
        "Groups ops for one backend; the region sees values from above.",
        attrs=(_TARGET,),
        results=(ResultDef("results", variadic=True),),
        regions=(Region("body"),),
        assembly="(`target` `(` $target^ `)`)? attr-dict-with-keyword (`->` type($results)^)? $body",
        traits=_EFFECT,
        example="%0 = plan.cluster target(#plan.host_backend<benefit = 1>) -> tensor<4xf32> {\n"
        "  %1 = arith.addf %x, %x : tensor<4xf32>\n  yield %1 : tensor<4xf32>\n}",
    ),
    OpDef(
        "plan.dps_cluster",
        "A closed cluster that writes its results into the tensors it is given.",
        operands=(Operand("inputs", variadic=True), Operand("outs", variadic=True)),
        attrs=(
            Attr("input_attrs", "array", doc="Bounds of each input."),
            Attr("res_attrs", "array", doc="Bounds of each result."),
            _TARGET,
        ),
        results=(ResultDef("results", variadic=True),),
        regions=(Region("body", "one per input, then one per out"),),
        assembly="(`target` `(` $target^ `)`)? `inputs` `(` ($inputs^ `:` type($inputs))? `)` "
        "`outs` `(` $outs `:` type($outs) `)` `in_attrs` $input_attrs `res_attrs` $res_attrs "
        "attr-dict-with-keyword `->` type($results) $body",
        traits=frozenset({"isolated"}),
        verify=_verify_bounds,
    ),
    OpDef(
        "plan.alloc_cluster",
        "A closed cluster that allocates its results.",
        operands=(Operand("inputs", variadic=True),),
        attrs=(Attr("input_attrs", "array", doc="Bounds of each input."), _TARGET),
        results=(ResultDef("results", variadic=True),),
        regions=(Region("body", "one per input"),),
        assembly="(`target` `(` $target^ `)`)? `inputs` `(` ($inputs^ `:` type($inputs))? `)` "
        "`in_attrs` $input_attrs attr-dict-with-keyword `->` type($results) $body",
        traits=frozenset({"isolated"}),
        verify=_verify_bounds,
    ),
    OpDef(
        "plan.yield",
        "Ends a cluster's region with its results.",
        operands=(Operand("results", variadic=True),),
        results=(),
        assembly="attr-dict ($results^ `:` type($results))?",
        traits=frozenset({"pure", "terminator"}),
    ),
    OpDef(
        "plan.with_shape",
        "Ties a tensor to its dimensions as scalars.",
        operands=(Operand("operand"), Operand("shape", variadic=True)),
        assembly="attr-dict $operand `(` $shape `)` `:` functional-type(operands, results)",
        traits=_PURE,
        infer=_same_type("operand"),
        verify=_verify_with_shape,
        example="%0 = plan.with_shape %x(%d0, %c4) : (tensor<?x4xf32>, index, index) -> tensor<?x4xf32>",
    ),
    OpDef(
        "plan.with_values",
        "Ties a static integer tensor to its elements as scalars.",
        operands=(Operand("operand"), Operand("elements", variadic=True)),
        assembly="attr-dict $operand `(` $elements `)` `:` type($result)",
        traits=_PURE,
        infer=_element_types,
        verify=_verify_with_values,
        example="%0 = plan.with_values %x(%a, %b) : tensor<2xi32>",
    ),
    OpDef(
        "plan.transfer",
        "Moves a tensor to another memory space.",
        operands=(Operand("operand"),),
        assembly="$operand attr-dict `:` type($operand) `to` type($result)",
        traits=_PURE,
        example="%0 = plan.transfer %x : tensor<4xf32> to tensor<4xf32, #plan.memory_space<host>>",
    ),
    OpDef(
        "plan.optimization_barrier",
        "Passes its operands through; nothing is moved or merged across it.",
        operands=(Operand("operands", variadic=True),),
        results=(ResultDef("results", variadic=True),),
        assembly="$operands attr-dict `:` type($operands)",
        traits=_EFFECT,
        infer=_same_types,
    ),
    OpDef(
        "plan.constraint",
        "Holds a memref to its declared type and memory space.",
        operands=(Operand("memrefToConstrain"),),
        results=(),
        assembly="`(` $memrefToConstrain `)` attr-dict `:` type($memrefToConstrain)",
        traits=_EFFECT,
    ),
    OpDef(
        "plan.nvtx_push",
        "Opens a named range in NVIDIA's profilers; the last result is the range's id.",
        operands=(Operand("operands", variadic=True),),
        attrs=(Attr("name", "str"), Attr("color", "i32")),
        results=(ResultDef("results", variadic=True),),
        assembly="attr-dict $operands `:` functional-type(operands, results)",
        traits=_EFFECT,
    ),
    OpDef(
        "plan.nvtx_pop",
        "Closes the range whose id is the last operand.",
        operands=(Operand("operands", variadic=True),),
        results=(ResultDef("results", variadic=True),),
        assembly="attr-dict $operands `:` functional-type(operands, results)",
        traits=_EFFECT,
    ),
)
