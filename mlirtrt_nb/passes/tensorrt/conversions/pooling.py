"""Pooling over windows and over whole feature maps."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from ....dialects.onnx.ceil_windows import ceil_span
from .convolution import pads_of, with_height
from .dilated_pooling import DilatedWindow, average, maximum
from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of

__all__: list[str] = []


@converter("MaxPool")
def _max_pool(node: Node, emit: Emitter) -> list[ir.Value | None]:
    return [_Pool(node).layer(emit, node[0], "kMAX", None), None]


@converter("AveragePool")
def _average_pool(node: Node, emit: Emitter) -> ir.Value:
    pool = _Pool(node)
    counted = bool(node.attr("count_include_pad"))
    if counted and pool.extra_counts():
        return _average_of_padded(node, emit, pool)
    return pool.layer(emit, node[0], "kAVERAGE", not counted)


def _average_of_padded(node: Node, emit: Emitter, pool: _Pool) -> ir.Value:
    """ceil_mode's extra elements never count, the padding does: so pad first, then leave out the rest."""
    x = node[0]
    dims = emit.sizes(x)
    if any(not isinstance(d, int) for d in dims[2:]):
        raise Refused("ceil_mode with count_include_pad on a dynamic dimension")
    start = [0, 0, *(-p for p in pool.before)]
    size = [
        *dims[:2],
        *(int(d) + b + a for d, b, a in zip(dims[2:], pool.before, pool.after, strict=True)),  # type: ignore[arg-type]
    ]
    padded = emit.slice(x, start, size, mode="kFILL")
    pool.extra = [total - a for total, a in zip(pool.ends(), pool.after, strict=True)]
    pool.before = [0] * pool.spatial
    pool.after = [0] * pool.spatial
    return pool.layer(emit, padded, "kAVERAGE", True)


@converter("LpPool")
def _lp_pool(node: Node, emit: Emitter) -> ir.Value:
    """(sum |x|^p)^(1/p); a sum is an average that counts padding, times the window's volume."""
    pool = _Pool(node)
    if pool.extra_counts():
        raise Refused("ceil_mode")
    power = float(node.attr("p", 2))
    raised = emit.with_number("kPOW", emit.unary("kABS", node[0]), power)
    mean = pool.layer(emit, raised, "kAVERAGE", False)
    volume = 1
    for length in pool.window:
        volume *= length
    return emit.with_number("kPOW", emit.with_number("kPROD", mean, volume), 1.0 / power)


@converter("GlobalAveragePool", "GlobalMaxPool")
def _global_pool(node: Node, emit: Emitter) -> ir.Value:
    kind = "kAVG" if node.name == "GlobalAveragePool" else "kMAX"
    return emit.reduce(kind, node[0], range(2, rank_of(node[0])))


@converter("GlobalLpPool")
def _global_lp_pool(node: Node, emit: Emitter) -> ir.Value:
    power = float(node.attr("p", 2))
    raised = emit.with_number("kPOW", emit.unary("kABS", node[0]), power)
    total = emit.reduce("kSUM", raised, range(2, rank_of(node[0])))
    return emit.with_number("kPOW", total, 1.0 / power)


class _Pool:
    """The window of a pooling op: size, stride, padding, and what ceil_mode adds at the end."""

    def __init__(self, node: Node) -> None:
        window = node.attr("kernel_shape")
        if window is None:
            raise Refused("kernel_shape is absent")
        self.node = node
        self.window: list[int] = list(window)
        self.spatial = len(self.window)
        self.stride: list[int] = list(node.attr("strides") or [1] * self.spatial)
        self.dilation: list[int] = list(node.attr("dilations") or [1] * self.spatial)
        self.reach = [d * (k - 1) + 1 for k, d in zip(self.window, self.dilation, strict=True)]
        self.before, self.after = pads_of(node, self.window, self.stride, self.dilation)
        self.extra = self._ceil_padding() if node.attr("ceil_mode") else [0] * self.spatial

    def _ceil_padding(self) -> list[int]:
        """What to pad at the end so that rounding down gives the size that rounding up would."""
        sizes = shape_of(self.node[0])[2:]
        found = []
        for axis, size in enumerate(sizes):
            k, s, b, a = self.reach[axis], self.stride[axis], self.before[axis], self.after[axis]
            if s == 1:
                found.append(0)
            elif size is None:
                if a > 0 or s > k:
                    raise Refused("ceil_mode with padding on a dynamic dimension")
                found.append(s - 1)
            else:
                found.append(max(ceil_span(size, b, a, k, s) - (size + b + a), 0))
        return found

    def extra_counts(self) -> bool:
        """Whether ceil_mode adds elements at an end."""
        return any(self.extra)

    def ends(self) -> list[int]:
        """All padding at the end of each spatial dimension."""
        return [a + e for a, e in zip(self.after, self.extra, strict=True)]

    def sizes(self, x: ir.Value) -> list[int | None]:
        """The spatial sizes of the result."""
        found: list[int | None] = []
        ends = self.ends()
        for axis, size in enumerate(shape_of(x)[2:]):
            whole = None if size is None else size + self.before[axis] + ends[axis] - self.reach[axis]
            found.append(None if whole is None else whole // self.stride[axis] + 1)
        return found

    def layer(self, emit: Emitter, x: ir.Value, kind: str, excludes: bool | None) -> ir.Value:
        if any(d != 1 for d in self.dilation):
            return self._spelled_out(emit, x, kind, bool(excludes))
        flat = self.spatial == 1
        attributes = {
            "windowSize": self._padded(self.window, 1),
            "stride": self._padded(self.stride, 1),
            "prePadding": self._padded(self.before, 0),
            "postPadding": self._padded(self.ends(), 0),
            "poolingType": kind,
            "averageCountExcludesPadding": excludes,
        }
        dims = [*shape_of(x)[:2], *([1] if flat else []), *self.sizes(x)]
        result = emit.type(dims, element(x))
        made = emit.op("pooling", [with_height(emit, x) if flat else x], attributes, result)
        return emit.squeeze(made, [2]) if flat else made

    def _spelled_out(self, emit: Emitter, x: ir.Value, kind: str, excludes: bool) -> ir.Value:
        counts = self.sizes(x)
        if None in counts:
            raise Refused("dilated pooling over a dynamic dimension")
        window = DilatedWindow(
            self.window, self.stride, self.dilation, self.before, self.ends(), [c or 0 for c in counts]
        )
        if kind == "kMAX":
            return maximum(emit, x, window)
        none = [0] * self.spatial
        return average(emit, x, window, (none, none) if excludes else (self.before, self.after))

    def _padded(self, values: Sequence[int], neutral: int) -> list[int]:
        return [neutral, *values] if self.spatial == 1 else list(values)
