"""fold-batch-norm: let convolutions take over the scales and shifts per channel that follow them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...program import Program
from ..base import Pass, PassContext, option, register
from ..firing import report

if TYPE_CHECKING:
    from torch_mlir import ir

    from ...ir.builder import Op

__all__ = ["FoldBatchNorm"]


@register
class FoldBatchNorm(Pass):
    """Fold BatchNormalization (inference mode), and Mul, Add, Sub and Div by one constant per channel, into
    the weights and bias of the Conv, ConvTranspose or Gemm before them, or into the BatchNormalization before
    them. Scales are computed in double precision."""

    name = "fold-batch-norm"
    phase = "input"

    arithmetic: bool = option(True, "also fold Mul, Add, Sub and Div by constants")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from .rewriting import erase_dead, functions

        with program.context, ir.Location.unknown():
            for function in functions(program):
                _Folder(program, self.arithmetic).run(function)
                erase_dead(function)


@dataclass
class _Affine:
    """y = scale * x + shift, per channel, in float64; each of C elements, or of one for all channels."""

    scale: np.ndarray
    shift: np.ndarray

    def then(self, after: _Affine) -> _Affine:
        return _Affine(self.scale * after.scale, self.shift * after.scale + after.shift)


class _Folder:
    def __init__(self, program: Program, arithmetic: bool) -> None:
        self._weights = program.weights
        self._arithmetic = arithmetic

    def run(self, operation: ir.Operation) -> None:
        for region in operation.regions:
            for block in region.blocks:
                for op in list(block.operations):
                    if len(op.operation.regions):
                        self.run(op.operation)
                    elif op.operation.name in _ABSORBERS:
                        self._absorb(op.operation)

    def _absorb(self, operation: ir.Operation) -> None:
        """Fold the chain of ops per channel that starts at the op's result."""
        from .rewriting import fused

        channels = self._channels(operation)
        if channels is None:
            return
        total, last, chain = None, operation, [operation]
        while True:
            step = self._next(last, channels)
            if step is None:
                break
            following, affine = step
            total = affine if total is None else total.then(affine)
            last = following
            chain.append(following)
        if total is None or not self._apply(operation, total, channels):
            return
        for folded in chain[1:]:
            report(folded)
        operation.location = fused(*chain)
        last.results[0].replace_all_uses_with(operation.results[0])

    # Reading ---------------------------------------------------------------------------------------

    def _known(self, value: ir.Value) -> np.ndarray | None:
        from ...dialects.onnx.ops import constant_value

        array = constant_value(value, self._weights)
        return array if array is not None and array.dtype.kind == "f" else None

    def _channels(self, operation: ir.Operation) -> int | None:
        """How many channels the op gives, if its parameters are constants that can be changed."""
        from ...ir.builder import Op

        op = Op.of(operation)
        weight = self._known(operation.operands[1])
        if weight is None or weight.ndim < (1 if operation.name == "onnx.batchnormalization" else 2):
            return None
        if operation.name == "onnx.conv":
            return weight.shape[0]
        if operation.name == "onnx.convtranspose":
            return weight.shape[1] * (op.attr("group") or 1)
        if operation.name == "onnx.gemm":
            return weight.shape[0 if op.attr("transB") else 1]
        return weight.shape[0] if _batch_norm(self, operation) is not None else None

    def _next(self, operation: ir.Operation, channels: int) -> tuple[ir.Operation, _Affine] | None:
        """The only reader of the op's result and what it does per channel, if that is all it does."""
        from .rewriting import has_uses, only_user

        results = list(operation.results)
        user = only_user(results[0])
        if user is None or any(has_uses(result) for result in results[1:]):
            return None
        if user.block != operation.block:
            return None
        if user.name == "onnx.batchnormalization":
            same = user.operands[0] == results[0] and not any(has_uses(r) for r in list(user.results)[1:])
            affine = _batch_norm(self, user) if same else None
        else:
            affine = self._constant_affine(user, results[0], channels) if self._arithmetic else None
        if affine is None or affine.scale.size not in (1, channels) or affine.shift.size not in (1, channels):
            return None
        return user, affine

    def _constant_affine(self, user: ir.Operation, value: ir.Value, channels: int) -> _Affine | None:
        if user.name not in _ARITHMETIC or user.results[0].type != value.type:
            return None
        operands = list(user.operands)
        position = 0 if operands[0] == value else 1
        if position == 1 and user.name in ("onnx.sub", "onnx.div"):
            return None
        constant = self._known(operands[1 - position])
        per_channel = None if constant is None else _per_channel(constant, value.type, channels)
        if per_channel is None:
            return None
        one, zero = np.ones(1), np.zeros(1)
        if user.name == "onnx.mul":
            return _Affine(per_channel, zero)
        if user.name == "onnx.div":
            return _Affine(1 / per_channel, zero) if per_channel.all() else None
        return _Affine(one, per_channel if user.name == "onnx.add" else -per_channel)

    # Writing ---------------------------------------------------------------------------------------

    def _apply(self, operation: ir.Operation, affine: _Affine, channels: int) -> bool:
        scale = np.broadcast_to(affine.scale, channels)
        shift = np.broadcast_to(affine.shift, channels)
        if not np.isfinite(scale).all() or not np.isfinite(shift).all():
            return False
        if operation.name == "onnx.batchnormalization":
            return self._apply_to_norm(operation, scale, shift)
        return self._apply_to_weights(operation, scale, shift)

    def _apply_to_norm(self, operation: ir.Operation, scale: np.ndarray, shift: np.ndarray) -> bool:
        gamma, beta = self._known(operation.operands[1]), self._known(operation.operands[2])
        assert gamma is not None and beta is not None
        self._set(operation, 1, gamma * scale, gamma.dtype, "scale_folded")
        self._set(operation, 2, beta * scale + shift, beta.dtype, "bias_folded")
        return True

    def _apply_to_weights(self, operation: ir.Operation, scale: np.ndarray, shift: np.ndarray) -> bool:
        from ...dialects.onnx.ops import is_absent
        from ...ir.builder import Op

        op = Op.of(operation)
        weight = self._known(operation.operands[1])
        assert weight is not None
        no_bias = is_absent(operation.operands[2])
        bias = np.zeros(1) if no_bias else self._known(operation.operands[2])
        if bias is None:
            return False
        if operation.name == "onnx.gemm":
            if op.attr("beta") != 1.0 or bias.ndim > 2 or (bias.ndim == 2 and bias.shape[0] != 1):
                return False
            bias = bias.reshape(-1)
        # Half-precision weights are scaled in single precision; wider ones in their own.
        wide = np.promote_types(weight.dtype, np.float32)
        scaled = _scaled(operation, op, weight, scale.astype(wide))
        self._set(operation, 1, scaled, weight.dtype, "weight_folded")
        if not no_bias or shift.any():
            folded = np.broadcast_to(bias * scale + shift, scale.shape)
            self._set(operation, 2, folded, weight.dtype, "bias_folded")
        return True

    def _set(
        self, operation: ir.Operation, index: int, array: np.ndarray, dtype: np.dtype, suffix: str
    ) -> None:
        """Make a constant of `array` the op's operand `index`."""
        from torch_mlir import ir

        from ...dialects.onnx.ops import constant
        from ...ir.locations import sources_of

        name = next(iter(sources_of(operation.location)), "folded")
        values = np.ascontiguousarray(array, dtype)
        with ir.InsertionPoint(operation):
            made = constant(values, self._weights, f"{name}.{suffix}", loc=operation.location)
        operation.operands[index] = made


