"""Scan of opset 8, over a batch of sequences, in words of loops: later opsets scan one sequence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

__all__ = ["BATCHED_OPSET", "expand_scan"]

BATCHED_OPSET = 8  # the one version of ONNX whose Scan has a batch
_TO_END = 2**31 - 1


def expand_scan(model: ModelProto) -> None:
    """Put a Loop over the batch, with a Loop over the sequence in it, in the place of the model's last node.

    A sequence that is shorter than the longest has zeros behind its outputs. The node must be a Scan, and the
    model of opset 8.
    """
    node = model.graph.node.pop()
    kinds = {info.name: info.type.tensor_type.elem_type for info in model.graph.output}
    expansion = _Expansion(node, kinds, _free_prefix(model.graph, node))
    model.graph.node.extend(expansion.nodes())
    # No Constant: that of opset 8 gives floating-point numbers only.
    model.graph.initializer.extend(expansion.constants)


class _Expansion:
    def __init__(self, node: NodeProto, kinds: Mapping[str, int], prefix: str) -> None:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        count = attributes["num_scan_inputs"]
        self._body: GraphProto = attributes["body"]
        self._backward = list(attributes.get("directions", [])) or [0] * count
        self._lengths = node.input[0]
        self._states = list(node.input[1 : len(node.input) - count])
        self._sequences = list(node.input[len(node.input) - count :])
        self._results = list(node.output)
        self._kinds = kinds
        self._prefix = prefix
        self.constants: list[TensorProto] = []

    def nodes(self) -> Iterator[NodeProto]:
        zero, one, shape = self._name("zero"), self._name("one"), self._name("shape")
        self._constant(zero, np.array(0))
        self._constant(one, np.array(1))
        yield helper.make_node("Shape", [self._sequences[0]], [shape])
        yield helper.make_node("Gather", [shape, zero], [self._name("batch")])
        yield helper.make_node("Gather", [shape, one], [self._name("longest")])
        yield self._loop(self._name("batch"), [], self._results, self._one_sequence())

    def _one_sequence(self) -> GraphProto:
        """The body over the batch: all turns of one sequence."""
        number, going = self._name("number"), self._name("going")
        nodes = [helper.make_node("Identity", [going], [self._name("goes_on")])]
        taken: dict[str, str] = {}
        for source in dict.fromkeys([*self._states, *self._sequences]):
            taken[source] = self._name(f"of_{len(taken)}")
            nodes.append(helper.make_node("Gather", [source, number], [taken[source]]))
        length = self._name("longest")
        if self._lengths:
            length = self._name("length")
            nodes.append(helper.make_node("Gather", [self._lengths, number], [length]))
        nodes.append(helper.make_node("Sub", [length, self._name("one")], [self._name("last")]))
        ends = [self._name(f"end_{n}") for n in range(len(self._results))]
        turns = self._turn([taken[s] for s in self._sequences])
        states = [taken[s] for s in self._states]
        nodes.append(self._loop(length, states, ends, turns))
        if self._lengths:
            for n in range(len(states), len(ends)):
                padded = self._name(f"padded_{n}")
                nodes += self._padded(ends[n], length, self._kinds[self._results[n]], padded)
                ends[n] = padded
        return helper.make_graph(nodes, "sequence", _counters(number, going), _outputs(nodes, ends))

    def _turn(self, sequences: Sequence[str]) -> GraphProto:
        """The body over one sequence: the Scan's own, which reads an element of each sequence."""
        turn, going = self._name("turn"), self._name("goes")
        nodes = [helper.make_node("Identity", [going], [self._name("goes_further")])]
        if any(self._backward):
            nodes.append(helper.make_node("Sub", [self._name("last"), turn], [self._name("from_end")]))
        states = list(self._body.input)[: len(self._body.input) - len(sequences)]
        scanned = list(self._body.input)[len(states) :]
        for entry, sequence, backward in zip(scanned, sequences, self._backward, strict=True):
            at = self._name("from_end") if backward else turn
            nodes.append(helper.make_node("Gather", [sequence, at], [entry.name]))
        made = helper.make_graph(nodes, "turn", [*_counters(turn, going), *states], [])
        made.output.append(_flag(self._name("goes_further")))
        made.node.extend(self._body.node)
        made.output.extend(self._body.output)
        made.initializer.extend(self._body.initializer)
        made.sparse_initializer.extend(self._body.sparse_initializer)
        made.value_info.extend(self._body.value_info)
        return made

    def _loop(self, trips: str, states: Sequence[str], results: Sequence[str], body: GraphProto) -> NodeProto:
        """A Loop of `trips` turns; it carries a number besides, as one of opset 8 must carry something."""
        kept, given = f"{trips}_kept", f"{trips}_given"
        body.input.insert(2, helper.make_tensor_value_info(kept, TensorProto.INT64, []))
        body.output.insert(1, helper.make_tensor_value_info(given, TensorProto.INT64, []))
        body.node.append(helper.make_node("Identity", [kept], [given]))
        ends = [f"{trips}_end", *results]
        return helper.make_node("Loop", [trips, "", self._name("one"), *states], ends, name=trips, body=body)

    def _padded(self, value: str, length: str, kind: int, result: str) -> Iterator[NodeProto]:
        """`value` with zeros behind it up to the length of the longest sequence."""
        names = {key: f"{result}_{key}" for key in ("shape", "tail", "missing", "sizes", "zero", "zeros")}
        fill = np.zeros((), helper.tensor_dtype_to_np_dtype(kind))
        yield helper.make_node("Shape", [value], [names["shape"]])
        yield helper.make_node("Slice", [names["shape"]], [names["tail"]], axes=[0], starts=[1], ends=[_TO_END])
        yield helper.make_node("Sub", [self._name("longest"), length], [names["missing"]])
        yield helper.make_node("Unsqueeze", [names["missing"]], [f"{names['missing']}_1"], axes=[0])
        yield helper.make_node("Concat", [f"{names['missing']}_1", names["tail"]], [names["sizes"]], axis=0)
        self._constant(names["zero"], fill)
        yield helper.make_node("Expand", [names["zero"], names["sizes"]], [names["zeros"]])
        yield helper.make_node("Concat", [value, names["zeros"]], [result], axis=0)

    def _constant(self, name: str, value: np.ndarray) -> None:
        self.constants.append(numpy_helper.from_array(value, name))

    def _name(self, what: str) -> str:
        return self._prefix + what


def _counters(number: str, going: str) -> list[ValueInfoProto]:
    return [helper.make_tensor_value_info(number, TensorProto.INT64, []), _flag(going)]


def _flag(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.BOOL, [])


def _outputs(nodes: Sequence[NodeProto], values: Sequence[str]) -> list[ValueInfoProto]:
    """Whether to go on, then values whose types are for inference to find."""
    return [_flag(nodes[0].output[0]), *(ValueInfoProto(name=name) for name in values)]


def _free_prefix(graph: GraphProto, node: NodeProto) -> str:
    """The start of names that nothing in the model has."""
    from onnx.printer import to_text

    text = to_text(graph) + to_text(helper.make_graph([node], "g", [], []))
    prefix = "scan_"
    while prefix in text:
        prefix += "_"
    return prefix
