"""A graph of an ONNX model whose tensors are known by the MLIR values that they stand for."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from typing import Self

from torch_mlir import ir

from .model_writer import Graph, ModelWriter, rename

__all__ = ["ValueGraph"]


class ValueGraph(Graph):
    """Nodes, and the names of MLIR values. A child graph sees its parents' values and keeps its own."""

    def __init__(self, writer: ModelWriter, outer: Self | None = None) -> None:
        super().__init__(writer)
        self._names: ChainMap[ir.Value, str] = ChainMap() if outer is None else outer._names.new_child()

    def define(self, value: ir.Value, hint: str) -> str:
        """Give `value` a name of its own, `hint` if that is free."""
        name = self._names[value] = self.writer.unique(hint)
        return name

    def bind(self, value: ir.Value, name: str) -> None:
        """`value` is what `name` names."""
        self._names[value] = name

    def name(self, value: ir.Value) -> str:
        """The name of a value that is already there. Raises KeyError if it is not."""
        return self._names[value]

    def types(self) -> dict[str, ir.Type]:
        """The MLIR type of each name of this graph, its parents' not included."""
        return {name: value.type for value, name in self._names.maps[0].items()}

    def outputs(self, values: Sequence[ir.Value], names: Sequence[str]) -> None:
        """Give returned values these names, which `unique` has reserved, as a graph's outputs need.

        A value that a node of this graph makes is renamed; one that is an input, comes from outside, is a
        constant or was returned before gets an Identity.
        """
        made = {output for node in self.nodes for output in node.output}
        renamed: dict[str, str] = {}
        for value, name in zip(values, names, strict=True):
            source = self.name(value)
            if source in made and source not in renamed:
                renamed[source] = name
                self._names[value] = name
            else:
                self.node("Identity", [source], [name], name=name)
        rename(self.nodes, renamed)
