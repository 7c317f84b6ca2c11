"""What onnx values have become, and making tensorrt ops and constants for the onnx op at hand.

Operands may be onnx values (constants, results already converted) or values that the emitter made;
it looks up what an onnx value has become.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from ....ir.builder import create
from ....ir.constants import INLINE_ELEMENTS, array_type, attribute_of, handle_name
from ....ir.shapes import DYNAMIC
from .node import Refused, constant_array, constant_attribute, element

__all__ = ["Shape", "Values"]

Shape = Sequence["int | None"]


class Values:
    """Makes ops before the onnx op that `begin` was given."""

    def __init__(self, weights: MutableMapping[str, np.ndarray], home: ir.Block | None = None) -> None:
        self.weights = weights
        self.created: list[ir.Operation] = []
        # The blocks whose constants stay where they are: the function's, and the Plan's in it.
        self._homes = [] if home is None else [home]
        self._journal: list[tuple[dict[Any, Any], Any]] = []
        self._converted: dict[ir.Value, ir.Value] = {}
        self._constants: dict[tuple[ir.Value, tuple[int, ...] | None], ir.Value] = {}
        self._arrays: dict[ir.Value, np.ndarray] = {}
        self._shapes: dict[ir.Value, ir.Value] = {}
        self._elements: dict[str, ir.Type] = {}
        self._unknown = ir.Location.unknown()
        self._point: ir.InsertionPoint | None = None
        self._location = self._unknown

    # The op at hand

    def begin(self, operation: ir.Operation) -> None:
        """Make ops before `operation`, at its location, from here on."""
        self.created = []
        self._journal = []
        self._point = ir.InsertionPoint(operation)
        self._location = operation.location

    def undo(self) -> None:
        """Take back what was made since `begin`."""
        self._forget(0, (self._converted, self._constants, self._arrays, self._shapes))
        for operation in reversed(self.created):
            operation.erase()
        self.created = []

    @contextmanager
    def inside(self, block: ir.Block) -> Iterator[None]:
        """Make ops at the end of a region's block meanwhile. What is kept for reuse there ends with it."""
        point, self._point = self._point, ir.InsertionPoint(block)
        location, start = self._location, len(self._journal)
        try:
            yield
        finally:
            self._point, self._location = point, location
            self._forget(start, (self._constants, self._shapes))

    @contextmanager
    def at_home(self, block: ir.Block) -> Iterator[None]:
        """Convert the ops of a region of the Plan meanwhile, where they stand.

        Shapes are worked out anew there: one from outside would have to enter an engine as a value.
        """
        self._homes.append(block)
        shapes, self._shapes = self._shapes, {}
        try:
            yield
        finally:
            self._homes.pop()
            self._shapes = shapes

    def at(self, operation: ir.Operation) -> None:
        """Make ops at the location of `operation` from here on."""
        self._location = operation.location

    def _keep(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Enter `value` in one of the tables, so that `undo` finds it."""
        table[key] = value
        self._journal.append((table, key))

    def _forget(self, start: int, tables: Sequence[dict[Any, Any]]) -> None:
        """Remove what was entered in `tables` since the journal had `start` entries."""
        rest = []
        for table, key in self._journal[start:]:
            if any(table is entry for entry in tables):
                table.pop(key, None)
            else:
                rest.append((table, key))
        self._journal[start:] = rest

    def settle(self, before: ir.Value, after: ir.Value) -> None:
        """`before`, an onnx value, has become `after`."""
        self._keep(self._converted, before, after)

    def value(self, value: ir.Value) -> ir.Value:
        """What to use as an operand for `value`."""
        found = self._converted.get(value)
        if found is not None:
            return found
        return self._constant_of(value, None) if constant_attribute(value) is not None else value

    def result(self, before: ir.Value, value: ir.Value) -> ir.Value:
        """`value` as what `before`, a result of the op at hand, becomes; both get the type that knows most."""
        value = self.value(value)
        kind = self._merged(before.type, value.type)
        if before.type != kind:
            before.set_type(kind)
        if value.type == kind:
            return value
        if any(value.owner == operation for operation in self.created):
            value.set_type(kind)
            return value
        name = "cast" if element(value) == "i64" else "identity"  # identity has no i64 in the dialect
        return self.op(name, [value], None, kind)

    def _merged(self, declared: ir.Type, made: ir.Type) -> ir.Type:
        """One type for a value that has two, each of which may leave dimensions open."""
        if declared == made or not isinstance(declared, ir.RankedTensorType):
            return made
        assert isinstance(made, ir.RankedTensorType)
        agree = declared.element_type == made.element_type and declared.rank == made.rank
        dims = []
        for axis in range(made.rank) if agree else ():
            a = None if declared.is_dynamic_dim(axis) else declared.get_dim_size(axis)
            b = None if made.is_dynamic_dim(axis) else made.get_dim_size(axis)
            agree = agree and (a is None or b is None or a == b)
            dims.append(b if a is None else a)
        if not agree:
            raise Refused(f"its result is declared {declared}, and the layer's is {made}")
        return self.type(dims, str(made.element_type))

    def converted(self, value: ir.Value) -> ir.Value | None:
        """What `value` has become, or None."""
        return self._converted.get(value)

    # Types

    def type(self, dims: Shape, kind: str) -> ir.RankedTensorType:
        """`tensor<dims x kind>`."""
        found = self._elements.get(kind)
        if found is None:
            found = self._elements[kind] = ir.Type.parse(kind)
        shape = [DYNAMIC if d is None else d for d in dims]
        return ir.RankedTensorType.get(shape, found, loc=self._unknown)

    # Any op

    def op(
        self,
        name: str,
        operands: Sequence[ir.Value | Sequence[ir.Value] | None],
        attributes: Mapping[str, Any] | None,
        result: ir.Type,
    ) -> ir.Value:
        """An op with one result."""
        return self.ops(name, operands, attributes, [result])[0]

    def ops(
        self,
        name: str,
        operands: Sequence[ir.Value | Sequence[ir.Value] | None],
        attributes: Mapping[str, Any] | None,
        results: Sequence[ir.Type] | None,
    ) -> list[ir.Value]:
        """An op with several results; None infers their types."""
        given = [self._operand(value) for value in operands]
        made = create(f"tensorrt.{name}", given, attributes, results, loc=self._location, ip=self._point)
        self.created.append(made)
        return list(made.results)

    def _operand(self, value: ir.Value | Sequence[ir.Value] | None) -> ir.Value | list[ir.Value] | None:
        if value is None:
            return None
        return self.value(value) if isinstance(value, ir.Value) else [self.value(v) for v in value]

    # Constants

    def name(self, what: str) -> str:
        """A name for weights that the op at hand brings, after the op's own."""
        location = self._location
        return f"{location.name_str}.{what}" if isinstance(location, ir.NameLoc) else what

    def constant(self, array: np.ndarray, what: str = "constant") -> ir.Value:
        """A constant of `array`; a large one enters the weight table, under a name that ends in `what`."""
        attribute = self.attribute(array, what)
        made = self.op("constant", [], {"weights": attribute}, array_type(array))
        self._keep(self._arrays, made, array)
        return made

    def attribute(self, array: np.ndarray, what: str = "constant") -> ir.Attribute:
        """An attribute for `array`, as `constant` makes one."""
        small = array.size <= INLINE_ELEMENTS
        return attribute_of(array, self.weights, what if small else self.name(what))

    def filled(self, number: float, kind: str, dims: Sequence[int] = ()) -> ir.Value:
        """A constant of element type `kind` with one number throughout."""
        return self.constant(np.full(tuple(dims), number, dtypes.by_mlir(kind).np))

    def array(self, value: ir.Value) -> np.ndarray | None:
        """The array of a constant, onnx's or the emitter's own; None for any other value."""
        found = self._arrays.get(self._converted.get(value, value))
        return constant_array(value, self.weights) if found is None else found

    def elements_attribute(self, value: ir.Value, dims: tuple[int, ...] | None = None) -> ir.Attribute | None:
        """The attribute of a constant, for ops that keep constants as attributes, in the shape `dims`.

        Another shape is a second name for the same bytes. None if `value` is not constant.
        """
        attribute = constant_attribute(value)
        array = self.array(value)
        if array is None:
            return None
        if dims is None:
            dims = tuple(array.shape)
        if attribute is not None and tuple(array.shape) == dims:
            return attribute
        name = handle_name(attribute) if attribute is not None else None
        suffix = "x".join(str(d) for d in dims)
        return attribute_of(array.reshape(dims), self.weights, f"{name or 'constant'}.{suffix}")

    def _constant_of(self, value: ir.Value, dims: tuple[int, ...] | None) -> ir.Value:
        """The `tensorrt.constant` for an onnx constant, in its own shape or in `dims`."""
        found = self._constants.get((value, dims))
        if found is not None:
            return found
        attribute = self.elements_attribute(value, dims)
        owner = value.owner
        assert attribute is not None and isinstance(owner, ir.OpView | ir.Operation)
        array = constant_array(value, self.weights)
        assert array is not None
        # Where the onnx constant stands, so that every later op may use it; not so in a region, which goes.
        inner = bool(self._homes) and owner.operation.block not in self._homes
        point = self._point if inner else ir.InsertionPoint(owner.operation)
        made = create(
            "tensorrt.constant",
            [],
            {"weights": attribute},
            [attribute.type],  # type: ignore[attr-defined]
            loc=owner.operation.location,
            ip=point,
        )
        if inner:
            self.created.append(made)
            self._keep(self._constants, (value, dims), made.result)
        else:
            self._constants[value, dims] = made.result
        self._arrays[made.result] = array if dims is None else array.reshape(dims)
        return made.result
