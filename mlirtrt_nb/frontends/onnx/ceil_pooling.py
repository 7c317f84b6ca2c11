"""Lets inference give poolings with ceil_mode the sizes that they have.

Before opset 22 inference counts a last window that is left out (`ceil_span`). So such a node is shown to it
with ceil_mode off and with a padding at the end that gives the right number of windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from onnx import ModelProto, NodeProto, TypeProto, helper

from ...dialects.onnx.ceil_windows import ceil_span

__all__ = ["CeilPoolings"]

_FIXED_IN: Final = 22  # the opset from which on inference leaves such a window out
_OPS: Final = frozenset({"AveragePool", "MaxPool"})


class CeilPoolings:
    """The poolings of a model whose number of windows its inference may get wrong."""

    def __init__(self, model: ModelProto, nodes: Iterable[NodeProto]) -> None:
        old = any(o.domain in ("", "ai.onnx") and o.version < _FIXED_IN for o in model.opset_import)
        self._found: dict[int, tuple[NodeProto, NodeProto]] = {}  # by number: the node, and as it was
        for number, node in enumerate(nodes) if old else ():
            if _rounds_up(node):
                original = NodeProto()
                original.CopyFrom(node)
                self._found[number] = node, original

    @property
    def inputs(self) -> set[str]:
        """What they read."""
        return {original.input[0] for _, original in self._found.values()}

    def correct(self, types: Mapping[str, Sequence[TypeProto]]) -> bool:
        """Write into each node what gives its size for an input of these types; whether any node changed."""
        changed = False
        for node, original in self._found.values():
            before = node.SerializeToString()
            node.CopyFrom(original)
            pads = _pads(original, types.get(original.input[0], ()))
            if pads is not None:
                kept = [a for a in node.attribute if a.name not in ("ceil_mode", "pads")]
                made = [*kept, helper.make_attribute("pads", pads)]
                del node.attribute[:]
                node.attribute.extend(made)
            changed |= node.SerializeToString() != before
        return changed

    def restore(self, nodes: Iterable[NodeProto]) -> None:
        """Give the same nodes of an inferred copy the attributes that they had."""
        for number, node in enumerate(nodes) if self._found else ():
            if number in self._found:
                node.CopyFrom(self._found[number][1])


def _rounds_up(node: NodeProto) -> bool:
    if node.op_type not in _OPS or node.domain not in ("", "ai.onnx") or not node.input:
        return False
    values = {a.name: a for a in node.attribute}
    explicit = "auto_pad" not in values or values["auto_pad"].s in (b"", b"NOTSET")
    return explicit and "ceil_mode" in values and values["ceil_mode"].i != 0 and "kernel_shape" in values


def _pads(node: NodeProto, types: Sequence[TypeProto]) -> list[int] | None:
    """Paddings that give the sizes without ceil_mode; None if no window is left out where the size is known.

    A dynamic dimension stays one whatever its padding is.
    """
    dims = list(types[0].tensor_type.shape.dim)[2:] if len(types) == 1 else []
    values = {a.name: list(a.ints) for a in node.attribute}
    kernel, rank = values["kernel_shape"], len(values["kernel_shape"])
    strides, dilations = values.get("strides") or [1] * rank, values.get("dilations") or [1] * rank
    given = values.get("pads") or [0] * (2 * rank)
    wrong = min(strides, default=0) < 1 or not (len(strides) == len(dilations) == rank == len(given) / 2)
    if wrong or len(dims) != rank:
        return None
    ends, left_out = given[rank:], False
    for axis, dim in enumerate(dims):
        if not dim.HasField("dim_value"):
            continue
        size, before, after = dim.dim_value, given[axis], given[rank + axis]
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        span = ceil_span(size, before, after, reach, strides[axis])
        left_out |= span < size + before + after
        ends[axis] = max(span - size - before, 0)
    return [*given[:rank], *ends] if left_out else None
