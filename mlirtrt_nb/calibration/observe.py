"""A program that gives the tensors whose ranges are wanted, instead of its outputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch_mlir import ir

from ..ir.values import is_read, terminator
from ..passes.input.rewriting import functions
from ..passes.precision.placement import sites
from ..passes.precision.precision_widen import widen
from ..passes.precision.tensor_names import tensor_names
from ..program import Program
from .ends import ends_in, ends_of, total_of
from .not_a_number import shown_later

__all__ = ["Observed", "observed"]


class Observed:
    """A copy of a converted program whose main function returns other tensors, and ends with the last of them.

    `outputs` maps the name of a tensor to the names of the outputs that give it: one, or those of its ends;
    `totals` maps it to the one that gives its total, if any does. `inputs` are those that are inputs of the
    program itself.
    """

    def __init__(self, program: Program, inputs: list[str]) -> None:
        self.program = program
        self.inputs = inputs
        self.outputs: dict[str, list[str]] = {}
        self.totals: dict[str, str] = {}

    def values(self, name: str, found: Mapping[str, np.ndarray]) -> np.ndarray:
        """What a run found of one tensor: its values, or some among which its ends are."""
        given = [found[output] for output in self.outputs[name]]
        total = found[self.totals[name]] if name in self.totals else None
        return given[0] if len(given) == 1 and total is None else ends_in(given, total)


def observed(converted: Program, ends: bool = False) -> Observed:
    """`converted`, a program before clustering, in f32 where it was in f16 or bf16, with the tensors that
    quantization would round as outputs; with `ends`, only their ends, found where the tensors are made.

    What no such tensor is made of is left out: a last product and what follows it can be a tenth of the work.
    """
    program = converted.clone()
    widen(program)
    with program.context, ir.Location.unknown():
        function = next(functions(program))
        names = tensor_names(function)
        roots = dict.fromkeys(site.root for site in sites(program, "f32") if site.root in names)
        made = {names[root]: root for root in roots if not isinstance(root.owner, ir.Block)}
        found = Observed(program, [names[root] for root in roots if isinstance(root.owner, ir.Block)])
        if made:
            _return_instead(function, _watch(found, made, ends))
    return found


def _watch(found: Observed, made: dict[str, ir.Value], ends: bool) -> dict[str, ir.Value]:
    """What is to be returned by the names of the outputs, which `found` is told."""
    given: dict[str, ir.Value] = {}

    def output(value: ir.Value) -> str:
        name = f"observed {len(given)}"
        given[name] = value
        return name

    roots = list(made.values())
    unseen = set(roots) - shown_later(roots, roots[0].owner.operation.block) if ends else ()
    for name, value in made.items():
        found.outputs[name] = [output(end) for end in (ends_of(value) if ends else [value])]
        if value in unseen:
            found.totals[name] = output(total_of(value))
    return given


def _return_instead(function: ir.Operation, given: dict[str, ir.Value]) -> None:
    """Let the function return these values instead of what it returns, and do no more than that takes."""
    block = function.regions[0].blocks[0]
    end = terminator(block)
    values = list(given.values())
    ir.Operation.create(end.name, [], values, loc=end.location, ip=ir.InsertionPoint(end))
    end.erase()
    _erase_unread(block)
    kinds = [argument.type for argument in block.arguments], [value.type for value in values]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*kinds))
    function.attributes["res_attrs"] = ir.ArrayAttr.get([_named(output) for output in given])


def _erase_unread(block: ir.Block) -> None:
    for op in reversed(list(block.operations)):
        operation = op.operation
        is_model = operation.name.startswith(("tensorrt.", "onnx."))
        if is_model and len(operation.results) and not is_read(operation):
            operation.erase()


def _named(name: str) -> ir.DictAttr:
    return ir.DictAttr.get({"plan.name": ir.StringAttr.get(name)})
