"""What a model must be before it is imported: known ops, one definition per name, no cycle, checker-clean.

Models whose nodes are merely out of order are put in order; ONNX Runtime takes them too.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, checker, defs

from ...dialects.onnx.schemas import versions
from ...errors import InvalidModelError

__all__ = ["AXIS_OPS", "check", "check_axis", "describe", "normalise"]

_GRAPH_KINDS: Final = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
# Domains that an engine of this package can run, beside those with schemas.
_RUNNABLE: Final = re.compile(r"com\.microsoft(\..+)?|com\.ms\.internal\.nhwc|ai\.onnx(\..+)?")
# Ops whose attribute `axis` counts the axes of the first input: how many values past the last are allowed.
_AXIS_NAMES: Final = (
    "ArgMax ArgMin Compress Concat Gather GatherElements Hardmax LayerNormalization LogSoftmax "
    "LpNormalization ScatterElements Softmax Split TopK"
)
AXIS_OPS: Final = {"Flatten": 1} | dict.fromkeys(_AXIS_NAMES.split(), 0)
# What the checker refuses and every runtime takes.
_HARMLESS: Final = re.compile(r"Field 'shape' of '?type'? is required but missing|is required to be non-empty")
_NO_NAMES: Final = ("", "?", "-1", "None")
_MESSAGE_LENGTH: Final = 300


def describe(node: NodeProto) -> str:
    """The node in words: "node 'conv1' (Conv)"."""
    name = node.name or next((o for o in node.output if o), "")
    domain = f"{node.domain}." if node.domain not in ("", "ai.onnx") else ""
    return f"node {name!r} ({domain}{node.op_type})"


def normalise(model: ModelProto) -> ModelProto:
    """Bring a (stripped) model into the form that inference and import work on; may return a new one.

    Local functions are inlined. Initializers that are also inputs, as IR version 3 wanted, are constants.
    """
    if model.functions:
        from onnx import inliner

        try:
            model = inliner.inline_local_functions(model)
        except Exception as error:  # the C++ code raises several kinds
            raise InvalidModelError(
                f"the model's local functions cannot be inlined: {_short(str(error))}"
            ) from None
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {sparse.values.name for sparse in graph.sparse_initializer}
    if any(entry.name in constants for entry in graph.input):
        kept = [entry for entry in graph.input if entry.name not in constants]
        del graph.input[:]
        graph.input.extend(kept)
    for entry in graph.input:
        for dim in entry.type.tensor_type.shape.dim:
            # Some exporters write these for "not known"; as names they would tie dimensions together.
            if dim.HasField("dim_param") and dim.dim_param in _NO_NAMES:
                dim.ClearField("value")
    model.ir_version = max(model.ir_version, 4)
    graph.name = graph.name or "main"
    if not model.opset_import:
        model.opset_import.add(domain="", version=1)
    return model


def check(model: ModelProto) -> None:
    """Raise InvalidModelError for a model that breaks ONNX's rules; put unordered nodes in order."""
    imports = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    _check_imports(imports)
    _Scope(model.graph, imports, None).check()
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
    """Give the graph and its subgraphs the names and shapes that the checker wants and nobody needs."""
    graph.name = graph.name or "graph"
    for entry in (*graph.input, *graph.output):
        if entry.type.HasField("tensor_type") and not entry.type.tensor_type.HasField("shape"):
            entry.type.tensor_type.shape.SetInParent()
    for node in graph.node:
        for inner in _subgraphs(node):
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


