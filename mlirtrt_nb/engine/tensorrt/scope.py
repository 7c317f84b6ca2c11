"""What an encoder sees: the network being built, and the tensors that MLIR values became."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch_mlir import ir

from ...errors import EngineBuildError
from ...ir.builder import Op
from ...ir.locations import sources_of
from .sources import metadata_of
from .types import tensorrt_type
from .weights import WeightBank

__all__ = ["Scope"]

_LABEL_LIMIT = 200

_EncodeBlock = Callable[["Scope", ir.Block], ir.Operation]


class Scope:
    """A network under construction. `child` scopes are the bodies of control flow.

    A constant becomes a layer only when an op asks for its tensor: a kernel that goes into a layer as
    weights leaves none behind.
    """

    def __init__(
        self,
        trt: Any,
        network: Any,
        bank: WeightBank,
        parent: Scope | None = None,
        encode_block: _EncodeBlock | None = None,
        enter: Callable[[Any], Any] | None = None,
        loop: Any = None,
    ) -> None:
        self.trt = trt
        self.net = network
        self.bank = bank
        self.loop: Any = loop if loop is not None or parent is None else parent.loop
        self._parent = parent
        self._encode_block: _EncodeBlock | None = encode_block or (parent._encode_block if parent else None)
        self._enter = enter
        self._tensors: dict[ir.Value, Any] = {}
        self._constants: dict[ir.Value, ir.Operation] = {}
        self._made: set[ir.Value] = set()
        self._labels: dict[str, int] = {} if parent is None else parent._labels
        self.operations: dict[str, ir.Operation] = {} if parent is None else parent.operations
        self.labelled: set[int] = set() if parent is None else parent.labelled

    def child(self, enter: Callable[[Any], Any] | None = None, loop: Any = None) -> Scope:
        """A scope for a region: it sees this one's values and keeps its own.

        `enter` makes the tensor by which a branch sees one from outside; `loop` is the loop of a body.
        """
        return Scope(self.trt, self.net, self.bank, self, enter=enter, loop=loop)

    def encode_block(self, block: ir.Block) -> ir.Operation:
        """Encode a region's block in this scope; gives its terminator."""
        assert self._encode_block is not None
        return self._encode_block(self, block)

    # Values

    def bind(self, value: ir.Value, tensor: Any) -> None:
        """`value` is `tensor` from here on."""
        self._tensors[value] = tensor
        if not isinstance(value.owner, ir.Block):
            self._made.add(value)

    def bind_constant(self, value: ir.Value, operation: ir.Operation) -> None:
        """`value` is the constant that `operation` holds; no layer is made yet."""
        self._constants[value] = operation

    def tensor(self, value: ir.Value) -> Any:
        """The network tensor of an MLIR value."""
        found = self._tensors.get(value)
        if found is not None:
            return found
        operation = self._constants.get(value)
        if operation is not None:
            return self._constant_layer(value, operation)
        if self._parent is None:
            raise EngineBuildError("a value is used before it is defined", where=str(value)[:200])
        if self._enter is None:
            return self._parent.tensor(value)
        holder = self._parent.constant_operation(value)
        if holder is not None:  # a constant of its own, inside the branch
            return self._constant_layer(value, holder)
        entered = self._enter(self._parent.tensor(value))
        self._tensors[value] = entered
        return entered

    def settled(self, value: ir.Value) -> Any:
        """The tensor of a region's result; one that no layer of the region made gets an identity there."""
        tensor = self.tensor(value)
        return tensor if value in self._made else self.out(self.net.add_identity(tensor))

    def constant_operation(self, value: ir.Value) -> ir.Operation | None:
        """The `tensorrt.constant` of any enclosing scope that made `value`, or None."""
        scope: Scope | None = self
        while scope is not None:
            if value in scope._constants:
                return scope._constants[value]
            scope = scope._parent
        return None

    def constant(self, value: ir.Value | None) -> ir.Attribute | None:
        """The elements of a value that a `tensorrt.constant` made; else None."""
        holder = None if value is None else self.constant_operation(value)
        return None if holder is None else holder.attributes["weights"]

    def input(self, op: Op, name: str) -> Any:
        """The tensor of the op's operand `name`, or None where an optional one is absent."""
        value = op.operand(name)
        return None if value is None else self.tensor(value)

    def inputs(self, op: Op, name: str) -> list[Any]:
        """The tensors of the op's variadic operand `name`."""
        return [self.tensor(value) for value in op.group(name)]

    # Layers

    def made(self, layer: Any) -> Any:
        """`layer`, which the network gives as None where it refuses one."""
        if layer is None:
            raise EngineBuildError("TensorRT refused the layer")
        return layer

    def out(self, layer: Any) -> Any:
        """The first output of a new layer."""
        return self.made(layer).get_output(0)

    def constant_tensor(self, shape: Sequence[int], weights: Any) -> Any:
        """A tensor that holds `weights`."""
        return self.out(self.net.add_constant(tuple(shape), weights))

    def index_tensor(self, values: Sequence[int], element: str = "i64") -> Any:
        """A 1-D integer tensor of the given values, for axes and shapes."""
        return self.constant_tensor([len(values)], self.bank.integers(values, element))

    def dtype(self, spelling: object) -> Any:
        """The `DataType` of an MLIR element type."""
        return tensorrt_type(self.trt, str(spelling))

    def result_dtype(self, op: Op, index: int = 0) -> Any:
        """The `DataType` of one of the op's results."""
        assert op.operation is not None
        return self.dtype(ir.RankedTensorType(op.operation.results[index].type).element_type)

    def label(self, operation: ir.Operation, first: int) -> None:
        """Name the layers added since the network had `first`, and give them the op's sources."""
        last = self.net.num_layers
        if first == last:
            return
        sources = sources_of(operation.location)
        base = _plain("+".join(sources) or operation.name.replace(".", "_"))[:_LABEL_LIMIT]
        metadata = metadata_of(sources)
        for index in range(first, last):
            if index in self.labelled:
                continue
            self.labelled.add(index)
            layer = self.net.get_layer(index)
            layer.name = self._unique(base)
            layer.metadata = metadata
            self.operations[layer.name] = operation

    def _constant_layer(self, value: ir.Value, operation: ir.Operation) -> Any:
        attribute = operation.attributes["weights"]
        first = self.net.num_layers
        tensor = self.constant_tensor(ir.RankedTensorType(value.type).shape, self.bank.weights(attribute))
        self.label(operation, first)
        self._tensors[value] = tensor
        return tensor

    def _unique(self, base: str) -> str:
        count = self._labels.get(base, 0)
        self._labels[base] = count + 1
        return base if count == 0 else f"{base} #{count + 1}"


def _plain(text: str) -> str:
    """`text` in one line: the builder repeats layer names in its log as they are."""
    return "".join(c if c.isprintable() else " " for c in text)
