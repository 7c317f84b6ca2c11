"""`stablehlo.sort` as loops: binary insertion, which is stable and compares n log n times.

Run after MLIR's own conversion, when the comparison holds linalg and tensor ops already. It becomes a function,
and so does the sorting.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir
from torch_mlir.dialects import func

from ...ir.walking import ops_where
from .fragments import append_text, region_to_function
from .runtime_ir import PREFIX

__all__ = ["sorts_to_loops"]


def sorts_to_loops(module: ir.Operation) -> None:
    """Turn every `stablehlo.sort` into a call of a function that sorts."""
    sorts = ops_where(module, lambda op: op.name == "stablehlo.sort")
    for number, operation in enumerate(sorts):
        kinds = [ir.RankedTensorType(value.type) for value in operation.operands]
        axis = ir.IntegerAttr(operation.attributes["dimension"]).value % max(kinds[0].rank, 1)
        with operation.location:
            region_to_function(module, operation.regions[0], f"{PREFIX}less{number}")
            append_text(
                module, _declared(number, kinds) + _sorting(number, kinds, axis), {f"{PREFIX}less{number}"}
            )
        with ir.InsertionPoint(operation), operation.location:
            call = func.CallOp(list(kinds), f"{PREFIX}sort{number}", list(operation.operands))
        for old, new in zip(operation.results, call.results, strict=True):
            old.replace_all_uses_with(new)
        operation.erase()


def _declared(number: int, kinds: Sequence[ir.RankedTensorType]) -> str:
    """The comparison's declaration: the text of the sorting is parsed by itself."""
    arguments = ", ".join(f"tensor<{kind.element_type}>" for kind in kinds for _ in (0, 1))
    return f"func.func private @{PREFIX}less{number}({arguments}) -> tensor<i1>\n"


def _sorting(number: int, kinds: Sequence[ir.RankedTensorType], axis: int) -> str:
    """The function that sorts tensors of `kinds` along `axis` together."""
    rank, count = kinds[0].rank, len(kinds)
    types = ", ".join(map(str, kinds))
    outer = [n for n in range(rank) if n != axis]

    def tensors(prefix: str) -> list[str]:
        return [f"%{prefix}{n}" for n in range(count)]

    def at(index: str) -> str:
        return "[" + ", ".join(index if n == axis else f"%i{n}" for n in range(rank)) + "]"

    def loop(result: str, variable: str, start: str, end: str, carried: str, given: str) -> str:
        """The head of a loop that carries all the tensors."""
        listed = ", ".join(f"{a} = {b}" for a, b in zip(tensors(carried), tensors(given), strict=True))
        made = ", ".join(tensors(result))
        return f"{made} = scf.for {variable} = {start} to {end} step %c1 iter_args({listed}) -> ({types}) {{"

    def extract(name: str, of: str, index: str) -> list[str]:
        return [f"%{name}{n} = tensor.extract %{of}{n}{at(index)} : {kinds[n]}" for n in range(count)]

    def insert(name: str, value: str, into: str, index: str) -> list[str]:
        return [
            f"%{name}{n} = tensor.insert %{value}{n} into %{into}{n}{at(index)} : {kinds[n]}"
            for n in range(count)
        ]

    def yielded(prefix: str) -> str:
        return f"scf.yield {', '.join(tensors(prefix))} : {types}"

    arguments = ", ".join(f"{name}: {kind}" for name, kind in zip(tensors("given"), kinds, strict=True))
    lines = [f"func.func private @{PREFIX}sort{number}({arguments}) -> ({types}) {{"]
    lines += ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"]
    lines += [f"%at{n} = arith.constant {n} : index" for n in range(rank)]
    lines += [f"%n{n} = tensor.dim %given0, %at{n} : {kinds[0]}" for n in range(rank)]
    held = "given"
    for n in outer:
        lines.append(loop(f"done{n}_", f"%i{n}", "%c0", f"%n{n}", f"row{n}_", held))
        held = f"row{n}_"
    lines.append(loop("sorted", "%i", "%c1", f"%n{axis}", "part", held))
    lines += extract("v", "part", "%i")
    lines += _search(number, kinds, extract("other", "part", "%mid"))
    lines.append("%moves = arith.subi %i, %place : index")
    lines.append(loop("shifted", "%s", "%c0", "%moves", "moving", "part"))
    lines += ["%to = arith.subi %i, %s : index", "%from = arith.subi %to, %c1 : index"]
    lines += [*extract("w", "moving", "%from"), *insert("moved", "w", "moving", "%to"), yielded("moved"), "}"]
    lines += [*insert("placed", "v", "shifted", "%place"), yielded("placed"), "}"]
    last = "sorted"
    for n in reversed(outer):
        lines += [yielded(last), "}"]
        last = f"done{n}_"
    return "\n".join([*lines, f"return {', '.join(tensors(last))} : {types}", "}"])


def _search(number: int, kinds: Sequence[ir.RankedTensorType], others: list[str]) -> list[str]:
    """The first place before which the elements `%v` do not belong."""
    elements = [str(kind.element_type) for kind in kinds]
    packed = [
        f"%{side}{n} = tensor.from_elements %{value}{n} : tensor<{element}>"
        for n, element in enumerate(elements)
        for side, value in (("left", "v"), ("right", "other"))
    ]
    given = ", ".join(f"%left{n}, %right{n}" for n in range(len(kinds)))
    kinds_given = ", ".join(f"tensor<{element}>, tensor<{element}>" for element in elements)
    return [
        "%place, %end = scf.while (%low = %c0, %high = %i) : (index, index) -> (index, index) {",
        "%open = arith.cmpi ult, %low, %high : index",
        "scf.condition(%open) %low, %high : index, index",
        "} do {",
        "^bb0(%low: index, %high: index):",
        "%both = arith.addi %low, %high : index",
        "%mid = arith.shrui %both, %c1 : index",
        *others,
        *packed,
        f"%flag = func.call @{PREFIX}less{number}({given}) : ({kinds_given}) -> tensor<i1>",
        "%less = tensor.extract %flag[] : tensor<i1>",
        "%after = arith.addi %mid, %c1 : index",
        "%low2 = arith.select %less, %low, %after : index",
        "%high2 = arith.select %less, %mid, %high : index",
        "scf.yield %low2, %high2 : index, index",
        "}",
    ]
