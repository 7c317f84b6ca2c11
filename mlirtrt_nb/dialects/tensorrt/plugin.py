"""Plugins, and collectives over several devices."""

from __future__ import annotations

from torch_mlir import ir

from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, Region, ResultDef
from ...ir.values import terminator
from ...ir.verifier import reject
from .common import TENSOR, example

__all__ = ["OPS"]


def _verify_opaque_plugin(op: Op) -> None:
    if op.raw("creator_func") is not None and op.raw("dso_path") is None:
        reject(op, f"creator_func = {op.attr('creator_func')} needs dso_path, the library that holds it")
    operation = op.operation
    if operation is None or not operation.regions[0].blocks:
        return
    block = operation.regions[0].blocks[0]
    dims = sum(ir.RankedTensorType(value.type).rank for value in op.group("inputs"))
    if len(block.arguments) != dims or any(str(a.type) != "i64" for a in block.arguments):
        reject(
            op,
            f"shapes_region has {len(block.arguments)} arguments; it must have {dims} of type i64, one per "
            "input dimension",
        )
    wanted = sum(ir.RankedTensorType(value.type).rank for value in operation.results)
    given = list(terminator(block).operands)
    if len(given) != wanted or any(str(value.type) != "i64" for value in given):
        reject(
            op,
            f"shapes_region yields {len(given)} values; it must yield {wanted} of type i64, one per result "
            "dimension",
        )


def _verify_dist_collective(op: Op) -> None:
    operation = op.attr("collectiveOperation")
    if ("REDUCE" in operation) != (op.raw("reduceOperation") is not None):
        reject(op, f"reduceOperation belongs to the reducing operations, and only to them; this is {operation}")


OPS = (
    OpDef(
        "tensorrt.opaque_plugin",
        "A layer that a plugin library provides.",
        operands=(Operand("inputs", f"{TENSOR} i4 f8E4M3FN", variadic=True),),
        attrs=(
            Attr("plugin_name", "str", doc="The creator's name."),
            Attr("plugin_version", "str", doc="The creator's version."),
            Attr("plugin_namespace", "str", doc="The creator's namespace."),
            Attr("dso_path", "str", optional=True, doc="The library to load first."),
            Attr(
                "creator_func", "str", optional=True, doc="A function of that library that makes the creator."
            ),
            Attr("creator_params", "dict", doc="The plugin's fields."),
        ),
        results=(ResultDef("results", f"{TENSOR} i4 f8E4M3FN", variadic=True),),
        regions=(
            Region(
                "shapes_region",
                "one i64 per input dimension; yields one i64 per result dimension; may be empty",
            ),
        ),
        assembly="attr-dict `(` ($inputs^)? `)` `:` functional-type($inputs, $results) ($shapes_region^)?",
        verify=_verify_opaque_plugin,
        layer="addPluginV3",
        example=example(
            "%x: tensor<2x3xf32>",
            '%0 = tensorrt.opaque_plugin {creator_params = {alpha = 1.0 : f32}, plugin_name = "Scale", '
            'plugin_namespace = "", plugin_version = "1"} (%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>',
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.dist_collective",
        "Exchanges a tensor between devices.",
        operands=(Operand("input", TENSOR),),
        attrs=(
            Attr("collectiveOperation", "enum:collective_operation", doc="The exchange."),
            Attr("reduceOperation", "enum:reduce_operation", optional=True, doc="How values are combined."),
            Attr("root", "i64", optional=True, doc="The rank that sends or receives."),
            Attr("groups", "array<i64>", optional=True, doc="The ranks that take part."),
        ),
        assembly="$collectiveOperation $input attr-dict `:` type($input) `->` type($result)",
        traits=frozenset(),
        verify=_verify_dist_collective,
        layer="addDistCollective",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.dist_collective <kALL_REDUCE> %x {reduceOperation = "
            "#tensorrt.reduce_operation<kSUM>} : "
            "tensor<2x3xf32> -> tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
)
