"""Changes of an ONNX model, one at a time: what damaged files and faulty exporters look like."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

__all__ = ["MUTATORS", "mutant"]

_HUGE = (0, -1, -(2**31), 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1)
_ODD = (0, -1, -2, 1, 2, 7, 100, 2**31 - 1, 2**40, -(2**62), 2**63 - 1)
_TYPES = (
    TensorProto.FLOAT16,
    TensorProto.DOUBLE,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.INT8,
    TensorProto.BOOL,
    TensorProto.STRING,
    TensorProto.COMPLEX64,
    TensorProto.BFLOAT16,
    TensorProto.UNDEFINED,
    99,
)
_OPS = ("Relu", "Add", "Conv", "Reshape", "Concat", "Loop", "MatMul", "NonZero", "Softmax", "Split", "Rleu")
_DOMAINS = ("", "ai.onnx.ml", "com.microsoft", "my.domain")


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph and those in its nodes' attributes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from graphs(inner)


class _Change:
    """Choices within one model. A change that the model has no place for raises IndexError."""

    def __init__(self, model: ModelProto, rng: random.Random) -> None:
        self.model = model
        self.rng = rng
        self.graph = rng.choice(list(graphs(model.graph)))

    def node(self) -> NodeProto:
        return self.rng.choice(list(self.graph.node))

    def attribute(self, *kinds: int) -> AttributeProto:
        """An attribute of one of the kinds, or of any."""
        found = [a for node in self.graph.node for a in node.attribute if not kinds or a.type in kinds]
        return self.rng.choice(found)

    def initializer(self) -> TensorProto:
        return self.rng.choice(list(self.graph.initializer))

    def entry(self) -> ValueInfoProto:
        return self.rng.choice([*self.graph.input, *self.graph.output, *self.graph.value_info])

    def name(self) -> str:
        """A tensor of the graph, wherever it is made."""
        made = [name for node in self.graph.node for name in node.output]
        return self.rng.choice(
            [*made, *(e.name for e in self.graph.input), *(t.name for t in self.graph.initializer)]
        )


def _drop_node(c: _Change) -> None:
    c.graph.node.remove(c.node())


def _repeat_node(c: _Change) -> None:
    c.graph.node.append(c.node())


def _move_node(c: _Change) -> None:
    node = NodeProto()
    node.CopyFrom(c.node())
    c.graph.node.remove(node)
    c.graph.node.append(node)


def _rename_op(c: _Change) -> None:
    c.node().op_type = c.rng.choice(_OPS)


def _change_domain(c: _Change) -> None:
    c.node().domain = c.rng.choice(_DOMAINS)


def _cross_inputs(c: _Change) -> None:
    """Read another tensor, which may be made later, or by the node itself."""
    node = c.node()
    node.input[c.rng.randrange(len(node.input))] = c.name()


def _drop_input(c: _Change) -> None:
    node = c.node()
    if c.rng.random() < 0.5:
        node.input[c.rng.randrange(len(node.input))] = ""
    else:
        node.input.pop(c.rng.randrange(len(node.input)))


def _add_input(c: _Change) -> None:
    c.node().input.extend([c.name()] * c.rng.choice((1, 2, 300)))


def _same_output(c: _Change) -> None:
    node = c.node()
    node.output[c.rng.randrange(len(node.output))] = c.name()


def _drop_output(c: _Change) -> None:
    node = c.node()
    node.output[c.rng.randrange(len(node.output))] = ""


def _swap_type(c: _Change) -> None:
    c.entry().type.tensor_type.elem_type = c.rng.choice(_TYPES)


def _swap_weight_type(c: _Change) -> None:
    c.initializer().data_type = c.rng.choice(_TYPES)


def _huge_dim(c: _Change) -> None:
    dims = c.entry().type.tensor_type.shape.dim
    dims[c.rng.randrange(len(dims))].dim_value = c.rng.choice(_HUGE)


def _other_rank(c: _Change) -> None:
    shape = c.entry().type.tensor_type.shape
    if c.rng.random() < 0.5:
        shape.dim.pop()
    else:
        shape.dim.add().dim_value = c.rng.choice((1, 3, 2**40))


def _huge_weight(c: _Change) -> None:
    tensor = c.initializer()
    tensor.dims[c.rng.randrange(len(tensor.dims))] = c.rng.choice(_HUGE)


def _cut_weight(c: _Change) -> None:
    tensor = c.rng.choice([t for t in c.graph.initializer if t.raw_data])
    tensor.raw_data = tensor.raw_data[: c.rng.randrange(len(tensor.raw_data))]


def _odd_numbers(c: _Change) -> None:
    """Other numbers in a small integer weight: shapes, axes, starts, pads."""
    found = [t for t in c.graph.initializer if t.data_type == TensorProto.INT64 and len(t.dims) < 2]
    tensor = c.rng.choice([t for t in found if len(t.raw_data) in range(8, 100)])
    values = bytearray(tensor.raw_data)
    at = 8 * c.rng.randrange(len(values) // 8)
    values[at : at + 8] = c.rng.choice(_ODD).to_bytes(8, "little", signed=True)
    tensor.raw_data = bytes(values)


def _odd_constant(c: _Change) -> None:
    """The same in a Constant node."""
    nodes = [n for n in c.graph.node if n.op_type == "Constant"]
    tensors = [a.t for n in nodes for a in n.attribute if a.type == AttributeProto.TENSOR]
    tensor = c.rng.choice([t for t in tensors if t.data_type == TensorProto.INT64 and t.raw_data])
    count = len(tensor.raw_data) // 8
    tensor.raw_data = b"".join(c.rng.choice(_ODD).to_bytes(8, "little", signed=True) for _ in range(count))


def _odd_integers(c: _Change) -> None:
    attribute = c.attribute(AttributeProto.INTS)
    attribute.ints[c.rng.randrange(len(attribute.ints))] = c.rng.choice(_ODD)


def _odd_integer(c: _Change) -> None:
    c.attribute(AttributeProto.INT).i = c.rng.choice(_ODD)


def _odd_float(c: _Change) -> None:
    c.attribute(AttributeProto.FLOAT).f = c.rng.choice((0.0, -1.0, float("inf"), float("nan"), 1e38))


def _more_integers(c: _Change) -> None:
    attribute = c.attribute(AttributeProto.INTS)
    if c.rng.random() < 0.5:
        del attribute.ints[c.rng.randrange(len(attribute.ints)) :]
    else:
        attribute.ints.extend([1] * c.rng.choice((1, 5)))


def _other_attribute_kind(c: _Change) -> None:
    attribute = c.attribute()
    name = attribute.name
    attribute.Clear()
    attribute.name = name
    kind = c.rng.choice(
        (AttributeProto.INT, AttributeProto.FLOAT, AttributeProto.STRING, AttributeProto.TENSOR)
    )
    attribute.type = kind
    if kind == AttributeProto.INT:
        attribute.i = 3
    elif kind == AttributeProto.FLOAT:
        attribute.f = 0.5
    elif kind == AttributeProto.STRING:
        attribute.s = b"\xffodd"


def _rename_attribute(c: _Change) -> None:
    c.attribute().name = c.rng.choice(("axis", "axes", "to", "perm", "odd"))


def _drop_attribute(c: _Change) -> None:
    node = c.rng.choice([n for n in c.graph.node if n.attribute])
    del node.attribute[c.rng.randrange(len(node.attribute))]


def _other_opset(c: _Change) -> None:
    c.model.opset_import[0].version = c.rng.choice((0, 1, 6, 9, 13, 18, 21, 99))


def _other_end(c: _Change) -> None:
    entry = c.rng.choice([*c.graph.input, *c.graph.output])
    entry.name = c.rng.choice(("", "odd", c.name()))


def _drop_end(c: _Change) -> None:
    ends = c.rng.choice((c.graph.input, c.graph.output))
    del ends[c.rng.randrange(len(ends))]


MUTATORS: tuple[Callable[[_Change], None], ...] = (
    _drop_node,
    _repeat_node,
    _move_node,
    _rename_op,
    _change_domain,
    _cross_inputs,
    _drop_input,
    _add_input,
    _same_output,
    _drop_output,
    _swap_type,
    _swap_weight_type,
    _huge_dim,
    _other_rank,
    _huge_weight,
    _cut_weight,
    _odd_numbers,
    _odd_constant,
    _odd_integers,
    _odd_integer,
    _odd_float,
    _more_integers,
    _other_attribute_kind,
    _rename_attribute,
    _drop_attribute,
    _other_opset,
    _other_end,
    _drop_end,
)


def mutant(model: ModelProto, seed: int) -> tuple[str, bytes]:
    """What was changed, and the changed model's file. Every tenth has damaged bytes instead."""
    rng = random.Random(seed)
    if seed % 10 == 9:
        return "bytes", _damaged(model.SerializeToString(), rng)
    while True:
        copy = ModelProto()
        copy.CopyFrom(model)
        change = rng.choice(MUTATORS)
        try:
            change(_Change(copy, rng))
            return change.__name__.strip("_"), copy.SerializeToString()
        except (IndexError, ValueError):
            continue  # the model has no place for it


def _damaged(data: bytes, rng: random.Random) -> bytes:
    """A cut file, or one with other bytes near its start or end, where names and sizes are."""
    if rng.random() < 0.3:
        return data[: rng.randrange(len(data))]
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 3, 20))):
        at = rng.randrange(min(len(damaged), 4096))
        damaged[at if rng.random() < 0.5 else -at - 1] = rng.randrange(256)
    return bytes(damaged)