class _Scope:
    """One graph and the scopes around it."""

    def __init__(self, graph: GraphProto, imports: dict[str, int], outer: _Scope | None) -> None:
        self.graph = graph
        self.imports = imports
        self.outer = outer
        self.known: set[str] = set()

    def sees(self, name: str) -> bool:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.known:
                return True
            scope = scope.outer
        return False

    def check(self) -> None:
        graph = self.graph
        producers = self._producers()
        self.known = {entry.name for entry in graph.input}
        self.known |= {tensor.name for tensor in graph.initializer}
        self.known |= {sparse.values.name for sparse in graph.sparse_initializer}
        if not self._walk(graph.node):
            # Some node reads what a later one makes: order them, or say why that cannot be done.
            ordered = self._ordered(producers)
            del graph.node[:]
            graph.node.extend(ordered)
            self._walk(graph.node)
        for entry in graph.output:
            if not self.sees(entry.name):
                raise self._dangling(f"graph {graph.name!r}", "output", entry.name)

    def _producers(self) -> dict[str, int]:
        producers: dict[str, int] = {}
        given = {entry.name for entry in self.graph.input} | {t.name for t in self.graph.initializer}
        for index, node in enumerate(self.graph.node):
            for name in node.output:
                if not name:
                    continue
                if name in producers or name in given:
                    other = (
                        describe(self.graph.node[producers[name]])
                        if name in producers
                        else "an input or initializer"
                    )
                    raise InvalidModelError(
                        f"the tensor {name!r} is written twice: by {other} and by {describe(node)}",
                        hint="every output of a node needs a name of its own",
                    )
                producers[name] = index
        return producers

    def _walk(self, nodes: Sequence[NodeProto]) -> bool:
        """Check each node and its subgraphs; False at the first that reads what is not made yet."""
        for node in nodes:
            if any(name and not self.sees(name) for name in node.input):
                return False
            graphs = list(_subgraphs(node))
            if graphs and any(not self.sees(name) for name in _free_names(node)):
                return False
            self._check_op(node)
            for graph in graphs:
                _Scope(graph, self.imports, self).check()
            self.known.update(node.output)
        return True

    def _ordered(self, producers: dict[str, int]) -> list[NodeProto]:
        nodes = list(self.graph.node)
        given = {entry.name for entry in self.graph.input} | {t.name for t in self.graph.initializer}
        given |= {sparse.values.name for sparse in self.graph.sparse_initializer}
        waits: list[int] = [0] * len(nodes)
        readers: dict[int, list[int]] = {}
        for index, node in enumerate(nodes):
            for name in {*node.input, *_free_names(node)}:
                if name in producers:
                    waits[index] += 1
                    readers.setdefault(producers[name], []).append(index)
                elif name and name not in given and not (self.outer and self.outer.sees(name)):
                    raise self._dangling(describe(node), "input", name, producers)
        order = [index for index, count in enumerate(waits) if not count]
        for index in order:  # grows while it is walked
            for reader in readers.get(index, ()):
                waits[reader] -= 1
                if not waits[reader]:
                    order.append(reader)
        if len(order) < len(nodes):
            stuck = [describe(nodes[i]) for i, count in enumerate(waits) if count]
            shown = ", ".join(stuck[:4]) + (f" and {len(stuck) - 4} more" if len(stuck) > 4 else "")
            raise InvalidModelError(f"the graph {self.graph.name!r} has a cycle through or before {shown}")
        return [nodes[index] for index in order]

    def _dangling(self, reader: str, what: str, name: str, more: Iterable[str] = ()) -> InvalidModelError:
        names = {*self.known, *more}
        scope = self.outer
        while scope is not None:
            names |= scope.known
            scope = scope.outer
        near = difflib.get_close_matches(name, sorted(names), 3, 0.6)
        return InvalidModelError(
            f"the {what} {name!r} of {reader} is written by no node and is no input or initializer",
            hint=f"near names: {', '.join(map(repr, near))}" if near else None,
        )

    def _check_op(self, node: NodeProto) -> None:
        domain = "" if node.domain == "ai.onnx" else node.domain
        key = (domain, node.op_type)
        version = self.imports.get(domain)
        if version is None and (domain or self.imports):
            raise InvalidModelError(
                f"{describe(node)} is of domain {domain or 'ai.onnx'!r}, of which the model imports no version",
                hint=_near_domain(domain, self.imports),
            )
        schemas = versions().get(key)
        if schemas is not None:
            if version is not None and schemas[0].since_version > version:
                raise InvalidModelError(
                    f"{describe(node)} needs opset {schemas[0].since_version}, the model imports {version}",
                    hint="export the model again, or convert it with onnx.version_converter",
                )
            return
        if not domain or any(known == domain for known, _ in versions()):
            names = [kind for known, kind in versions() if known == domain]
            near = difflib.get_close_matches(node.op_type, names, 3, 0.5)
            raise InvalidModelError(
                f"ONNX has no op {node.op_type!r}" + (f" in domain {domain!r}" if domain else ""),
                where=describe(node),
                hint=f"near names: {', '.join(near)}" if near else None,
            )
        if not _RUNNABLE.fullmatch(domain):
            raise InvalidModelError(
                f"nothing here can run ops of domain {domain!r}",
                where=describe(node),
                hint=_near_domain(domain, ["ai.onnx", "ai.onnx.ml", "com.microsoft"])
                or "give the op as a local function of the model, or replace it by standard ops",
            )


def _near_domain(domain: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(domain, [k for k in known if k], 1, 0.7)
    return f"near name: {near[0]!r}" if near else None


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type in _GRAPH_KINDS:
            if attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs


def _free_names(node: NodeProto) -> set[str]:
    """The names that the node's subgraphs read from outside."""
    free: set[str] = set()
    for graph in _subgraphs(node):
        bound = {entry.name for entry in graph.input} | {tensor.name for tensor in graph.initializer}
        bound |= {sparse.values.name for sparse in graph.sparse_initializer}
        bound |= {name for inner in graph.node for name in inner.output}
        read = {name for inner in graph.node for name in (*inner.input, *_free_names(inner))}
        read |= {entry.name for entry in graph.output}
        free |= read - bound
    return free - {""}
