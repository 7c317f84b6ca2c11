"""What a model must be before it is imported: known ops, one definition per name, no cycle, checker-clean.

Models whose nodes are merely out of order are put in order; ONNX Runtime takes them too.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, checker, defs

from ...errors import InvalidModelError
from .local_functions import inlined
from .nodes import describe, subgraphs
from .scopes import Scope

__all__ = ["AXIS_OPS", "check", "check_axis", "normalise"]

# Ops whose attribute `axis` counts the axes of the first input: how many values past the last are allowed.
_AXIS_NAMES: Final = (
    "ArgMax ArgMin Compress Concat Gather GatherElements Hardmax LayerNormalization LogSoftmax "
    "LpNormalization ScatterElements Softmax Split TopK"
)
AXIS_OPS: Final = {"Flatten": 1} | dict.fromkeys(_AXIS_NAMES.split(), 0)
# What the checker refuses and every runtime takes.
_HARMLESS: Final = re.compile(
    r"Field '(?:shape' of '?type'?|type' of 'value_info') is required but missing|is required to be non-empty"
)
_NO_NAMES: Final = ("", "?", "-1", "None")
_MESSAGE_LENGTH: Final = 300


def normalise(model: ModelProto) -> ModelProto:
    """Bring a (stripped) model into the form that inference and import work on; may return a new one.

    Local functions are inlined. Initializers that are also inputs, as IR version 3 wanted, are constants.
    """
    model = inlined(model)
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {sparse.values.name for sparse in graph.sparse_initializer}
    if any(entry.name in constants for entry in graph.input):
        kept = [entry for entry in graph.input if entry.name not in constants]
        del graph.input[:]
        graph.input.extend(kept)
    _clean(graph)
    model.ir_version = max(model.ir_version, 4)
    graph.name = graph.name or "main"
    if not model.opset_import:
        model.opset_import.add(domain="", version=1)
    return model


def _clean(graph: GraphProto) -> None:
    """Drop what stands for "not known" among dimensions, in subgraphs too; refuse tensors of negative size."""
    for entry in (*graph.input, *graph.output, *graph.value_info):
        for dim in entry.type.tensor_type.shape.dim:
            # As names of dimensions these would tie together what has nothing in common.
            if dim.dim_value < 0 or (dim.HasField("dim_param") and dim.dim_param in _NO_NAMES):
                dim.ClearField("value")
    for tensor in graph.initializer:
        _refuse_negative(tensor, f"initializer {tensor.name!r}")
    for node in graph.node:
        _check_text(node)
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _refuse_negative(attribute.t, f"attribute {attribute.name!r} of {describe(node)}")
        for inner in subgraphs(node):
            _clean(inner)


def _refuse_negative(tensor: TensorProto, what: str) -> None:
    if any(size < 0 for size in tensor.dims):
        raise InvalidModelError(f"{what} has a negative dimension: {list(tensor.dims)}")


def _check_text(node: NodeProto) -> None:
    """Raise InvalidModelError for a name that is no UTF-8: protobuf then gives its bytes."""
    for text in chain((node.op_type, node.name, node.domain), node.input, node.output):
        if not isinstance(text, str):
            raise InvalidModelError(f"a node holds a name that is not text: {bytes(text)[:40]!r}")


def check(model: ModelProto) -> None:
    """Raise InvalidModelError for a model that breaks ONNX's rules; put unordered nodes in order."""
    imports = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    _check_imports(imports)
    Scope(model.graph, imports, None).check()
    for entry in model.graph.input:
        if entry.type.WhichOneof("value") is None:
            raise InvalidModelError(
                f"the input {entry.name!r} declares no type",
                hint="say its element type, and its shape if it is known",
            )
    _run_checker(model)


def _run_checker(model: ModelProto, *, again: bool = False) -> None:
    try:
        checker.check_model(model.SerializeToString())
    except checker.ValidationError as error:
        message = str(error).strip()
        if not _HARMLESS.search(message):
            raise InvalidModelError(f"the ONNX checker rejects the model: {_short(message)}") from None
        if not again:
            # The checker stops at the first thing, so mend what is harmless and see whether more is wrong.
            mended = ModelProto()
            mended.CopyFrom(model)
            _fill_in(mended.graph)
            _run_checker(mended, again=True)


def _fill_in(graph: GraphProto) -> None:
    """Give the graph and its subgraphs the names, types and shapes that the checker wants and nobody needs."""
    graph.name = graph.name or "graph"
    for entry in graph.output:
        if entry.type.WhichOneof("value") is None:
            entry.type.tensor_type.elem_type = TensorProto.FLOAT
    for entry in (*graph.input, *graph.output):
        if entry.type.HasField("tensor_type") and not entry.type.tensor_type.HasField("shape"):
            entry.type.tensor_type.shape.SetInParent()
    for node in graph.node:
        for inner in subgraphs(node):
            _fill_in(inner)


def _short(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = " ".join(line for line in lines if not line.startswith("==> Context"))
    context = next((line for line in lines if line.startswith("==> Context")), "")
    where = re.search(r"Bad node spec for node\. Name: (\S*) OpType: (\S+)", context)
    if where:
        text = f"node {where[1]!r} ({where[2]}): {text}"
    return text if len(text) <= _MESSAGE_LENGTH else text[:_MESSAGE_LENGTH] + " …"


def check_axis(node: NodeProto, rank: int) -> None:
    """Raise InvalidModelError if the node's `axis` lies outside what its first input of `rank` allows."""
    beyond = AXIS_OPS.get(node.op_type)
    if beyond is None or not rank:
        return
    for attribute in node.attribute:
        if attribute.name == "axis" and not -rank <= attribute.i < rank + beyond:
            raise InvalidModelError(
                f"{describe(node)}: axis {attribute.i} is out of range for an input of rank {rank}",
                hint=f"allowed are [-{rank}, {rank - 1 + beyond}]",
            )


def _check_imports(imports: dict[str, int]) -> None:
    newest = defs.onnx_opset_version()
    if imports.get("", 1) > newest:
        raise InvalidModelError(
            f"the model needs opset {imports['']}, the installed onnx {onnx.__version__} knows up to {newest}",
            hint="upgrade onnx, or export the model for an older opset",
        )
    if imports.get("", 1) < 1:
        raise InvalidModelError(f"the model imports opset {imports['']}; opsets count from 1")
