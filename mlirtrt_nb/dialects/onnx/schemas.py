"""The onnx dialect's ops, made from the schemas that the installed onnx package carries.

One op per op type: the union of all its versions, so that a model of any opset keeps its ops as they are.
Operands and results are a fixed list, padded with `onnx.novalue` and results of type `none`, except where
the schema's last one is variadic. A converter that must tell versions apart asks `ops.opset`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from onnx import defs, helper

from ...ir.opdef import Attr, DialectDef, OpDef, Operand, Region, ResultDef

if TYPE_CHECKING:
    from torch_mlir import ir

    from ...ir.builder import Op

__all__ = ["attribute_defaults", "build_dialect", "identity", "least", "op_name", "versions"]

# Domains whose ops get OpDefs, with the prefix of their names; ops of any other are `onnx.custom`.
_PREFIXES = {"": "", "ai.onnx.ml": "ml_", "ai.onnx.preview": "preview_"}

_OPTION = defs.OpSchema.FormalParameterOption
_KINDS = {
    "FLOAT": "f32",
    "FLOATS": "array<f32>",
    "INT": "i64",
    "INTS": "array<i64>",
    "STRING": "str",
    "STRINGS": "array",
    "TENSOR": "elements",
    "TYPE_PROTO": "type",
}
# A newer version's default that is not how the versions without the attribute behave.
_CHANGED_MEANING = {
    ("Resize", "coordinate_transformation_mode"),
    ("Resize", "nearest_mode"),
    ("RoiAlign", "coordinate_transformation_mode"),
}
# Equal ops of these kinds give different values, so they must not be merged or hoisted.
_IMPURE = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
_IMPURE |= {"Dropout"}
_REGION_ORDER = {"then_branch": 0, "else_branch": 1}


@cache
def versions() -> dict[tuple[str, str], tuple[defs.OpSchema, ...]]:
    """(domain, op type) -> its schemas, oldest first."""
    found: dict[tuple[str, str], list[defs.OpSchema]] = defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        found[schema.domain, schema.name].append(schema)
    return {key: tuple(sorted(group, key=lambda s: s.since_version)) for key, group in found.items()}


@cache
def _names() -> dict[tuple[str, str], str]:
    return {
        (domain, kind): f"onnx.{_PREFIXES[domain]}{kind.lower()}"
        for domain, kind in versions()
        if domain in _PREFIXES
    }


@cache
def _identities() -> dict[str, tuple[str, str]]:
    return {name: key for key, name in _names().items()}


def op_name(domain: str, op_type: str) -> str | None:
    """The dialect's op for an ONNX op ("onnx.conv" for "", "Conv"), or None: it becomes `onnx.custom`."""
    return _names().get(("" if domain == "ai.onnx" else domain, op_type))


def identity(name: str) -> tuple[str, str]:
    """(domain, op type) of an op of the dialect. Raises KeyError for ops that ONNX does not have."""
    return _identities()[name]


@cache
def least(domain: str, op_type: str, version: int) -> tuple[int, int]:
    """How many inputs and outputs a node has to list, the absent among them; (0, 0) without a schema."""
    try:
        schema = defs.get_schema(op_type, version, domain)
    except defs.SchemaError:
        return 0, 0
    return schema.min_input, schema.min_output


def _kind(attribute: defs.OpSchema.Attribute) -> str:
    return str(attribute.type).rpartition(".")[2]


def _default(attribute: defs.OpSchema.Attribute) -> Any:
    proto = attribute.default_value
    if not proto.name and not proto.type:
        return None
    value = helper.get_attribute_value(proto)
    return value.decode() if isinstance(value, bytes) else value


def attribute_defaults(schema: defs.OpSchema) -> dict[str, Any]:
    """The defaults of one version that must be written out, as the op's union of versions lacks them."""
    declared = _attributes(versions()[schema.domain, schema.name])
    found = {}
    for name, attribute in schema.attributes.items():
        value = _default(attribute)
        entry = declared.get(name)
        if value is not None and entry is not None and entry.default is None:
            found[name] = value
    return found