_ABSORBERS = frozenset({"onnx.conv", "onnx.convtranspose", "onnx.gemm", "onnx.batchnormalization"})
_ARITHMETIC = frozenset({"onnx.mul", "onnx.add", "onnx.sub", "onnx.div"})


def _scaled(operation: ir.Operation, op: Op, weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The weight with each output channel scaled, in the wider of the two types."""
    if operation.name == "onnx.conv":
        return weight * scale.reshape(-1, *[1] * (weight.ndim - 1))
    if operation.name == "onnx.gemm":
        return weight * (scale[:, None] if op.attr("transB") else scale[None, :])
    group = op.attr("group") or 1
    split = weight.reshape(group, weight.shape[0] // group, *weight.shape[1:])
    factors = scale.reshape(group, 1, weight.shape[1], *[1] * (weight.ndim - 2))
    return (split * factors).reshape(weight.shape)


def _batch_norm(folder: _Folder, operation: ir.Operation) -> _Affine | None:
    """What a BatchNormalization in inference mode does per channel, if its parameters are constants."""
    from ...ir.builder import Op

    op = Op.of(operation)
    if op.attr("training_mode") or op.attr("spatial") == 0 or (op.attr("is_test") == 0):
        return None
    arrays = [folder._known(value) for value in list(operation.operands)[1:5]]
    if any(array is None for array in arrays):
        return None
    gamma, beta, mean, variance = (np.asarray(array, np.float64) for array in arrays)
    epsilon = op.attr("epsilon")
    scale = gamma / np.sqrt(variance + (1e-5 if epsilon is None else epsilon))
    return _Affine(scale, beta - mean * scale)


def _per_channel(constant: np.ndarray, kind: object, channels: int) -> np.ndarray | None:
    """The constant as one number per channel (axis 1), or one number; None if it varies along other axes."""
    from torch_mlir import ir

    if not isinstance(kind, ir.RankedTensorType) or constant.ndim > kind.rank:
        return None
    shape = [1] * (kind.rank - constant.ndim) + list(constant.shape)
    if any(size != 1 for axis, size in enumerate(shape) if axis != 1) or shape[1] not in (1, channels):
        return None
    return np.asarray(constant, np.float64).reshape(-1)
