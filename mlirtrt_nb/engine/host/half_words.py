"""bf16 numbers cross calls as i16: passed as such, LLVM rounds them by a function that no library here has."""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir
from torch_mlir.dialects import arith

from ...ir.walking import ops_where

__all__ = ["pass_as_words"]


def pass_as_words(module: ir.Operation) -> None:
    """Give every function that takes or gives a bf16 a signature of i16, and its calls and returns with it."""
    bf16, i16 = ir.BF16Type.get(), ir.IntegerType.get_signless(16)

    def words(kinds: Iterable[ir.Type]) -> list[ir.Type]:
        return [i16 if kind == bf16 else kind for kind in kinds]

    def cast(values: Iterable[ir.Value], kind: ir.Type, to: ir.Type) -> list[ir.Value]:
        return [arith.BitcastOp(to, value).result if value.type == kind else value for value in values]

    for function in ops_where(module, lambda op: op.name == "func.func"):
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        if bf16 not in [*kind.inputs, *kind.results]:
            continue
        made = ir.FunctionType.get(words(kind.inputs), words(kind.results))
        function.attributes["function_type"] = ir.TypeAttr.get(made)
        block = function.regions[0].blocks[0]
        for argument in block.arguments:
            if argument.type == bf16:
                argument.set_type(i16)
                with ir.InsertionPoint.at_block_begin(block), function.location:
                    number = arith.BitcastOp(bf16, argument)
                argument.replace_all_uses_except(number.result, number.operation)
        for end in ops_where(function, lambda op: op.name == "func.return"):
            with ir.InsertionPoint(end), end.location:
                for position, value in enumerate(cast(end.operands, bf16, i16)):
                    end.operands[position] = value
    for call in ops_where(module, lambda op: op.name == "func.call" and _has(op, bf16)):
        with ir.InsertionPoint(call), call.location:
            results = words(result.type for result in call.results)
            attributes = {key: call.attributes[key] for key in call.attributes}
            made_call = ir.Operation.create(
                "func.call", results=results, operands=cast(call.operands, bf16, i16), attributes=attributes
            )
            for old, new in zip(call.results, made_call.results, strict=True):
                (number,) = cast([new], i16, bf16) if old.type == bf16 else [new]
                old.replace_all_uses_with(number)
        call.erase()


def _has(operation: ir.Operation, kind: ir.Type) -> bool:
    return kind in [value.type for value in (*operation.operands, *operation.results)]
