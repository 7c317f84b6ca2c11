"""The default exceptions: ops that lose too much in a small type, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from torch_mlir import ir

from ...ir import dtypes, shapes
from ...ir.builder import Op
from ...ir.constants import value_of
from ...program import Program
from ..clustering.values import nested
from ..tensorrt.matching import kind_of, maker
from .marks import kept_type, mark, mark_weights
from .operands import Product, is_move, products, static_kernel

__all__ = ["LARGE_SUM", "mark_depthwise", "mark_ends", "mark_floating", "mark_pooled", "mark_shallow"]

# A sum of more values than this is done in the higher precision: fp16 has 11 bits, which as many terms use up.
LARGE_SUM = 1024

_MAGNIFYING = {"kEXP", "kLOG", "kSINH", "kCOSH", "kPOW"}
_SUMS = {"kSUM", "kAVG", "kPROD"}
_ARITHMETIC = {"tensorrt.element_wise", "tensorrt.unary"}
# Through these, numbers made from integers stay sizes, positions or masks.
_FOLLOWED = frozenset(
    {*_ARITHMETIC, "tensorrt.select", "tensorrt.activation", "tensorrt.concatenation", "tensorrt.cast"}
)
# An engine has a layer of its own to round what an 8-bit convolution gives, which costs the reading and writing
# of its 32-bit sums: a convolution that sums up fewer values than this gains less than that.
_SHALLOW = 64
_ACTIVATION = "tensorrt.activation"
_POOLED_WEIGHTS = 1 << 20  # up to so many weights are read in less time than two more layers take
_CHAIN = 8  # ops between a root and the mean that it is the root of


def mark_floating(program: Program, low: str, wide: str = "f32") -> None:
    """Mark the ops that are to be computed in `wide` where the rest is in `low` (f16 or bf16)."""
    whole = [op for view in program.module.body.operations for op in nested(view.operation)]
    tensorrt = [op for op in whole if op.name.startswith("tensorrt.")]
    _mark_integers(tensorrt, wide)
    for operation in tensorrt:
        if not any(_is_f32(value) for value in (*operation.operands, *operation.results)):
            continue  # integers, and what a model has in another type itself
        reason = _reason(operation) or _beyond(operation, program.weights, low)
        if reason is not None:
            mark(operation, wide, reason)
        if kind_of(operation) in ("kSQRT", "kRECIP") and operation.name == "tensorrt.unary":
            _mark_statistics(operation, wide)


def _reason(operation: ir.Operation) -> str | None:
    name = operation.name.removeprefix("tensorrt.")
    if name in ("softmax", "ragged_softmax"):
        return "softmax sums exponentials"
    if name in ("unary", "element_wise") and kind_of(operation) in _MAGNIFYING:
        return f"{kind_of(operation)[1:].lower()} magnifies rounding errors"
    if name == "cumulative":
        return "a running sum adds up rounding errors"
    if name == "reduce" and kind_of(operation) in _SUMS:
        count = _reduced(operation)
        if count is None:
            return "a sum over a dimension that is not known"
        if count > LARGE_SUM:
            return f"a sum of {count} values"
    return None


def _reduced(operation: ir.Operation) -> int | None:
    """How many values go into one result; None if that varies."""
    shape = ir.RankedTensorType(operation.operands[0].type).shape
    sizes = [shape[axis] for axis in Op.of(operation).attr("reduceAxes")]
    return None if shapes.DYNAMIC in sizes else int(np.prod(sizes, dtype=np.int64))


def _beyond(operation: ir.Operation, weights: Mapping[str, np.ndarray], low: str) -> str | None:
    """Whether an operand is a constant that `low` cannot hold: its finite values would become infinite."""
    if low == "bf16" or operation.name == "tensorrt.constant":
        return None
    for value in operation.operands:
        held = maker(value, "constant")
        if held is None or not _is_f32(value):
            continue
        array = value_of(held.attributes["weights"], weights)  # type: ignore[arg-type]
        largest = largest_finite(array)
        if largest > float(np.finfo(np.float16).max):
            return f"a constant of {largest:.3g}, beyond fp16"
    return None


def largest_finite(array: np.ndarray) -> float:
    """The largest magnitude among the finite values; 0 if there are none."""
    if not array.size:
        return 0.0
    top = float(max(array.max(), -array.min()))
    if np.isfinite(top):
        return top
    finite = array[np.isfinite(array)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def _is_f32(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and str(value.type.element_type) == "f32"


def _mark_statistics(root: ir.Operation, wide: str) -> None:
    """Mark a root or reciprocal with all between it and the mean or sum that it is taken of."""
    chain: list[ir.Operation] = []
    current: ir.Operation | None = root
    while current is not None and len(chain) < _CHAIN:
        chain.append(current)
        if current.name == "tensorrt.reduce":
            squares = _maker_of(current, _ARITHMETIC)
            for operation in (*chain, *([squares] if squares is not None else [])):
                mark(operation, wide, "statistics of a normalization")
            return
        current = _maker_of(current, {*_ARITHMETIC, "tensorrt.reduce"})


def _maker_of(operation: ir.Operation, names: set[str]) -> ir.Operation | None:
    """The op of one of these names that makes an operand."""
    for value in operation.operands:
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.operation.name in names:
            return owner.operation
    return None


def _mark_integers(tensorrt: list[ir.Operation], wide: str) -> None:
    """Mark what is computed from integers alone, and what is only rounded to integers again."""
    from_integers: set[ir.Value] = set()
    for operation in tensorrt:
        if _is_from_integers(operation, from_integers):
            from_integers.update(operation.results)
            mark(operation, wide, "computed from integers: sizes, positions or a mask")
    to_integers: set[ir.Operation] = set()
    for operation in reversed(tensorrt):
        if _is_to_integers(operation, to_integers):
            to_integers.add(operation)
            if operation.name != "tensorrt.cast":
                mark(operation, wide, "its results become integers")


def _is_from_integers(operation: ir.Operation, known: set[ir.Value]) -> bool:
    if not any(_is_f32(result) for result in operation.results):
        return False
    if operation.name == "tensorrt.linspace":
        return True
    if operation.name == "tensorrt.cast":
        element = str(operation.operands[0].type.element_type)
        return operation.operands[0] in known or dtypes.by_mlir(element).np.kind in "iub"
    if operation.name not in _FOLLOWED and not is_move(operation):
        return False
    read = [value for value in operation.operands if _is_f32(value) and maker(value, "constant") is None]
    return bool(read) and all(value in known for value in read)


def _is_to_integers(operation: ir.Operation, known: set[ir.Operation]) -> bool:
    if operation.name == "tensorrt.cast":
        element = str(operation.results[0].type.element_type)
        return _is_f32(operation.operands[0]) and dtypes.by_mlir(element).np.kind in "iu"
    if operation.name not in _FOLLOWED and not is_move(operation):
        return False
    readers = [use.owner.operation for result in operation.results for use in result.uses]
    floats = any(_is_f32(result) for result in operation.results)
    return floats and bool(readers) and all(reader in known for reader in readers)


def mark_ends(program: Program, rest: str, weights: str | None) -> None:
    """Mark the first and the last layers, to be left in `rest`; of the last, products have weights of type
    `weights`: an engine widens them as it multiplies, but those of a convolution in a layer of their own. What
    is marked already stays so, weights too."""
    listed = [product for product in products(program) if product.weight is not None]
    if len(listed) < 2:
        return
    first, last = _ends(listed)
    for product in last:
        if kept_type(product.operation) is not None:
            continue
        stores = weights is not None and not product.is_convolution
        stored = "; its weights are quantized all the same" if stores else ""
        mark(product.operation, rest, f"last layer: its results are the answer{stored}")
        if weights is not None and stores:
            mark_weights(product.operation, weights)
    for product in first:
        mark(product.operation, rest, "first layer: it reads the input itself")


def mark_depthwise(program: Program, rest: str) -> None:
    """Mark convolutions with one input channel per output: on mobile networks they make most of the error."""
    for product in products(program):
        if product.is_convolution and product.weight is not None and _channels_in(product.operation) == 1:
            mark(product.operation, rest, "a depthwise convolution: few weights, and much error")


def mark_pooled(program: Program, rest: str) -> None:
    """Mark small convolutions of a single position, as in squeeze-and-excitation: an engine has a layer more
    for each rounding around them, and they are a small part of the arithmetic."""
    for product in products(program):
        kernel = _kernel_shape(product)
        if kernel is None or int(np.prod(kernel)) > _POOLED_WEIGHTS:
            continue
        sizes = ir.RankedTensorType(product.operation.operands[product.activation].type).shape[2:]
        if all(size == 1 for size in sizes):
            mark(product.operation, rest, "a small convolution of one position")


def mark_shallow(program: Program, rest: str) -> None:
    """Mark convolutions that sum up few values: an engine has a layer more for rounding their results, but for
    those that are joined with others, whose layer does it for all of them. The limit comes from counting
    layers, not from times."""
    for product in products(program):
        kernel = _kernel_shape(product)
        if kernel is None or _is_joined(product.operation):
            continue
        count = int(np.prod(kernel)) // kernel[product.channel]
        if count < _SHALLOW:
            mark(product.operation, rest, f"sums of only {count} values: rounding them is a layer more")


def _is_joined(operation: ir.Operation) -> bool:
    """Whether a concatenation reads the result of an op, or of the activation after it."""
    readers = [use.owner.operation for use in operation.results[0].uses]
    after = [use.owner.operation for op in readers if op.name == _ACTIVATION for use in op.results[0].uses]
    return any(op.name == "tensorrt.concatenation" for op in (*readers, *after))


def _kernel_shape(product: Product) -> list[int] | None:
    """The shape of the constant kernel of a convolution; None for a product, and for any other kernel."""
    if not product.is_convolution or product.weight is None:
        return None
    if len(product.operation.operands) > product.weight and product.constant is not None:
        return list(ir.RankedTensorType(product.constant.results[0].type).shape)
    kernel = static_kernel(product.operation)
    return None if kernel is None else list(ir.RankedTensorType(kernel.type).shape)


def _channels_in(convolution: ir.Operation) -> int:
    """How many input channels each output channel of a grouped convolution reads; 0 without groups."""
    groups = int(Op.of(convolution).attr("num_groups") or 1)
    channels = ir.RankedTensorType(convolution.operands[0].type).shape[1]
    return 0 if groups == 1 or channels == shapes.DYNAMIC else channels // groups


def _ends(listed: list[Product]) -> tuple[list[Product], list[Product]]:
    """The products that read a floating-point input and that no other one feeds; and those that feed none."""
    known = {product.operation for product in listed}
    first = [p for p in listed if not any(op in known for op in _before(p.operation)) and _reads_input(p)]
    fed: set[ir.Operation] = set()
    for product in listed:
        fed.update(op for op in _before(product.operation) if op in known)
    return first, [product for product in listed if product.operation not in fed]


def _before(operation: ir.Operation) -> Iterator[ir.Operation]:
    """The ops that an op depends on, up to and with the first products on each way."""
    seen: set[ir.Operation] = set()
    rest = [operation]
    while rest:
        for value in rest.pop().operands:
            if isinstance(value.owner, ir.Block):
                continue
            source = value.owner.operation
            if source not in seen:
                seen.add(source)
                yield source
                if source.name not in _PRODUCTS:
                    rest.append(source)


_PRODUCTS = ("tensorrt.convolution", "tensorrt.deconvolution", "tensorrt.matrix_multiply")


def _reads_input(product: Product) -> bool:
    """Whether a floating-point argument of the function reaches the product."""
    sources = [product.operation, *_before(product.operation)]
    return any(isinstance(v.owner, ir.Block) and _is_float(v) for op in sources for v in op.operands)


def _is_float(value: ir.Value) -> bool:
    """Whether a value is of floating-point numbers: arguments keep the type that the model gives them."""
    kind = value.type
    return isinstance(kind, ir.RankedTensorType) and str(kind.element_type) in ("f32", "f16", "bf16")
