"""Ops that hold engines and call them."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand, Region, ResultDef

__all__ = ["OPS"]

_CALL_ATTRS = (
    Attr("callee", "symbol", doc="The engine function, `@engines::@name`."),
    Attr("arg_attrs", "array", optional=True, doc="A dictionary per input."),
    Attr("res_attrs", "array", optional=True, doc="A dictionary per result."),
)

OPS = (
    OpDef(
        "tensorrt.module",
        "Holds one function per engine.",
        attrs=(Attr("sym_name", "str", doc="Its symbol."),),
        results=(),
        regions=(Region("bodyRegion"),),
        assembly="$sym_name attr-dict-with-keyword $bodyRegion",
        traits=frozenset({"isolated", "symbol", "symbol_table", "no_terminator"}),
    ),
    OpDef(
        "tensorrt.call",
        "Runs an engine into tensors that the caller gives.",
        operands=(
            Operand("inputs", variadic=True, doc="The function's arguments."),
            Operand("outputs", variadic=True, doc="Where the results go; one per result."),
        ),
        attrs=_CALL_ATTRS,
        results=(ResultDef("results", variadic=True),),
        assembly="$callee `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` $outputs `:` type($outputs) `)` "
        "attr-dict (`->` type($results)^)?",
        traits=frozenset(),
    ),
    OpDef(
        "tensorrt.call_alloc",
        "Runs an engine; its results are allocated for it.",
        operands=(Operand("inputs", variadic=True, doc="The function's arguments."),),
        attrs=_CALL_ATTRS,
        results=(ResultDef("results", variadic=True),),
        assembly="$callee `(` ($inputs^ `:` type($inputs))? `)` attr-dict (`->` type($results)^)?",
        traits=frozenset(),
    ),
)
