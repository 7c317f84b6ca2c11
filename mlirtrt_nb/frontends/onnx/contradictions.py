"""What makes a model invalid though each of its nodes is well formed: types and shapes that contradict a node.

Only what no runtime can run is refused: inputs that must be of one element type and are not, and shapes that
break the op's own inference. Looked for only where inference complained, as it costs a look at every node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    checker,
    defs,
    helper,
    shape_inference,
)

from ...dialects.onnx.schemas import versions
from ...errors import InvalidModelError
from ...ir import dtypes
from .checks import check_axis
from .nodes import describe, subgraphs

__all__ = ["refuse_contradictions"]

_VARIADIC: Final = defs.OpSchema.FormalParameterOption.Variadic
# Its inference ends the process for negative dimensions; and one that runs on more than the rules say.
_NOT_INFERRED: Final = frozenset({"Slice", "Range"})
_PREFIXES: Final = ("[ShapeInferenceError] ", "[TypeInferenceError] ")
# A type that only a newer version of the op has: engines take it all the same.
_NEWER_TYPES: Final = "has unsupported type"
_SMALL: Final = 1024  # elements of a value that inference may want to see

_Types = Mapping[str, TypeProto]


def refuse_contradictions(model: ModelProto) -> None:
    """Raise InvalidModelError for the first node of an inferred model that cannot run on what it reads.

    Element types are looked at in branches and loops too, shapes only outside of them: a branch for others
    may never run.
    """
    imports = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    for node, types in _nodes(model.graph, {}):
        schema = _schema(node, imports)
        if schema is not None:
            _check_types(node, schema, types)
    types = _known(model.graph)
    data = {t.name: t for t in model.graph.initializer if _is_whole(t)}
    for node in model.graph.node:
        schema = _schema(node, imports)
        if schema is not None and node.op_type not in _NOT_INFERRED and not any(subgraphs(node)):
            _check_shapes(node, schema, types, data, model)


def _known(graph: GraphProto) -> dict[str, TypeProto]:
    """The types of the graph's own values, as far as they are known."""
    found = {
        entry.name: entry.type
        for entry in chain(graph.input, graph.value_info, graph.output)
        if entry.type.WhichOneof("value") is not None
    }
    for tensor in graph.initializer:
        found[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
    return found


def _nodes(graph: GraphProto, outer: _Types) -> Iterator[tuple[NodeProto, _Types]]:
    """Every node of the graph and of the graphs in it, each with the types that it sees."""
    types = {**outer, **_known(graph)}
    for node in graph.node:
        yield node, types
        for inner in subgraphs(node):
            yield from _nodes(inner, types)


def _schema(node: NodeProto, imports: Mapping[str, int]) -> defs.OpSchema | None:
    domain = "" if node.domain == "ai.onnx" else node.domain
    newest = imports.get(domain, 1)
    fitting = [s for s in versions().get((domain, node.op_type), ()) if s.since_version <= newest]
    return fitting[-1] if fitting else None


def _check_types(node: NodeProto, schema: defs.OpSchema, types: _Types) -> None:
    """Refuse inputs of different element types that the schema gives one type."""
    bound: dict[str, tuple[str, int]] = {}
    for name, parameter in zip(node.input, _parameters(schema, len(node.input)), strict=False):
        kind = types.get(name)
        if not name or kind is None or not parameter.is_homogeneous or not kind.tensor_type.elem_type:
            continue
        element = kind.tensor_type.elem_type
        first, wanted = bound.setdefault(parameter.type_str, (name, element))
        if element != wanted:
            raise InvalidModelError(
                f"{describe(node)} needs {first!r} and {name!r} to be of one element type; "
                f"they are {_spelled(wanted)} and {_spelled(element)}",
                hint=f"put a Cast to {_spelled(wanted)} before {name!r}, or correct its type",
            )


def _parameters(schema: defs.OpSchema, count: int) -> list[defs.OpSchema.FormalParameter]:
    declared = list(schema.inputs)
    if declared and declared[-1].option == _VARIADIC:
        declared += [declared[-1]] * (count - len(declared))
    return declared


def _spelled(element: int) -> str:
    try:
        return dtypes.by_onnx(element).numpy
    except KeyError:
        return TensorProto.DataType.Name(element).lower()


def _check_shapes(
    node: NodeProto, schema: defs.OpSchema, types: _Types, data: Mapping[str, TensorProto], model: ModelProto
) -> None:
    """Refuse operands that the op's own inference refuses."""
    read = [name for name in node.input if name]
    if not read or any(name not in types for name in read):
        return
    check_axis(node, len(types[read[0]].tensor_type.shape.dim))
    values = {name: data[name] for name in read if name in data}
    try:
        shape_inference.infer_node_outputs(
            schema,
            node,
            {name: types[name] for name in read},
            values,
            opset_imports=list(model.opset_import),
            ir_version=model.ir_version,
        )
    except (shape_inference.InferenceError, checker.ValidationError) as error:
        if _NEWER_TYPES in str(error):
            return
        listed = " and ".join(_typed(name, types[name]) for name in read)
        raise InvalidModelError(
            f"{describe(node)} cannot take {listed}: {_reason(error)}",
            hint="the model contradicts itself: correct the node or the shapes it is given, or export it again",
        ) from None
    except (KeyError, ValueError, TypeError, RuntimeError):
        return


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return text


def _typed(name: str, kind: TypeProto) -> str:
    """A value and its type: "'x' float32[2,?]"."""
    tensor = kind.tensor_type
    dims = ",".join(
        str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim
    )
    return f"{name!r} {_spelled(tensor.elem_type)}[{dims}]"


def _is_whole(tensor: TensorProto) -> bool:
    """Whether the tensor's bytes are here: those of large weights are left in the file."""
    if tensor.data_location == TensorProto.EXTERNAL:
        return False
    count = 1
    for size in tensor.dims:
        count *= size
    kind = "raw_data" if tensor.HasField("raw_data") else helper.tensor_dtype_to_field(tensor.data_type)
    return count <= _SMALL and bool(getattr(tensor, kind)) == bool(count)
