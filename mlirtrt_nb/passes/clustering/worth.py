"""Whether a branch or a loop that no engine holds whole has something in it that is worth an engine."""

from __future__ import annotations

from torch_mlir import ir

__all__ = ["is_worth_splitting"]

# One of these is work enough for a call of its own.
_HEAVY_NAMES = (
    "attention convolution deconvolution einsum for grid_sample gru lstm matrix_multiply moe normalization "
    "pooling resize_cubic resize_linear resize_nearest rnn while"
)
_HEAVY = frozenset(f"tensorrt.{name}" for name in _HEAVY_NAMES.split())
# Of all others, this many on floating-point tensors.
_MANY = 10
_FLOATS = frozenset({"f32", "f16", "bf16", "f8E4M3FN"})


def is_worth_splitting(operation: ir.Operation) -> bool:
    """Whether a region of the op, nested ones included, has a heavy tensorrt op or many light ones."""
    return any(_is_worth(region.blocks[0]) for region in operation.regions)


def _is_worth(block: ir.Block) -> bool:
    light = 0
    for view in block.operations:
        operation = view.operation
        if operation.name in _HEAVY and "plan.fallback" not in operation.attributes:
            return True
        if operation.name.startswith("plan.") and is_worth_splitting(operation):
            return True
        light += _is_light(operation)
    return light >= _MANY


def _is_light(operation: ir.Operation) -> bool:
    if not operation.name.startswith("tensorrt.") or operation.name == "tensorrt.constant":
        return False
    kinds = [result.type for result in operation.results]
    return any(isinstance(k, ir.RankedTensorType) and k.rank and str(k.element_type) in _FLOATS for k in kinds)
