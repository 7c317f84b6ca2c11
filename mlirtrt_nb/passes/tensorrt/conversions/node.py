"""The onnx op that is being converted, as converters read it, and the table that converters enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from torch_mlir import ir

from ....dialects.onnx.ops import is_absent
from ....ir.builder import Op
from ....ir.constants import value_of
from ....ir.values import has_uses, rank_of

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    import numpy as np

    from .dims import Dims
    from .emitter import Emitter

__all__ = ["CONVERTERS", "Converter", "Node", "Refused", "converter", "element", "rank_of", "shape_of"]

Converter = Callable[["Node", "Emitter"], "ir.Value | Sequence[ir.Value | None]"]

BlockConverter = Callable[["ir.Block", "ir.Block", "Sequence[ir.Value]"], "list[ir.Value]"]

# By ONNX op type, for the domain "".
CONVERTERS: dict[str, Converter] = {}


class Refused(Exception):
    """Raised by a converter for an op that TensorRT cannot take. The text is shown to users."""


def converter(*names: str) -> Callable[[Converter], Converter]:
    """Enter a function in the table under these ONNX op types.

    It gives the value of each result, in order; None for a result that nothing reads.
    """

    def enter(function: Converter) -> Converter:
        for name in names:
            CONVERTERS[name] = function
        return function

    return enter


def element(value: ir.Value) -> str:
    """The element type's MLIR spelling ("f32")."""
    return str(value.type.element_type)  # type: ignore[attr-defined]


def shape_of(value: ir.Value) -> tuple[int | None, ...]:
    """The dimensions; None for one that is dynamic."""
    kind = value.type
    if kind.has_static_shape:  # type: ignore[attr-defined]
        return tuple(kind.shape)  # type: ignore[attr-defined]
    return tuple(None if kind.is_dynamic_dim(n) else kind.get_dim_size(n) for n in range(kind.rank))  # type: ignore[attr-defined]


class Node:
    """One onnx op.

    name: the ONNX op type ("Conv"). opset: the version of the domain "".
    inputs, results: None for one that is absent.
    convert_block(source, target, arguments): converts the ops of a region's block into `target`, whose values
    `arguments` stand for the source's own, and gives what it yields. Refuses if any op in it is refused.
    """

    __slots__ = ("_op", "convert_block", "dims", "inputs", "name", "operation", "opset", "results", "weights")

    def __init__(
        self,
        operation: ir.Operation,
        name: str,
        opset: int,
        weights: MutableMapping[str, np.ndarray],
        dims: Dims,
        convert_block: BlockConverter | None = None,
    ) -> None:
        self.operation = operation
        self.name = name
        self.opset = opset
        self.weights = weights
        self.dims = dims
        self.convert_block = convert_block
        self.inputs = [None if is_absent(value) else value for value in operation.operands]
        self.results = [None if is_absent(value) else value for value in operation.results]
        self._op = Op.of(operation)

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute's Python value, the schema's default, or `default`."""
        found = self._op.attr(name)
        return default if found is None else found

    def input(self, index: int) -> ir.Value | None:
        """An optional input; None if it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def __getitem__(self, index: int) -> ir.Value:
        """A required input."""
        value = self.input(index)
        if value is None:
            raise Refused(f"input {index} is absent")
        return value

    @property
    def result(self) -> ir.Value:
        """The first result, which every op has."""
        value = self.results[0]
        assert value is not None
        return value

    def declared(self, rank: int, index: int = 0) -> tuple[int | None, ...]:
        """What shape inference knows of a result that has `rank` dimensions."""
        value = self.results[index]
        if value is not None and isinstance(value.type, ir.RankedTensorType) and rank_of(value) == rank:
            return shape_of(value)
        return (None,) * rank

    def is_read(self, index: int) -> bool:
        """Whether anything reads the result."""
        value = self.results[index] if index < len(self.results) else None
        return value is not None and has_uses(value)

    def is_only_returned(self, index: int = 0) -> bool:
        """Whether nothing reads the result but the function's end."""
        value = self.results[index]
        return value is not None and all(use.owner.operation.name == "func.return" for use in value.uses)

    def array(self, index: int) -> np.ndarray | None:
        """The value of a constant input; None if it is absent or not constant."""
        value = self.input(index)
        return None if value is None else constant_array(value, self.weights)

    def ints(self, index: int, what: str) -> list[int] | None:
        """The values of a constant integer input; None if it is absent. Refuses if it is not constant."""
        value = self.input(index)
        if value is None:
            return None
        array = constant_array(value, self.weights)
        if array is not None:
            return [int(v) for v in array.reshape(-1)]
        known = self.dims.elements(value)
        if known is not None and all(isinstance(entry, int) for entry in known):
            return [entry for entry in known if isinstance(entry, int)]
        raise Refused(f"{what} is not constant")

    def axis(self, value: int, rank: int | None = None) -> int:
        """`value` counted from the front. Refuses if it is out of range for `rank` (default: input 0's)."""
        rank = rank_of(self[0]) if rank is None else rank
        if not -rank <= value < max(rank, 1):
            raise Refused(f"axis {value} is out of range for rank {rank}")
        return value + rank if value < 0 else value


def constant_array(value: ir.Value, weights: MutableMapping[str, np.ndarray]) -> np.ndarray | None:
    """The array behind the result of an `onnx.constant`; None for any other value."""
    attribute = constant_attribute(value)
    return None if attribute is None else value_of(attribute, weights)


def constant_attribute(value: ir.Value) -> ir.Attribute | None:
    """The ElementsAttr behind the result of an `onnx.constant`; None for any other value."""
    owner = value.owner
    if not isinstance(owner, ir.OpView | ir.Operation) or owner.name != "onnx.constant":
        return None
    attributes = owner.attributes
    return attributes.get("value", None)
