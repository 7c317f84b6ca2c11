"""Plugins, and collectives over several devices."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand, Region, ResultDef
from .common import TENSOR, example

__all__ = ["OPS"]

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
        layer="addDistCollective",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.dist_collective <kALL_REDUCE> %x {reduceOperation = #tensorrt.reduce_operation<kSUM>} : "
            "tensor<2x3xf32> -> tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
)
