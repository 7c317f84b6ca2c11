"""Branches, loops, and what ends their regions.

A `for` or `while` can give more than its last values. Values that its body yields beyond the loop-carried
ones are collected over the iterations: `collected` names how for each, `collect_axes` along which new axis.
Inside a body, `tensorrt.iterator` gives the current iteration's slice of a tensor.
"""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand, Region, ResultDef
from .common import TENSOR, example

__all__ = ["OPS"]

_COLLECT = (
    Attr(
        "collected",
        "array",
        optional=True,
        doc="kCONCATENATE or kREVERSE for each value beyond the carried ones.",
    ),
    Attr("collect_axes", "array<i64>", optional=True, doc="Where each collected result's new axis is."),
)
_LIMIT = Operand("maxIterations", "i32 i64", optional=True, doc="Rank 0: length of what is collected.")

OPS = (
    OpDef(
        "tensorrt.yield",
        "Ends a region and gives its values.",
        operands=(Operand("results", variadic=True),),
        results=(),
        assembly="attr-dict ($results^ `:` type($results))?",
        traits=frozenset({"pure", "terminator"}),
    ),
    OpDef(
        "tensorrt.condition",
        "Ends a while's first region: whether to go on, and the values for the body or the result.",
        operands=(Operand("condition", "i1", doc="Rank 0."), Operand("args", variadic=True)),
        results=(),
        assembly="`(` $condition `:` type($condition) `)` attr-dict ($args^ `:` type($args))?",
        traits=frozenset({"pure", "terminator"}),
    ),
    OpDef(
        "tensorrt.if",
        "Runs one of two regions.",
        operands=(Operand("condition", "i1", doc="Rank 0."),),
        results=(ResultDef("results", "i1 i32 i64 f16 bf16 f32", variadic=True),),
        regions=(Region("trueRegion", "none"), Region("falseRegion", "none")),
        assembly="`(` $condition `:` type($condition) `)` attr-dict `->` type($results) $trueRegion `else` $falseRegion",
        traits=frozenset(),
        layer="addIfConditional",
        example=example(
            "%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>",
            """%0 = tensorrt.if (%c : tensor<i1>) -> tensor<4xf32> {
              tensorrt.yield %x : tensor<4xf32>
            } else {
              tensorrt.yield %y : tensor<4xf32>
            }""",
            "%0 : tensor<4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.while",
        "Runs its second region for as long as the first says so.",
        operands=(Operand("operands", TENSOR, variadic=True, doc="The carried values at the start."), _LIMIT),
        attrs=_COLLECT,
        results=(ResultDef("results", TENSOR, variadic=True),),
        regions=(Region("condRegion", "the carried values"), Region("bodyRegion", "the carried values")),
        assembly="attr-dict `(` $operands `:` type($operands) `)` "
        "(`max` `(` $maxIterations^ `:` type($maxIterations) `)`)? `->` type($results) $condRegion `,` $bodyRegion",
        traits=frozenset(),
        layer="addLoop",
        example=example(
            "%x: tensor<f32>, %n: tensor<f32>",
            """%0 = tensorrt.while (%x : tensor<f32>) -> tensor<f32> {
            ^bb0(%a: tensor<f32>):
              %c = tensorrt.element_wise <kLESS>(%a, %n : tensor<f32>, tensor<f32>) -> tensor<i1>
              tensorrt.condition (%c : tensor<i1>) %a : tensor<f32>
            }, {
            ^bb0(%a: tensor<f32>):
              %b = tensorrt.element_wise <kSUM>(%a, %a : tensor<f32>, tensor<f32>) -> tensor<f32>
              tensorrt.yield %b : tensor<f32>
            }""",
            "%0 : tensor<f32>",
        ),
    ),
    OpDef(
        "tensorrt.for",
        "Runs its region for each number from a lower bound up to, not including, an upper bound.",
        operands=(
            Operand("lowerBound", "i32 i64", doc="Rank 0."),
            Operand("upperBound", "i32 i64", doc="Rank 0."),
            Operand("step", "i32 i64", doc="Rank 0."),
            Operand("init", TENSOR, variadic=True, doc="The carried values at the start."),
        ),
        attrs=_COLLECT,
        results=(ResultDef("results", TENSOR, variadic=True),),
        regions=(Region("bodyRegion", "the number, then the carried values"),),
        assembly="custom<For>($lowerBound, $upperBound, $step, $init, type($results), $bodyRegion) attr-dict",
        traits=frozenset(),
        layer="addLoop",
        example=example(
            "%lb: tensor<i32>, %ub: tensor<i32>, %step: tensor<i32>, %x: tensor<4xf32>",
            """%0 = tensorrt.for %i = %lb to %ub step %step init(%a = %x) -> (tensor<4xf32>) {
              %b = tensorrt.element_wise <kSUM>(%a, %a : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              tensorrt.yield %b : tensor<4xf32>
            }""",
            "%0 : tensor<4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.iterator",
        "In a loop's body: the slice of a tensor at the current iteration's number.",
        operands=(Operand("input", TENSOR, doc="From outside the loop."),),
        attrs=(
            Attr("axis", "i64", doc="The axis that is walked along; it is not in the result."),
            Attr("reverse", "i1", default=False, doc="Whether it walks from the end."),
        ),
        assembly="attr-dict $input `:` type($input) `->` type($result)",
        # Not pure: its value depends on the iteration, so it must not leave the body.
        traits=frozenset(),
        layer="addIterator",
        example=example(
            "%lb: tensor<i32>, %ub: tensor<i32>, %step: tensor<i32>, %xs: tensor<8x4xf32>, %x: tensor<4xf32>",
            """%0 = tensorrt.for %i = %lb to %ub step %step init(%a = %x) -> (tensor<4xf32>) {
              %s = tensorrt.iterator {axis = 0 : i64} %xs : tensor<8x4xf32> -> tensor<4xf32>
              %b = tensorrt.element_wise <kSUM>(%a, %s : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              tensorrt.yield %b : tensor<4xf32>
            }""",
            "%0 : tensor<4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.assertion",
        "Fails with a message where a condition does not hold.",
        operands=(Operand("condition", "i1", doc="Rank 0 or 1."),),
        attrs=(Attr("message", "str", doc="What the failure says."),),
        results=(),
        assembly="attr-dict `ins` `(` operands `:` type(operands) `)`",
        # Not pure: it must survive although nothing uses it.
        traits=frozenset(),
        layer="addAssertion",
        example=example(
            "%c: tensor<i1>",
            'tensorrt.assertion {message = "batch is odd"} ins(%c : tensor<i1>)',
        ),
    ),
)
