"""Inlining the functions that a model brings itself."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import FunctionProto, ModelProto, NodeProto

from ...errors import InvalidModelError
from .nodes import subgraphs

__all__ = ["inlined"]

_MESSAGE_LENGTH = 300
Key = tuple[str, str, str]


def inlined(model: ModelProto) -> ModelProto:
    """The model with the body of each local function in place of its calls; the model itself if it has none.

    A function of another opset than the model's is brought to the model's. Raises InvalidModelError.
    """
    if not model.functions:
        return model
    from onnx import inliner

    functions = {
        _key(function.domain, function.name, function.overload): function for function in model.functions
    }
    _give_defaults(model.graph.node, functions)
    for function in model.functions:
        _give_defaults(function.node, functions)
    own = _opset(model)
    others = [function for function in model.functions if _opset(function) not in (own, None)]
    try:
        return inliner.inline_local_functions(model, convert_version=bool(others))
    except Exception as error:  # the C++ code raises several kinds
        said = " ".join(str(error).split())[:_MESSAGE_LENGTH]
        raise InvalidModelError(
            f"the model's local functions cannot be inlined: {said}",
            hint=f"bring {others[0].name!r} to opset {own} yourself" if others else None,
        ) from None


def _give_defaults(nodes: Iterable[NodeProto], functions: dict[Key, FunctionProto]) -> None:
    """Write the defaults of a function's attributes into its calls: the inliner leaves them out."""
    for node in nodes:
        function = functions.get(_key(node.domain, node.op_type, node.overload))
        if function is not None:
            given = {attribute.name for attribute in node.attribute}
            node.attribute.extend(a for a in function.attribute_proto if a.name not in given)
        for graph in subgraphs(node):
            _give_defaults(graph.node, functions)


def _key(domain: str, name: str, overload: str) -> Key:
    return ("" if domain == "ai.onnx" else domain, name, overload)


def _opset(holder: ModelProto | FunctionProto) -> int | None:
    """The version of ONNX's own domain; None if none is imported."""
    found = [entry.version for entry in holder.opset_import if entry.domain in ("", "ai.onnx")]
    return found[0] if found else None
