"""What ONNX's schemas say of the dialect's ops, to be shown: the dialect takes what any version did."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from onnx import defs

from ...ir.opdef import OpDef, Operand, ResultDef
from .schemas import op_name, versions

__all__ = ["documented"]

_ELEMENT_TYPES = {
    "float": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "double": "f64",
    "bool": "i1",
    **{f"int{bits}": f"i{bits}" for bits in (4, 8, 16, 32, 64)},
    **{f"uint{bits}": f"ui{bits}" for bits in (4, 8, 16, 32, 64)},
}
_MOST_TYPES = 8  # more are as good as any
_OPTIONAL = defs.OpSchema.FormalParameterOption.Optional


def documented(op: OpDef) -> OpDef:
    """The op with the first sentences of ONNX's documentation, and the element types of the newest version.

    An op that ONNX does not have stays as it is.
    """
    schema = next((group[-1] for key, group in versions().items() if op_name(*key) == op.name), None)
    if schema is None:
        return op
    said = _first_sentence(schema.doc or "")
    inputs = {entry.name: entry for entry in schema.inputs}
    outputs = {entry.name: entry for entry in schema.outputs}
    return replace(
        op,
        summary=f"{said} ({op.summary})" if said else op.summary,
        operands=tuple(_operand(entry, inputs.get(entry.name)) for entry in op.operands),
        results=tuple(_result(entry, outputs.get(entry.name)) for entry in op.results),
    )


def _operand(operand: Operand, said: defs.OpSchema.FormalParameter | None) -> Operand:
    if said is None:  # of an older version alone
        return replace(operand, optional=True)
    return replace(
        operand,
        types=_element_types(said.types),
        optional=said.option == _OPTIONAL,
        doc=_first_sentence(said.description),
    )


def _result(result: ResultDef, said: defs.OpSchema.FormalParameter | None) -> ResultDef:
    return result if said is None else replace(result, types=_element_types(said.types))


def _element_types(types: Collection[str]) -> str:
    """ONNX's "tensor(float)" and its like as MLIR's element types."""
    inner = [kind[len("tensor(") : -1] for kind in types if kind.startswith("tensor(")]
    if len(inner) < len(types) or len(inner) > _MOST_TYPES:
        return "any"
    return " ".join(sorted(_ELEMENT_TYPES.get(kind, kind) for kind in inner))


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return (sentence + "." if stop else paragraph).rstrip(":")
