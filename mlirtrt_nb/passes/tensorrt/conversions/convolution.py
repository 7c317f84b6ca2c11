"""Convolution and transposed convolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch_mlir import ir

from .emitter import Emitter
from .entries import add
from .node import Node, Refused, converter, element, rank_of, shape_of

__all__ = ["convolved", "pads_of", "with_height"]


def _ints(node: Node, name: str, default: int, count: int) -> list[int]:
    return list(node.attr(name) or [default] * count)


def pads_of(
    node: Node, window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Padding before and after each spatial dimension, from `pads` or `auto_pad`."""
    spatial = len(window)
    mode = node.attr("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = _ints(node, "pads", 0, 2 * spatial)
        return pads[:spatial], pads[spatial:]
    if mode == "VALID":
        return [0] * spatial, [0] * spatial
    sizes = shape_of(node[0])[2:]
    before, after = [], []
    for size, k, s, d in zip(sizes, window, stride, dilation, strict=True):
        reach = d * (k - 1) + 1
        if size is None and s != 1:
            raise Refused(f"auto_pad = {mode} with stride {s} on a dynamic dimension")
        total = max(reach - s, 0) if size is None else max((-(-size // s) - 1) * s + reach - size, 0)
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
    return before, after


def with_height(emit: Emitter, x: ir.Value) -> ir.Value:
    """N x C x L as N x C x 1 x L, for layers that take two spatial dimensions or more."""
    return emit.unsqueeze(x, [2])


def _kernel_shape(node: Node, kernel: ir.Value) -> list[int]:
    dims = shape_of(kernel)
    window = node.attr("kernel_shape") or dims[2:]
    if any(d is None for d in window):
        raise Refused("the kernel's size is dynamic")
    return list(window)


@converter("Conv")
def _conv(node: Node, emit: Emitter) -> ir.Value:
    return convolved(node, emit, node[0], node[1], node.input(2))


def convolved(node: Node, emit: Emitter, x: ir.Value, kernel: ir.Value, bias: ir.Value | None) -> ir.Value:
    """The convolution that the node's attributes describe, of the given tensors."""
    window = _kernel_shape(node, kernel)
    stride, dilation = (_ints(node, name, 1, len(window)) for name in ("strides", "dilations"))
    before, after = pads_of(node, window, stride, dilation)
    attributes = _attributes(node, stride, dilation, before, after)
    return _layer(emit, "convolution", ("kernel", "bias"), (x, kernel, bias), attributes)


@converter("ConvTranspose")
def _conv_transpose(node: Node, emit: Emitter) -> ir.Value:
    """Where output_padding goes beyond the padding, the rest is zeros, to which only the bias is added."""
    window = _kernel_shape(node, node[1])
    stride, dilation = (_ints(node, name, 1, len(window)) for name in ("strides", "dilations"))
    before, after = _transposed_pads(node, window, stride, dilation)
    extra = [max(-p, 0) for p in after]
    attributes = _attributes(node, stride, dilation, before, [max(p, 0) for p in after])
    keys, bias = ("kernelWeights", "biasWeights"), node.input(2)
    if not any(extra):
        return _layer(emit, "deconvolution", keys, (node[0], node[1], bias), attributes)
    made = _layer(emit, "deconvolution", keys, (node[0], node[1], None), attributes)
    size = [add(emit, d, e) for d, e in zip(emit.sizes(made), [0, 0, *extra], strict=True)]
    made = emit.slice(made, [0] * len(size), size, mode="kFILL")
    return made if bias is None else emit.binary("kSUM", made, emit.unsqueeze(bias, [0, *range(2, len(size))]))


def _attributes(
    node: Node, stride: Sequence[int], dilation: Sequence[int], before: Sequence[int], after: Sequence[int]
) -> dict[str, Any]:
    """The layer's attributes; one spatial dimension is treated as two, the first of length 1."""

    def pad(values: Sequence[int], neutral: int) -> list[int]:
        return [neutral, *values] if len(values) == 1 else list(values)

    return {
        "stride": pad(stride, 1),
        "pre_padding": pad(before, 0),
        "post_padding": pad(after, 0),
        "num_groups": node.attr("group", 1),
        "dilation": pad(dilation, 1) if any(d != 1 for d in dilation) else None,
    }


def _transposed_pads(
    node: Node, window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Padding that gives the result the size that `output_shape`, `auto_pad` or `output_padding` ask for."""
    spatial = len(window)
    extra = _ints(node, "output_padding", 0, spatial)
    mode = node.attr("auto_pad", "NOTSET")
    wanted = node.attr("output_shape")
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        sizes = shape_of(node[0])[2:]
        if None in sizes:
            raise Refused(f"auto_pad = {mode} on a dynamic dimension")
        wanted = [(d or 0) * s for d, s in zip(sizes, stride, strict=True)]
    if wanted is None:
        pads = [0] * (2 * spatial) if mode == "VALID" else _ints(node, "pads", 0, 2 * spatial)
        before, after = pads[:spatial], pads[spatial:]
        after = [p - e for p, e in zip(after, extra, strict=True)]
    else:
        before, after = [], []
        sizes = shape_of(node[0])[2:]
        for size, k, s, d, e, out in zip(
            sizes, window, stride, dilation, extra, wanted[-spatial:], strict=True
        ):
            if size is None:
                raise Refused("output_shape on a dynamic dimension")
            total = s * (size - 1) + e + d * (k - 1) + 1 - out
            large = total - total // 2
            # ONNX gives the larger half to the end for SAME_UPPER, to the beginning otherwise.
            first = total // 2 if mode == "SAME_UPPER" else large
            before.append(first)
            after.append(total - first - e)
    if any(p < 0 for p in before):
        raise Refused("negative padding")
    return before, after


def _layer(
    emit: Emitter,
    name: str,
    keys: tuple[str, str],
    tensors: tuple[ir.Value, ir.Value, ir.Value | None],
    attributes: dict[str, Any],
) -> ir.Value:
    """The layer, with constant weights as attributes and others as operands."""
    x, kernel, bias = tensors
    flat = rank_of(x) == 3
    if rank_of(x) not in (3, 4, 5):
        raise Refused(f"{rank_of(x) - 2} spatial dimensions; {name} takes two or three")
    if flat:
        x = with_height(emit, x)
    kernel_array = emit.array(kernel)
    operands: list[ir.Value | None] = [x, None, None]
    if kernel_array is not None:
        dims = tuple(kernel_array.shape)
        attributes[f"{keys[0]}Static"] = emit.elements_attribute(
            kernel, (*dims[:2], 1, *dims[2:]) if flat else None
        )
    else:
        operands[1] = with_height(emit, kernel) if flat else kernel
    if bias is not None:
        static = emit.elements_attribute(bias)
        if static is not None:
            attributes[f"{keys[1]}Static"] = static
        else:
            operands[2] = bias
    result = emit.type(_dims(x, kernel, flat, name, attributes), element(x))
    made = emit.op(name, operands, attributes, result)
    return emit.squeeze(made, [2]) if flat else made


def _dims(
    x: ir.Value, kernel: ir.Value, flat: bool, name: str, attributes: Mapping[str, Any]
) -> list[int | None]:
    """The dimensions of the layer's result."""
    sizes, window = shape_of(x), [*([1] if flat else []), *shape_of(kernel)[2:]]
    dilation = attributes["dilation"] or [1] * len(window)
    dims: list[int | None] = []
    for axis, k in enumerate(window):
        size = sizes[axis + 2]
        stride = attributes["stride"][axis]
        pad = attributes["pre_padding"][axis] + attributes["post_padding"][axis]
        if size is None or k is None:
            dims.append(None)
        elif name == "convolution":
            dims.append((size + pad - dilation[axis] * (k - 1) - 1) // stride + 1)
        else:
            dims.append((size - 1) * stride - pad + dilation[axis] * (k - 1) + 1)
    maps = shape_of(kernel)
    channels = (
        maps[0] if name == "convolution" else None if maps[1] is None else maps[1] * attributes["num_groups"]
    )
    return [sizes[0], channels, *dims]
