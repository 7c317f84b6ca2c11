"""A graph of an ONNX model whose tensors are known by the MLIR values that they stand for."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from typing import Self

from torch_mlir import ir

from .model_writer import Graph, ModelWriter

__all__ = ["ValueGraph"]


class ValueGraph(Graph):
    """Nodes, and the names of MLIR values. A child graph sees its parents' values and keeps its own."""

    def __init__(self, writer: ModelWriter, outer: Self | None = None) -> None:
        super().__init__(writer)
        self._names: ChainMap[ir.Value, str] = ChainMap() if outer is None else outer._names.new_child()
        self._wanted: dict[ir.Value, str] = {}

    def want(self, values: Sequence[ir.Value], names: Sequence[str]) -> None:
        """Names that values shall have if they are free when the values are made."""
        for value, name in zip(values, names, strict=True):
            self._wanted.setdefault(value, name)

    def define(self, value: ir.Value, hint: str) -> str:
        """Give `value` a name of its own, the wanted one or `hint` if that is free."""
        name = self._names[value] = self.writer.unique(self._wanted.get(value, hint))
        return name

    def bind(self, value: ir.Value, name: str) -> None:
        """`value` is what `name` names."""
        self._names[value] = name

    def name(self, value: ir.Value) -> str:
        """The name of a value that is already there. Raises KeyError if it is not."""
        return self._names[value]

    def outputs(self, values: Sequence[ir.Value], hints: Sequence[str]) -> list[str]:
        """A name for each returned value, all different and each the output of a node of this graph."""
        made = {output for node in self.nodes for output in node.output}
        names: dict[str, None] = {}
        for value, hint in zip(values, hints, strict=True):
            name = self.name(value)
            if name not in made or name in names:
                source, name = name, self.writer.unique(hint)
                self.node("Identity", [source], [name], name=name)
            names[name] = None
        return list(names)
