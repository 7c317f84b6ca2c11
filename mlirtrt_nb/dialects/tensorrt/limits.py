"""What the TensorRT builder takes of an op that the dialect allows: element types, ranks, attribute values.

One table for the passes, which leave an op out of an engine rather than let a build fail, and for the
builder's own messages. The entries were found by building a network of one layer for each combination.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op

__all__ = ["MAX_K", "MAX_RANK", "refusal"]

MAX_RANK = 8
MAX_K = 3840
# What the dedicated kernels of attention take, in f16 and bf16.
_LEAST_HEAD, _LARGEST_HEAD = 9, 256

_FLOATS = frozenset({"f32", "f16", "bf16"})
_NUMBERS = _FLOATS | {"i8", "i32", "i64"}
_WITH_BOOL = _NUMBERS | {"i1"}
_WIDE = _FLOATS | {"i32", "i64"}
_SMALL_FLOATS = _FLOATS | {"i8"}
_BOOL = frozenset({"i1"})
_QUANTIZED = frozenset({"i8", "i4", "f8E4M3FN", "f4E2M1FN"})

_UNARY = {
    **dict.fromkeys(("kABS", "kNEG", "kSIGN"), _NUMBERS),
    "kRECIP": _SMALL_FLOATS,
    "kERF": _SMALL_FLOATS,
    "kNOT": _BOOL,
}
_ELEMENT_WISE = {
    **dict.fromkeys(("kAND", "kOR", "kXOR"), _BOOL),
    "kEQUAL": _WITH_BOOL,
    "kPOW": _WIDE,
}
_ACTIVATION = {
    "kRELU": _NUMBERS,
    **dict.fromkeys(("kLEAKY_RELU", "kSOFTSIGN", "kCLIP", "kHARD_SIGMOID", "kTHRESHOLDED_RELU"), _SMALL_FLOATS),
}
_REDUCE = {"kAVG": _WIDE}
_COLLECTIVE = {"kALL_REDUCE": _WITH_BOOL}

_MOVED = _WITH_BOOL | {"i4", "f8E4M3FN"}

# By op, the element types of its first operand, where no attribute bears on them.
_TYPES = {
    **dict.fromkeys(
        (
            "softmax",
            "scale",
            "matrix_multiply",
            "einsum",
            "grid_sample",
            "convolution",
            "attention",
            "rotary_embedding",
            "quantize",
            "lstm",
            "gru",
            "rnn",
        ),
        _FLOATS,
    ),
    "deconvolution": frozenset({"f32", "f16"}),
    "linspace": frozenset({"f32", "i32", "i64"}),
    **dict.fromkeys(("random_uniform", "random_normal"), frozenset({"f32", "f16"})),
    **dict.fromkeys(
        (
            "normalization",
            "lrn",
            "parametric_relu",
            "resize_nearest",
            "resize_linear",
            "resize_cubic",
            "padding",
        ),
        _SMALL_FLOATS,
    ),
    "pooling": _SMALL_FLOATS,
    "cumulative": _WIDE,
    "top_k": _NUMBERS,
    "argmin": _NUMBERS,
    "argmax": _NUMBERS,
    **dict.fromkeys(
        (
            "gather",
            "gather_nd",
            "gather_elements",
            "scatter_nd",
            "scatter_elements",
            "slice",
            "broadcast",
            "reverse_sequence",
        ),
        _WITH_BOOL,
    ),
    **dict.fromkeys(
        ("shuffle", "reshape", "transpose", "expand_rank", "collapse_rank", "concatenation"), _MOVED
    ),
    **dict.fromkeys(("squeeze", "unsqueeze"), _WITH_BOOL | {"ui8"}),
    **dict.fromkeys(("cast", "identity"), _WITH_BOOL | {"ui8"}),
    "dequantize": _QUANTIZED,
    "select": _WITH_BOOL,
}
# The element types of everything that has no entry.
_ANY = _WITH_BOOL | _QUANTIZED | {"ui8", "f8E8M0FNU"}
# Layers that the network has and the ahead-of-time builder implements on no target.
_UNIMPLEMENTED = frozenset({"non_zero", "nms", "moe"})
# What runs an engine stands outside of it.
_CALLS = frozenset({"call", "call_alloc"})
# Fills are made from a shape; what counts is the element type that they fill with.
_FILLS = frozenset({"linspace", "random_uniform", "random_normal"})


def refusal(operation: ir.Operation) -> str | None:
    """Why the builder would refuse a tensorrt op, in words for users; None if it takes it."""
    dialect, _, kind = operation.name.partition(".")
    if dialect != "tensorrt":
        return None
    if kind in _CALLS:
        return None
    if kind in _UNIMPLEMENTED:
        return f"the builder implements no {kind} layer"
    return (
        _ranks(operation)
        or _elements(operation, kind)
        or _constants(operation, kind)
        or _bytes(operation)
        or _rest(operation, kind)
    )


def _ranks(operation: ir.Operation) -> str | None:
    for value in (*operation.operands, *operation.results):
        rank = getattr(value.type, "rank", 0)
        if rank > MAX_RANK:
            return f"rank {rank}; TensorRT has at most {MAX_RANK} dimensions"
    return None


def _elements(operation: ir.Operation, kind: str) -> str | None:
    typed = operation.results if kind in _FILLS else operation.operands
    if not len(typed):
        return None
    spelling = str(typed[1 if kind == "select" else 0].type.element_type)
    attribute = _BY_ATTRIBUTE.get(kind)
    value = ""
    if attribute is not None:
        value = _enum_value(operation.attributes[attribute[0]])
        allowed = attribute[1].get(value, attribute[2])
    else:
        allowed = _TYPES.get(kind, _ANY)
    if spelling in allowed:
        return None
    return f"element type {spelling} in {f'{kind} {value}'.rstrip()}; it takes {', '.join(sorted(allowed))}"


@lru_cache(maxsize=512)
def _enum_text(text: str) -> str:
    return text.partition('"')[2].partition('"')[0]


def _enum_value(attribute: ir.Attribute) -> str:
    """The spelling of an enum attribute ("kRELU")."""
    return _enum_text(str(attribute))


_BY_ATTRIBUTE: dict[str, tuple[str, dict[str, frozenset[str]], frozenset[str]]] = {
    "unary": ("unaryOperation", _UNARY, _FLOATS),
    "element_wise": ("elementwiseOperation", _ELEMENT_WISE, _NUMBERS),
    "activation": ("activationType", _ACTIVATION, _FLOATS),
    "reduce": ("reduceOperation", _REDUCE, _NUMBERS),
    "dist_collective": ("collectiveOperation", _COLLECTIVE, frozenset({"f32", "f16", "i32", "i1"})),
}


def _constants(operation: ir.Operation, kind: str) -> str | None:
    """8-bit and smaller constants may only go into a dequantize."""
    if kind in ("dequantize", "convolution", "deconvolution"):
        return None
    for value in operation.operands:
        owner = value.owner
        if isinstance(owner, ir.OpView | ir.Operation) and owner.name == "tensorrt.constant":
            spelling = str(value.type.element_type)
            if spelling in _QUANTIZED or spelling == "ui8":
                return f"a constant of element type {spelling} outside quantization"
    return None


def _bytes(operation: ir.Operation) -> str | None:
    """Bytes without a sign may only come from outside an engine, and go there."""
    for value in operation.operands:
        if str(getattr(value.type, "element_type", "")) != "ui8":
            continue
        owner = value.owner
        outside = isinstance(owner, ir.Block) or not owner.name.startswith("tensorrt.")
        if not outside and "plan.fallback" not in owner.attributes:
            return "a value of element type ui8 inside an engine; TensorRT has it at inputs and outputs only"
    return None


def _rest(operation: ir.Operation, kind: str) -> str | None:
    check = _CHECKS.get(kind)
    return check(Op.of(operation)) if check else None


def _least_rank(least: int) -> Callable[[Op], str | None]:
    def check(op: Op) -> str | None:
        rank = op.type("input").rank
        return (
            f"rank {rank}; {op.definition.mnemonic} takes {least} dimensions or more" if rank < least else None
        )

    return check


def _top_k(op: Op) -> str | None:
    k = op.attr("k")
    if k is not None and k > MAX_K:
        return f"k = {k}; TensorRT has at most {MAX_K}"
    return _least_rank(2)(op)


def _reduce(op: Op) -> str | None:
    return None if op.attr("reduceAxes") else "a reduction over no axes"


def _pooling(op: Op) -> str | None:
    rank = op.type("input").rank
    if rank not in (4, 5):
        return f"rank {rank}; pooling takes two or three spatial dimensions"
    if rank == 5 and str(op.type("input").element_type) == "i8":
        return "element type i8 in pooling over three dimensions"
    pads = zip(op.attr("windowSize"), op.attr("prePadding"), op.attr("postPadding"), strict=True)
    if any(pre >= window or post >= window for window, pre, post in pads):
        return "padding as large as the pooling window"
    return None


def _windowed(op: Op) -> str | None:
    rank = op.type("input").rank
    if rank not in (4, 5):
        return f"rank {rank}; {op.definition.mnemonic} takes two or three spatial dimensions"
    if any(pad < 0 for pad in (*op.attr("pre_padding"), *op.attr("post_padding"))):
        return "negative padding"
    return None


def _lrn(op: Op) -> str | None:
    size = op.attr("windowSize")
    if not (size % 2 and 1 <= size <= 15):
        return f"a window of {size}; it takes odd ones from 1 to 15"
    return _least_rank(4)(op)


def _in_body(op: Op) -> bool:
    """Whether the op stands in a branch or a loop."""
    parent = op.operation.parent
    return parent is not None and parent.operation.name.startswith("tensorrt.")


def _kv_cache_update(op: Op) -> str | None:
    owner = op.group("cache")[0].owner
    outside = isinstance(owner, ir.Block) or not owner.name.startswith("tensorrt.")
    if _in_body(op) or not (outside or "plan.fallback" in owner.attributes):
        return "a cache that is computed in the engine; it must be an input"
    return None


def _attention(op: Op) -> str | None:
    if _in_body(op):
        return "attention in a branch or a loop"
    query, key, value = op.type("query"), op.type("key"), op.type("value")
    if not shapes.compatible(key.shape[-1:], value.shape[-1:]):
        return f"key {key} and value {value}; their last dimensions must be equal"
    if op.attr("decomposable"):
        return None
    if str(query.element_type) == "f32":
        return "element type f32 in attention that is not decomposable"
    width = query.shape[-1]
    if width > 0 and not _LEAST_HEAD <= width <= _LARGEST_HEAD:
        return (
            f"a head dimension of {width} in attention that is not decomposable; it takes {_LEAST_HEAD} "
            f"to {_LARGEST_HEAD}"
        )
    return None


def _normalization(op: Op) -> str | None:
    scale, groups = op.type("scale"), op.attr("num_groups")
    channels = op.type("input").shape[1] if op.type("input").rank > 1 else 1
    if groups not in (None, 1) and scale.shape[1] > 0 and scale.shape[1] != channels > 0:
        return f"scale {scale} in normalization of {groups} groups; it has one value per channel"
    return None


_CHECKS: dict[str, Callable[[Op], str | None]] = {
    "softmax": _least_rank(2),
    "scale": _least_rank(3),
    "top_k": _top_k,
    "argmin": _least_rank(2),
    "argmax": _least_rank(2),
    "reduce": _reduce,
    "pooling": _pooling,
    "convolution": _windowed,
    "deconvolution": _windowed,
    "lrn": _lrn,
    "attention": _attention,
    "kv_cache_update": _kv_cache_update,
    "normalization": _normalization,
}
