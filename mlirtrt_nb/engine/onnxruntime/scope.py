"""What an emitter sees: the ONNX graph being written, and helpers that keep element types right.

`Scope.op` appends a node. Where ONNX Runtime's CPU has no kernel for the element types (bf16, mostly), the
node computes in a wider type between casts, so that each op still rounds to the type that the IR says.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from torch_mlir import ir

from ...dialects.onnx.model_writer import ModelWriter
from ...dialects.onnx.schemas import least
from ...dialects.onnx.value_graph import ValueGraph
from ...errors import EngineBuildError
from ...ir import dtypes
from .kernels import signature

__all__ = ["Constant", "Scope"]


@dataclass(frozen=True)
class Constant:
    """A constant operand: its array, and the name of the weight if it is one."""

    array: np.ndarray
    handle: str | None = None

    def reshaped(self, shape: Sequence[int]) -> Constant:
        """The same elements in another shape. Raises EngineBuildError where their number differs."""
        try:
            return Constant(self.array.reshape(tuple(shape)), self.handle)
        except ValueError:
            dims = "x".join(map(str, shape))
            raise EngineBuildError(f"{self.array.size} elements cannot have the shape {dims}") from None


class Scope(ValueGraph):
    """A graph under construction. Names are of ONNX values; `dtype` gives an ONNX value's MLIR spelling.

    A constant becomes an initializer only when an op asks for it, in the shape that it asks for.
    """

    def __init__(self, writer: ModelWriter, outer: Self | None = None) -> None:
        super().__init__(writer, outer)
        self.outer = outer
        self.label = ""
        self.iteration: str | None = None if outer is None else outer.iteration
        self._types: dict[str, str] = {} if outer is None else outer._types
        # Zero points of rounded values that are not written as i8 around 0.
        self.zeros: dict[ir.Value | None, int] = {} if outer is None else outer.zeros
        self._constants: ChainMap[ir.Value, Constant] = ChainMap()
        if outer is not None:
            self._constants = outer._constants.new_child()

    # MLIR values

    def argument(self, value: ir.Value, hint: str) -> str:
        """Name an argument of the function or region."""
        return self.note(self.define(value, hint), element_type(value))

    def note(self, name: str, dtype: str) -> str:
        """Record the element type of a name that no node makes: a graph's input."""
        self._types[name] = dtype
        return name

    def set(self, value: ir.Value, name: str) -> None:
        """`value` is what `name` names. Casts if the name's type is not the value's."""
        self.bind(value, self.cast(name, element_type(value)))

    def set_constant(self, value: ir.Value, constant: Constant) -> None:
        """`value` is a constant; it has no name until one is asked for."""
        self._constants[value] = constant

    def constant(self, value: ir.Value | None) -> Constant | None:
        """The constant behind a value, or None."""
        return None if value is None else self._constants.get(value)

    def tensor(self, value: ir.Value, shape: Sequence[int] | None = None) -> str:
        """The name of a value; of a constant, an initializer, in another shape if one is given."""
        found = self._constants.get(value)
        if found is None:
            return self.name(value)
        return self.initializer(found if shape is None else found.reshaped(shape))

    def trailing(self, value: ir.Value) -> str:
        """As `tensor`, but a constant without its leading dimensions of length 1.

        For operands that broadcast against one of full rank. ONNX Runtime's fusions look for scalars and
        vectors where TensorRT wants [1, 1, 1] and [1, 1, C].
        """
        found = self._constants.get(value)
        if found is None:
            return self.name(value)
        shape = list(found.array.shape)
        while shape and shape[0] == 1:
            shape.pop(0)
        return self.initializer(found.reshaped(shape))

    # ONNX values

    def dtype(self, name: str) -> str:
        """The element type of an ONNX value."""
        return self._types[name]

    def initializer(self, constant: Constant) -> str:
        """The name of an initializer for a constant."""
        if constant.handle is not None:
            name = self.writer.weight(constant.handle, constant.array.shape)
        else:
            name = self.writer.constant(constant.array)
        self._types[name] = dtypes.by_numpy(constant.array.dtype).mlir
        return name

    def literal(self, values: Any, dtype: str = "i64") -> str:
        """An initializer of numbers: a scalar or nested lists."""
        return self.initializer(Constant(np.array(values).astype(dtypes.by_mlir(dtype).np)))

    def like(self, number: float, name: str) -> str:
        """A scalar of the element type of `name`."""
        return self.literal(number, self.dtype(name))

    def cast(self, name: str, dtype: str) -> str:
        """`name` as another element type; itself if it has that type."""
        if self.dtype(name) == dtype:
            return name
        return self._append("Cast", [name], [dtype], {"to": dtypes.by_mlir(dtype).onnx})[0]

    def op(
        self, op_type: str, inputs: Sequence[str | None], *, result: str | None = None, **attributes: Any
    ) -> str:
        """Append a node of one output and give its name. See `ops`."""
        return self.ops(op_type, inputs, 1, results=[result], **attributes)[0]

    def ops(
        self,
        op_type: str,
        inputs: Sequence[str | None],
        count: int,
        *,
        results: Sequence[str | None] = (),
        **attributes: Any,
    ) -> list[str]:
        """Append a node of ONNX's own domain with `count` outputs; None is an absent input.

        `results` are element types of outputs that do not follow from the inputs'.
        """
        kinds = tuple(None if name is None else self.dtype(name) for name in inputs)
        known = signature(op_type, kinds, (*results, *[None] * (count - len(results))))
        pairs = zip(inputs, known.reads, strict=True)
        sources = [None if name is None or kind is None else self.cast(name, kind) for name, kind in pairs]
        names = self._append(op_type, sources, known.makes, attributes)
        return [self.cast(name, kind) for name, kind in zip(names, known.gives, strict=True)]

    def block(
        self, op_type: str, inputs: Sequence[str | None], dtypes_: Sequence[str], **attributes: Any
    ) -> list[str]:
        """Append a node whose element types are the caller's affair (If, Loop)."""
        return self._append(op_type, inputs, dtypes_, attributes)

    def _append(
        self,
        op_type: str,
        inputs: Sequence[str | None],
        types: Sequence[str],
        attributes: dict[str, Any],
    ) -> list[str]:
        names = [self.writer.unique(self.label or op_type) for _ in types]
        self._types.update(zip(names, types, strict=True))
        sources = [name or "" for name in inputs]
        fewest, _ = least("", op_type, self.writer.opset_import[""])
        while len(sources) > fewest and not sources[-1]:
            sources.pop()
        self.node(op_type, sources, names, name=self.label, attributes=attributes)
        return names


def element_type(value: ir.Value) -> str:
    """The MLIR spelling of a tensor value's element type."""
    return str(value.type.element_type)
