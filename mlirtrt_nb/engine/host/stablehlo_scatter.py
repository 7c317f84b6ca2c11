"""`stablehlo.scatter` as loops over its updates, in order, so that repeated places are combined in order too.

Run after MLIR's own conversion, when the combination holds linalg and tensor ops already. It becomes a
function, and so does the scattering. An update whose place lies outside is left out, as StableHLO says.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir
from torch_mlir._mlir_libs._stablehlo import ScatterDimensionNumbers
from torch_mlir.dialects import func

from ...ir.walking import ops_where
from .fragments import append_text, region_to_function
from .runtime_ir import PREFIX

__all__ = ["scatters_to_loops"]


def scatters_to_loops(module: ir.Operation) -> None:
    """Turn every `stablehlo.scatter` into a call of a function that scatters."""
    for number, operation in enumerate(ops_where(module, lambda op: op.name == "stablehlo.scatter")):
        count = len(operation.results)
        combine = f"{PREFIX}combine{number}"
        kinds = [ir.RankedTensorType(value.type) for value in operation.operands]
        numbers = ScatterDimensionNumbers(operation.attributes["scatter_dimension_numbers"])
        text = _Scattering(number, kinds[:count], kinds[count], kinds[count + 1 :], numbers).text()
        with operation.location:
            region_to_function(module, operation.regions[0], combine)
            append_text(module, text, {combine})
        with ir.InsertionPoint(operation), operation.location:
            call = func.CallOp(kinds[:count], f"{PREFIX}scatter{number}", list(operation.operands))
        for old, new in zip(operation.results, call.results, strict=True):
            old.replace_all_uses_with(new)
        operation.erase()


class _Scattering:
    """The text of one scattering function, with the declaration of the combination that it calls."""

    def __init__(
        self,
        number: int,
        kinds: Sequence[ir.RankedTensorType],
        index: ir.RankedTensorType,
        updates: Sequence[ir.RankedTensorType],
        numbers: ScatterDimensionNumbers,
    ) -> None:
        self._number = number
        self._kinds, self._index, self._updates = kinds, index, updates
        self._numbers = numbers
        self._rank = updates[0].rank
        window = list(numbers.update_window_dims)
        # The update's dimensions that walk over the places, and those that walk within the window at a place.
        self._places = [f"%u{n}" for n in range(self._rank) if n not in window]
        taken = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
        self._windows = dict(zip([d for d in range(kinds[0].rank) if d not in taken], window, strict=True))

    def text(self) -> str:
        count, types = len(self._kinds), ", ".join(map(str, self._kinds))
        elements = [str(kind.element_type) for kind in self._kinds]
        scalars = ", ".join(f"tensor<{element}>" for element in [*elements, *elements])
        given = ", ".join(
            [f"%given{n}: {kind}" for n, kind in enumerate(self._kinds)]
            + [f"%index: {self._index}"]
            + [f"%update{n}: {kind}" for n, kind in enumerate(self._updates)]
        )
        combined = ", ".join(f"tensor<{element}>" for element in elements)
        lines = [
            f"func.func private @{PREFIX}combine{self._number}({scalars}) -> ({combined})",
            f"func.func private @{PREFIX}scatter{self._number}({given}) -> ({types}) {{",
            "%c0 = arith.constant 0 : index",
            "%c1 = arith.constant 1 : index",
        ]
        held = "given"
        for n in range(self._rank):
            listed = ", ".join(f"%t{n}_{k} = %{held}{k}" for k in range(count))
            made = ", ".join(f"%done{n}_{k}" for k in range(count))
            lines += [
                f"%axis{n} = arith.constant {n} : index",
                f"%size{n} = tensor.dim %update0, %axis{n} : {self._updates[0]}",
                f"{made} = scf.for %u{n} = %c0 to %size{n} step %c1 iter_args({listed}) -> ({types}) {{",
            ]
            held = f"t{n}_"
        lines += self._place()
        lines += self._one(held, types, scalars, combined)
        last = "new"
        for n in reversed(range(self._rank)):
            lines += [f"scf.yield {self._all(last)} : {types}", "}"]
            last = f"done{n}_"
        return "\n".join([*lines, f"return {self._all(last)} : {types}", "}"])

    def _all(self, name: str) -> str:
        return ", ".join(f"%{name}{k}" for k in range(len(self._kinds)))

    def _place(self) -> list[str]:
        """Where the update goes, `%at<d>` for each dimension, and `%inside`: whether that is in the tensor."""
        numbers, lines = self._numbers, ["%inside = arith.constant true"]
        starts = {}
        for k, axis in enumerate(numbers.scattered_dims_to_operand_dims):
            places = iter(self._places)
            at = [f"%k{k}" if d == numbers.index_vector_dim else next(places) for d in range(self._index.rank)]
            lines += [
                f"%k{k} = arith.constant {k} : index",
                f"%raw{k} = tensor.extract %index[{', '.join(at)}] : {self._index}",
                f"%start{k} = arith.index_cast %raw{k} : {self._index.element_type} to index",
            ]
            starts[axis] = f"%start{k}"
        walked = [d for d in range(self._index.rank) if d != numbers.index_vector_dim]
        for axis, d in zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True):
            starts[axis] = self._places[walked.index(d)]
        inside = "%inside"
        for d in range(self._kinds[0].rank):
            offset = f"%u{self._windows[d]}" if d in self._windows else "%c0"
            lines += [
                f"%at{d} = arith.addi {starts.get(d, '%c0')}, {offset} : index",
                f"%d{d} = arith.constant {d} : index",
                f"%dim{d} = tensor.dim %given0, %d{d} : {self._kinds[0]}",
                f"%fits{d} = arith.cmpi ult, %at{d}, %dim{d} : index",
                f"%inside{d} = arith.andi {inside}, %fits{d} : i1",
            ]
            inside = f"%inside{d}"
        return [*lines, f"%good = arith.andi {inside}, %inside : i1"]

    def _one(self, held: str, types: str, scalars: str, combined: str) -> list[str]:
        """Combine one update with what is at its place."""
        count = len(self._kinds)
        at = ", ".join(f"%at{d}" for d in range(self._kinds[0].rank))
        update = ", ".join(f"%u{n}" for n in range(self._rank))
        lines = [f"{self._all('new')} = scf.if %good -> ({types}) {{"]
        for k, kind in enumerate(self._kinds):
            lines += [
                f"%old{k} = tensor.extract %{held}{k}[{at}] : {kind}",
                f"%add{k} = tensor.extract %update{k}[{update}] : {self._updates[k]}",
                f"%left{k} = tensor.from_elements %old{k} : tensor<{kind.element_type}>",
                f"%right{k} = tensor.from_elements %add{k} : tensor<{kind.element_type}>",
            ]
        arguments = f"{self._all('left')}, {self._all('right')}"
        combine = f"func.call @{PREFIX}combine{self._number}"
        lines.append(f"{self._all('both')} = {combine}({arguments}) : ({scalars}) -> ({combined})")
        for k, kind in enumerate(self._kinds):
            lines += [
                f"%value{k} = tensor.extract %both{k}[] : tensor<{kind.element_type}>",
                f"%put{k} = tensor.insert %value{k} into %{held}{k}[{at}] : {kind}",
            ]
        kept = ", ".join(f"%{held}{k}" for k in range(count))
        return [
            *lines,
            f"scf.yield {self._all('put')} : {types}",
            "} else {",
            f"scf.yield {kept} : {types}",
            "}",
        ]
