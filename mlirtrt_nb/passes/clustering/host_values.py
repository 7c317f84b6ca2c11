"""What host code and engines exchange, in forms that both have: tensors of types that arrays have.

Functions of upstream dialects take and give numbers too, and read constants that engines know by another name.
Before clustering, an entry function's numbers become tensors of rank 0; while clusters are made, so do the
numbers that one cluster gives another.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir
from torch_mlir.dialects import arith, tensor

from ...errors import PassError
from ...ir import dtypes
from ...ir.builder import create
from .values import READ

__all__ = [
    "HOST_DIALECTS",
    "as_tensors",
    "border_type",
    "is_host_op",
    "is_number",
    "read",
    "tensors_at_the_border",
]

# The dialects whose ops are compiled for the host.
HOST_DIALECTS = frozenset(
    {
        *("affine", "arith", "bufferization", "chlo", "complex", "func", "index", "linalg", "math", "memref"),
        *("scf", "shape", "stablehlo", "tensor", "torch", "torch_c", "tosa", "ub", "vector"),
    }
)
# Its other ops jump, and a Plan's functions have one block.
_ASSERT = "cf.assert"

# Constants that engines may read, and the attribute that has their elements.
_ELEMENTS = {"arith.constant": "value", "stablehlo.constant": "value", "tosa.const": "values"}


def is_host_op(operation: ir.Operation) -> bool:
    """Whether the op is one that MLIR compiles for the host."""
    return operation.name.partition(".")[0] in HOST_DIALECTS or operation.name == _ASSERT


def is_number(value: ir.Value) -> bool:
    """Whether a value is a number, which must become a tensor to leave its cluster."""
    return isinstance(value.type, ir.IndexType | ir.IntegerType | ir.FloatType)


def tensors_at_the_border(function: ir.OpView) -> None:
    """Give an entry function tensors for its arguments and results that are numbers, and engines constants that
    they know, where host code made them."""
    block = function.regions[0].blocks[0]
    end = list(block.operations)[-1].operation
    for side, values in (("argument", block.arguments), ("result", end.operands)):
        for position, value in enumerate(values):
            _check_border(value.type, f"{side} {position}", function)
    with function.location:
        if any(is_host_op(op.operation) for op in list(block.operations)[:-1]):
            _constants_for_engines(block)
        for argument in block.arguments:
            if is_number(argument):
                _argument(argument, block)
        with ir.InsertionPoint(end):
            for position, value in enumerate(end.operands):
                if is_number(value):
                    end.operands[position] = _packed(value)
    kinds = [argument.type for argument in block.arguments], [value.type for value in end.operands]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*kinds))


def _check_border(kind: ir.Type, what: str, function: ir.OpView) -> None:
    """Raise PassError for what no array or number holds."""
    element = kind.element_type if isinstance(kind, ir.RankedTensorType | ir.UnrankedTensorType) else kind
    if str(element).startswith("!"):  # texts, sequences, and types of torch: who takes them checks them
        return
    try:
        dtypes.by_mlir(element)
    except KeyError:
        raise PassError(
            f"{what} is of type {kind}; a Plan takes tensors and numbers, of types that NumPy has",
            where=f"@{function.name.value}",
            hint="mt.run runs a function with memrefs" if isinstance(kind, ir.MemRefType) else None,
        ) from None


def _constants_for_engines(block: ir.Block) -> None:
    """Give engines a `tensorrt.constant` for each constant of another dialect that they read."""
    for op in list(block.operations):
        constant = op.operation
        elements = _ELEMENTS.get(constant.name)
        if elements is None or not isinstance(constant.results[0].type, ir.RankedTensorType):
            continue
        uses = [use for use in constant.results[0].uses if use.owner.operation.name.startswith("tensorrt.")]
        if uses:
            made = create(
                "tensorrt.constant",
                [],
                {"weights": constant.attributes[elements]},
                [constant.results[0].type],
                loc=constant.location,
                ip=ir.InsertionPoint(constant),
            )
            for use in uses:
                use.owner.operation.operands[use.operand_number] = made.results[0]


def _carried(kind: ir.Type) -> ir.Type:
    """The element type that a number of type `kind` has in a tensor: an index has none that arrays know."""
    return ir.IntegerType.get_signless(64) if isinstance(kind, ir.IndexType) else kind


def _argument(argument: ir.BlockArgument, block: ir.Block) -> None:
    kind = argument.type
    argument.set_type(ir.RankedTensorType.get([], _carried(kind), loc=ir.Location.unknown()))
    uses = list(argument.uses)
    with ir.InsertionPoint.at_block_begin(block):
        number = read(argument, kind)
    for use in uses:
        use.owner.operation.operands[use.operand_number] = number


def border_type(kind: ir.Type) -> ir.Type:
    """The type in which a value of type `kind` leaves its cluster: a number's is a tensor of rank 0."""
    if isinstance(kind, ir.IndexType | ir.IntegerType | ir.FloatType):
        return ir.RankedTensorType.get([], _carried(kind), loc=ir.Location.unknown())
    return kind


def _packed(value: ir.Value) -> ir.Value:
    element = _carried(value.type)
    if element != value.type:
        value = arith.IndexCastOp(element, value).result
    return tensor.FromElementsOp(
        ir.RankedTensorType.get([], element, loc=ir.Location.unknown()), [value]
    ).result


def as_tensors(values: Sequence[ir.Value]) -> list[ir.Value]:
    """`values`, numbers among them as tensors of rank 0, made at the insertion point."""
    return [_packed(value) if is_number(value) else value for value in values]


def read(value: ir.Value, kind: ir.Type) -> ir.Value:
    """The number of type `kind` in a tensor of rank 0, read at the insertion point."""
    extract = tensor.ExtractOp(value, [])
    extract.operation.attributes[READ] = ir.UnitAttr.get()
    if extract.result.type == kind:
        return extract.result
    cast = arith.IndexCastOp(kind, extract.result)
    cast.operation.attributes[READ] = ir.UnitAttr.get()
    return cast.result
