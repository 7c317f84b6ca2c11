"""A program that gives, beside its outputs, the tensors whose ranges are wanted."""

from __future__ import annotations

from torch_mlir import ir

from ..passes.input.rewriting import functions
from ..passes.plan.signature import dictionaries, name_of
from ..passes.precision.placement import sites
from ..passes.precision.tensor_names import tensor_names
from ..program import Program

__all__ = ["Observed", "observed"]


class Observed:
    """A copy of a converted program whose main function returns further tensors.

    `tensors` maps the name of a tensor to the name of the output that gives it; `inputs` those that are
    inputs of the program itself.
    """

    def __init__(self, program: Program, tensors: dict[str, str], inputs: list[str]) -> None:
        self.program = program
        self.tensors = tensors
        self.inputs = inputs


def observed(converted: Program) -> Observed:
    """`converted`, a program before clustering, with the tensors that quantization would round as outputs."""
    program = converted.clone()
    with program.context, ir.Location.unknown():
        function = next(functions(program))
        names = tensor_names(function)
        roots = dict.fromkeys(site.root for site in sites(program, "f32") if site.root in names)
        inputs = [names[root] for root in roots if isinstance(root.owner, ir.Block)]
        made = [root for root in roots if not isinstance(root.owner, ir.Block)]
        tensors = _return_also(function, made, names)
    return Observed(program, tensors, inputs)


def _return_also(function: ir.Operation, values: list[ir.Value], names: dict[ir.Value, str]) -> dict[str, str]:
    """Let the function return `values` after what it returns."""
    block = function.regions[0].blocks[0]
    end = list(block.operations)[-1].operation
    before = list(end.operands)
    attributes = dictionaries(function, "res_attrs")
    taken = {name_of(attributes, n, "result") for n in range(len(before))}
    outputs: dict[str, str] = {}
    entries = [attributes[n] if attributes else _named(name_of(None, n, "result")) for n in range(len(before))]
    for value in values:
        name = f"observed {len(outputs)}"
        while name in taken:
            name += "'"
        outputs[names[value]] = name
        entries.append(_named(name))
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