def _attributes(schemas: Sequence[defs.OpSchema]) -> dict[str, Attr]:
    kinds: dict[str, set[str]] = defaultdict(set)
    defaults: dict[str, list[Any]] = defaultdict(list)
    for schema in schemas:
        for name, attribute in schema.attributes.items():
            kinds[name].add(_kind(attribute))
            defaults[name].append(_default(attribute))
    found = {}
    for name in sorted(kinds):
        if "GRAPH" in kinds[name]:
            continue
        kind = _KINDS.get(next(iter(kinds[name])), "any") if len(kinds[name]) == 1 else "any"
        values = defaults[name]
        agreed = all(value == values[0] for value in values) and kind != "any"
        # A default that the newest version no longer has must not appear on its ops.
        agreed = agreed and name in schemas[-1].attributes
        changed = (schemas[-1].name, name) in _CHANGED_MEANING
        found[name] = Attr(name, kind, optional=True, default=values[0] if agreed and not changed else None)
    return found


def _regions(schemas: Sequence[defs.OpSchema]) -> tuple[Region, ...]:
    names = {n for s in schemas for n, a in s.attributes.items() if _kind(a) == "GRAPH"}
    return tuple(Region(name) for name in sorted(names, key=lambda n: (_REGION_ORDER.get(n, 0), n)))


def _union(lists: list[Sequence[Any]]) -> list[tuple[str, bool]]:
    """(name, variadic) per position: names of the newest version that has it; variadic only at the end."""
    newest = lists[-1]
    if newest and newest[-1].option == _OPTION.Variadic:
        return [(p.name, p.option == _OPTION.Variadic) for p in newest]
    longest = max(lists, key=len)
    return [((newest[n] if n < len(newest) else longest[n]).name, False) for n in range(len(longest))]


def _op(key: tuple[str, str], schemas: tuple[defs.OpSchema, ...]) -> OpDef:
    inputs = _union([s.inputs for s in schemas])
    outputs = _union([s.outputs for s in schemas])
    return OpDef(
        name=_names()[key],
        display_name=f"onnx.{_PREFIXES[key[0]]}{key[1]}",
        summary=f"ONNX {key[1]}, versions {', '.join(str(s.since_version) for s in schemas)}",
        operands=tuple(Operand(name, variadic=variadic) for name, variadic in inputs),
        results=tuple(ResultDef(name, variadic=variadic) for name, variadic in outputs),
        attrs=tuple(_attributes(schemas).values()),
        regions=_regions(schemas),
        traits=frozenset() if key[1] in _IMPURE else frozenset({"pure"}),
        verify=_check_declared,
    )


def _check_declared(op: Op) -> None:
    from .declared_types import check_declared

    check_declared(op)


def _no_type(op: Op) -> list[ir.Type]:
    from torch_mlir import ir

    return [ir.NoneType.get()]


def _value_type(op: Op) -> list[ir.Type] | None:
    value = op.raw("value")
    return None if value is None else [value.type]  # type: ignore[attr-defined]


def _with_short_form(constant: OpDef) -> OpDef:
    """A constant that shows its value and the value's type, not the type twice."""
    syntax = "attr-dict ($value^) : (`:` functional-type(operands, results))?"
    return replace(constant, assembly=syntax, infer=_value_type, verify=None)


def _own_ops() -> list[OpDef]:
    """The ops that ONNX itself does not have."""
    variadic = (Operand("inputs", variadic=True),)
    return [
        OpDef(
            "onnx.novalue",
            "An absent optional input",
            results=(ResultDef("none"),),
            assembly="attr-dict",
            infer=_no_type,
            display_name="onnx.NoValue",
        ),
        OpDef(
            "onnx.yield",
            "Ends a graph attribute's region and gives its outputs",
            operands=variadic,
            results=(),
            assembly="attr-dict ($inputs^ `:` type($inputs))?",
            traits=frozenset({"terminator", "pure"}),
        ),
        OpDef(
            "onnx.custom",
            "An op of a domain that has no schemas here; runs where the domain's ops are known",
            operands=variadic,
            results=(ResultDef("outputs", variadic=True),),
            attrs=(Attr("domain", "str"), Attr("op_type", "str")),
            traits=frozenset(),
            display_name="onnx.Custom",
        ),
    ]


def build_dialect() -> DialectDef:
    """The dialect's definition."""
    ops = {op.name: op for op in _own_ops()}
    for key, schemas in versions().items():
        if key[0] in _PREFIXES:
            made = _op(key, schemas)
            ops[made.name] = made
    ops["onnx.constant"] = _with_short_form(ops["onnx.constant"])
    # `any` stands where neither the model nor inference says what a value is.
    types: dict[str, tuple[str, ...]] = {
        "any": (),
        "string": (),
        "seq": ("of",),
        "opt": ("of",),
        "map": ("key", "value"),
    }
    return DialectDef("onnx", ops, types=types)
