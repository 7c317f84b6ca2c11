"""Where activations are quantized: which operands of which ops, and whose range counts there.

TensorRT fuses a quantization into the layer before it and a dequantization into the layer after it: so they
stand at the inputs of convolutions and products, and at both inputs of a residual sum, and never between a
convolution and its activation. Ops that only move numbers share the range of what they move.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from ...program import Program
from ..input.rewriting import functions, only_user
from ..tensorrt.matching import kind_of, maker, operations
from .marks import kept_type, mark
from .operands import Product, is_move, product_of, products

__all__ = ["Site", "range_root", "sites"]


@dataclass(frozen=True)
class Site:
    """An operand to be quantized. `root` is the value whose range counts: itself, or what it was moved from."""

    operation: ir.Operation
    operand: int
    root: ir.Value

    @property
    def value(self) -> ir.Value:
        return self.operation.operands[self.operand]


def range_root(value: ir.Value) -> ir.Value:
    """The value that `value` has its numbers from, through ops that only move them."""
    while not isinstance(value.owner, ir.Block) and is_move(value.owner.operation):
        value = value.owner.operation.operands[0]
    return value


def sites(program: Program, rest: str) -> list[Site]:
    """The operands to be quantized, in program order. Marks the products that are left out, with a reason."""
    top = {op.operation for function in functions(program) for op in function.regions[0].blocks[0].operations}
    found: list[Site] = []
    chosen: set[ir.Operation] = set()
    for product in products(program):
        operation = product.operation
        if kept_type(operation) is not None or _is_quantized(operation):
            continue
        reason = _reason(product, operation in top)
        if reason is not None:
            mark(operation, rest, reason)
            continue
        chosen.add(operation)
        found.append(Site(operation, product.activation, range_root(operation.operands[product.activation])))
    for operation in operations(program, "element_wise"):
        if operation in top and kept_type(operation) is None and _is_residual(operation, chosen):
            found += [Site(operation, number, range_root(operation.operands[number])) for number in (0, 1)]
    return found


def _is_quantized(operation: ir.Operation) -> bool:
    """Whether the model says itself how the op is quantized."""
    return any(maker(value, "dequantize") is not None for value in operation.operands)


def _reason(product: Product, is_top: bool) -> str | None:
    if product.weight is None:
        return "a product of two activations"
    if not is_top:
        return "inside control flow, where no ranges are found"
    element = str(ir.RankedTensorType(product.operation.operands[0].type).element_type)
    return None if element == "f32" else f"the model has it in {element}"


def _is_residual(operation: ir.Operation, chosen: set[ir.Operation]) -> bool:
    """Whether an op is the sum of a quantized convolution's result and another activation of its shape."""
    if kind_of(operation) != "kSUM" or str(operation.results[0].type.element_type) != "f32":
        return False
    values = list(operation.operands)
    if any(value.type != operation.results[0].type or maker(value, "constant") for value in values):
        return False
    return any(_is_result(value, chosen) for value in values)


def _is_result(value: ir.Value, chosen: set[ir.Operation]) -> bool:
    """Whether a chosen convolution makes `value`, alone or with its activation."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "tensorrt.activation":
        owner = owner.operation.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation not in chosen:
        return False
    product = product_of(owner.operation)
    return product is not None and product.is_convolution


def joined(value: ir.Value) -> ir.Operation | None:
    """The concatenation that makes `value`, if nothing else reads what it joins."""
    operation = maker(value, "concatenation")
    if operation is None or any(only_user(part) is None for part in operation.operands):
        return None
    return operation
