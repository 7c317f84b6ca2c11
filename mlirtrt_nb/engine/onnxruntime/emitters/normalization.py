"""softmax, ragged_softmax, normalization and lrn."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Constant, Scope
from .dims import dims_of, range_to, reshape, shape_i64, size_of
from .registry import emits

__all__: list[str] = []

_EPS = 1e-5
_END = 2**63 - 1


@emits("softmax")
def softmax(op: Op, scope: Scope) -> None:
    name = scope.tensor(op.operand("input"))
    scope.set(op.operation.results[0], scope.op("Softmax", [name], axis=op.attr("axis")))


@emits("ragged_softmax")
def ragged_softmax(op: Op, scope: Scope) -> None:
    """Softmax over the first `bounds` elements of each row; zero beyond them."""
    x = scope.tensor(op.operand("input"))
    places = range_to(scope, size_of(scope, x, 2))
    inside = scope.op("Less", [places, scope.cast(scope.tensor(op.operand("bounds")), "i64")])
    masked = scope.op("Where", [inside, x, scope.like(float("-inf"), x)])
    scores = scope.op("Softmax", [masked], axis=2)
    scope.set(op.operation.results[0], scope.op("Where", [inside, scores, scope.like(0, x)]))


@emits("lrn")
def lrn(op: Op, scope: Scope) -> None:
    name, rank = scope.tensor(op.operand("input")), op.type("input").rank
    # Two spatial dimensions; which they are does not matter.
    image = name if rank == 4 else reshape(scope, name, [0, 0, -1, 1])
    made = _by_roots(op, scope, scope.cast(image, "f32"))
    if made is None:
        attributes = {"size": op.attr("windowSize"), "alpha": op.attr("alpha"), "beta": op.attr("beta")}
        made = scope.op("LRN", [image], bias=op.attr("k"), **attributes)
    made = made if rank == 4 else scope.op("Reshape", [made, scope.op("Shape", [name])])
    scope.set(op.operation.results[0], made)


def _by_roots(op: Op, scope: Scope, x: str) -> str | None:
    """x / (k + alpha * mean of squares over some channels) ** beta; None where beta takes more than roots.

    ONNX Runtime's kernel raises each number to a power by itself: this takes a third of its time or less.
    """
    beta, size = op.attr("beta"), op.attr("windowSize")
    if beta not in (0.5, 0.75, 1.0):
        return None
    around = [0, size // 2, 0, 0] * 2
    squares = scope.op("Pad", [scope.op("Mul", [x, x]), scope.literal(around)])
    sums = _window_sums(scope, squares, size)
    weighted = scope.op("Mul", [sums, scope.like(op.attr("alpha") / size, x)])
    power = scope.op("Add", [weighted, scope.like(op.attr("k"), x)])
    if beta != 1.0:
        root = scope.op("Sqrt", [power])
        power = root if beta == 0.5 else scope.op("Mul", [root, scope.op("Sqrt", [root])])
    return scope.op("Div", [x, power])


def _window_sums(scope: Scope, x: str, size: int) -> str:
    """The sums of `size` neighbours along dimension 1, which becomes shorter by one less than that: sums of 1,
    2, 4, ... are made of each other, and those of the right lengths put together."""

    def cut(name: str, start: int, end: int) -> str:
        return scope.op("Slice", [name, *(scope.literal([n]) for n in (start, end, 1))])

    sums, done = "", 0
    part, length = x, 1
    while True:
        if size & length:
            sums = scope.op("Add", [cut(sums, 0, -length), cut(part, done, _END)]) if done else part
            done += length
        if done == size:
            return sums
        part, length = scope.op("Add", [cut(part, 0, -length), cut(part, length, _END)]), 2 * length


@emits("normalization")
def normalization(op: Op, scope: Scope) -> None:
    groups = op.attr("num_groups") or 1
    axes, rank = list(op.attr("axis")), op.type("input").rank
    eps = op.attr("eps")
    eps = _EPS if eps is None else eps
    scale = dims_of(op.operand("scale"))
    spatial = axes == list(range(2, rank))
    per_channel = scale[0] == 1 and all(n == 1 for n in scale[2:])
    result = op.operation.results[0]
    if groups > 1:
        scope.set(result, _group_norm(op, scope, groups, eps))
    elif _is_layer_norm(op, axes):
        scope.set(result, _layer_norm(op, scope, axes, eps))
    elif spatial and per_channel and scale[1] != 1 and dims_of(op.operand("input"))[1] == scale[1]:
        factors = [_flat(scope, op.operand(n)) for n in ("scale", "bias")]
        x = scope.tensor(op.operand("input"))
        scope.set(result, scope.op("InstanceNormalization", [x, *factors], epsilon=eps))
    else:
        scope.set(result, _by_hand(op, scope, axes, eps))


def _flat(scope: Scope, value: ir.Value) -> str:
    found = scope.constant(value)
    return scope.initializer(found.reshaped([-1])) if found else reshape(scope, scope.tensor(value), [-1])


def _is_layer_norm(op: Op, axes: list[int]) -> bool:
    """Trailing axes, with scale and bias constant along the others and of full length along these."""
    rank = op.type("input").rank
    if not axes or axes != list(range(axes[0], rank)):
        return False
    shape = dims_of(op.operand("input"))
    for name in ("scale", "bias"):
        dims = dims_of(op.operand(name))
        if any(n != 1 for n in dims[: axes[0]]) or dims[axes[0] :] != shape[axes[0] :] or -1 in dims:
            return False
    return True


def _layer_norm(op: Op, scope: Scope, axes: list[int], eps: float) -> str:
    shape = dims_of(op.operand("scale"))[axes[0] :]
    factors = []
    for name in ("scale", "bias"):
        value = op.operand(name)
        found = scope.constant(value)
        factors.append(scope.tensor(value, shape) if found else reshape(scope, scope.tensor(value), shape))
    x = scope.tensor(op.operand("input"))
    return scope.ops("LayerNormalization", [x, *factors], 1, axis=axes[0] - op.type("input").rank, epsilon=eps)[
        0
    ]


def _group_norm(op: Op, scope: Scope, groups: int, eps: float) -> str:
    """Each group of channels normalized as one channel, then scale and bias per group or per channel."""
    x = scope.tensor(op.operand("input"))
    kind = scope.dtype(x)
    ones = scope.initializer(Constant(np.ones(groups, np.float32)))
    zeros = scope.initializer(Constant(np.zeros(groups, np.float32)))
    rows = reshape(scope, x, [0, groups, -1])
    plain = scope.op(
        "InstanceNormalization", [rows, *(scope.cast(n, kind) for n in (ones, zeros))], epsilon=eps
    )
    per_group = dims_of(op.operand("scale"))[1] == groups != dims_of(op.operand("input"))[1]
    whole = None if per_group else reshape(scope, plain, shape_i64(scope, x))
    if whole is None:
        factors = [reshape(scope, scope.tensor(op.operand(n)), [1, groups, 1]) for n in ("scale", "bias")]
        scaled = scope.op("Add", [scope.op("Mul", [plain, factors[0]]), factors[1]])
        return reshape(scope, scaled, shape_i64(scope, x))
    scaled = scope.op("Mul", [whole, scope.trailing(op.operand("scale"))])
    return scope.op("Add", [scaled, scope.trailing(op.operand("bias"))])


def _by_hand(op: Op, scope: Scope, axes: list[int], eps: float) -> str:
    x = scope.tensor(op.operand("input"))
    over = scope.literal(axes)
    centred = scope.op("Sub", [x, scope.op("ReduceMean", [x, over])])
    variance = scope.op("ReduceMean", [scope.op("Mul", [centred, centred]), over])
    deviation = scope.op("Sqrt", [scope.op("Add", [variance, scope.like(eps, x)])])
    scaled = scope.op("Mul", [scope.op("Div", [centred, deviation]), scope.trailing(op.operand("scale"))])
    return scope.op("Add", [scaled, scope.trailing(op.operand("bias"))])
