"""A program that gives, beside its outputs, the tensors whose ranges are wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from ..passes.input.rewriting import functions
from ..passes.plan.signature import dictionaries, name_of
from ..passes.precision.placement import sites
from ..passes.precision.precision_widen import widen
from ..passes.precision.tensor_names import tensor_names
from ..program import Program
from .ends import ends_in, ends_of

__all__ = ["Observed", "observed"]


class Observed:
    """A copy of a converted program whose main function returns further tensors.

    `tensors` maps the name of a tensor to the names of the outputs that give it: one, or those of its ends;
    `inputs` are those that are inputs of the program itself.
    """

    def __init__(self, program: Program, tensors: dict[str, tuple[str, ...]], inputs: list[str]) -> None:
        self.program = program
        self.tensors = tensors
        self.inputs = inputs

    def values(self, given: Sequence[np.ndarray]) -> np.ndarray:
        """What the outputs of one tensor say: its values, or some among which its ends are."""
        return given[0] if len(given) == 1 else ends_in(given)


def observed(converted: Program, ends: bool = False) -> Observed:
    """`converted`, a program before clustering, in f32 where it was in f16 or bf16, with the tensors that
    quantization would round as outputs; with `ends`, only their ends, found where the tensors are made."""
    program = converted.clone()
    widen(program)
    with program.context, ir.Location.unknown():
        function = next(functions(program))
        names = tensor_names(function)
        roots = dict.fromkeys(site.root for site in sites(program, "f32") if site.root in names)
        inputs = [names[root] for root in roots if isinstance(root.owner, ir.Block)]
        made = {names[root]: [root] for root in roots if not isinstance(root.owner, ir.Block)}
        if ends:
            made = {name: ends_of(root) for name, (root,) in made.items()}
        tensors = _return_also(function, made)
    return Observed(program, tensors, inputs)


def _return_also(function: ir.Operation, made: dict[str, list[ir.Value]]) -> dict[str, tuple[str, ...]]:
    """Let the function return further values after what it returns: the outputs of each name."""
    block = function.regions[0].blocks[0]
    end = list(block.operations)[-1].operation
    before = list(end.operands)
    attributes = dictionaries(function, "res_attrs")
    taken = {name_of(attributes, n, "result") for n in range(len(before))}
    entries = [attributes[n] if attributes else _named(name_of(None, n, "result")) for n in range(len(before))]
    outputs: dict[str, tuple[str, ...]] = {}
    count = 0
    for name, group in made.items():
        given: list[str] = []
        for _ in group:
            output = f"observed {count}"
            while output in taken:
                output += "'"
            given.append(output)
            entries.append(_named(output))
            count += 1
        outputs[name] = tuple(given)
    values = [value for group in made.values() for value in group]
    location, point = end.location, ir.InsertionPoint(end)
    ir.Operation.create(end.name, [], [*before, *values], loc=location, ip=point)
    end.erase()
    kinds = ir.FunctionType.get(
        [argument.type for argument in block.arguments], [value.type for value in (*before, *values)]
    )
    function.attributes["function_type"] = ir.TypeAttr.get(kinds)
    function.attributes["res_attrs"] = ir.ArrayAttr.get(entries)
    return outputs


def _named(name: str) -> ir.DictAttr:
    return ir.DictAttr.get({"plan.name": ir.StringAttr.get(name)})
