"""The ops that can be quantized: convolutions and products, their activations and their weights."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from ...dialects.tensorrt.number_flow import only_moves
from ...ir.builder import Op, create
from ...program import Program
from ..tensorrt.matching import maker, operations

__all__ = ["Product", "is_move", "product_of", "products", "static_kernel", "with_kernel_operands"]

_KERNELS = {"tensorrt.convolution": "kernel", "tensorrt.deconvolution": "kernelWeights"}


@dataclass(frozen=True)
class Product:
    """A convolution or a matrix product.

    `activation` and `weight` are operand numbers; `weight` is None for a product of two activations.
    `channel` is the dimension of the weight that outputs run along, `depth` the one that is summed over (the
    first of them, for a convolution).
    """

    operation: ir.Operation
    activation: int
    weight: int | None
    channel: int = 0
    depth: int = 1

    @property
    def is_convolution(self) -> bool:
        """Whether it is a convolution or its transpose, and no matrix product."""
        return self.operation.name != "tensorrt.matrix_multiply"

    @property
    def constant(self) -> ir.Operation | None:
        """The op that holds the weight; None if it is an attribute, or no constant."""
        if self.weight is None or static_kernel(self.operation) is not None:
            return None
        return maker(self.operation.operands[self.weight], "constant")


def products(program: Program) -> list[Product]:
    """The convolutions and products of a program, in order."""
    found = operations(program, "convolution", "deconvolution", "matrix_multiply")
    made = (product_of(operation) for operation in found)
    return [product for product in made if product is not None]


def product_of(operation: ir.Operation) -> Product | None:
    """`operation` as a Product; None if it is none."""
    if operation.name in _KERNELS:
        transposed = operation.name == "tensorrt.deconvolution"
        is_constant = (
            static_kernel(operation) is not None or maker(operation.operands[1], "constant") is not None
        )
        return Product(operation, 0, 1 if is_constant else None, int(transposed), int(not transposed))
    if operation.name != "tensorrt.matrix_multiply":
        return None
    return _matrix_product(operation)


def _matrix_product(operation: ir.Operation) -> Product | None:
    op = Op.of(operation)
    kinds = (op.attr("op0"), op.attr("op1"))
    if "kVECTOR" in kinds:
        return None
    constants = [maker(value, "constant") is not None for value in operation.operands]
    if constants == [True, True]:
        return None
    if not any(constants):
        return Product(operation, 0, None)
    weight = constants.index(True)
    rank = ir.RankedTensorType(operation.operands[weight].type).rank
    row, column = rank - 2, rank - 1
    turned = kinds[weight] == "kTRANSPOSE"
    # A right operand is summed over its rows; a left one over its columns.
    depth, channel = (row, column) if (weight == 1) != turned else (column, row)
    return Product(operation, 1 - weight, weight, channel, depth)


def static_kernel(operation: ir.Operation) -> ir.Attribute | None:
    """The kernel of a convolution that has it as an attribute."""
    name = f"{_KERNELS[operation.name]}Static" if operation.name in _KERNELS else ""
    return operation.attributes[name] if name and name in operation.attributes else None


def with_kernel_operands(program: Program) -> None:
    """Let each convolution have its kernel as an operand, where it can be quantized."""
    for operation in operations(program, "convolution", "deconvolution"):
        kernel = static_kernel(operation)
        if kernel is None:
            continue
        op, point = Op.of(operation), ir.InsertionPoint(operation)
        held = create("tensorrt.constant", [], {"weights": kernel}, loc=operation.location, ip=point)
        names = [entry.name for entry in op.definition.operands]
        operands = [op.operand(names[0]), held.results[0], op.operand(names[2])]
        left_out = (f"{_KERNELS[operation.name]}Static", "operandSegmentSizes")
        attributes = {n: operation.attributes[n] for n in operation.attributes if n not in left_out}
        kinds = [operation.results[0].type]
        made = create(operation.name, operands, attributes, kinds, loc=operation.location, ip=point)
        operation.results[0].replace_all_uses_with(made.results[0])
        operation.erase()


def is_move(operation: ir.Operation) -> bool:
    """Whether the op's numbers are all among those of its first operand, so that both have one range."""
    if operation.name == "tensorrt.pooling":
        return str(Op.of(operation).attr("poolingType")) == "kMAX"
    return only_moves(operation)
