"""Changes the types of ops in place, and casts where an op reads another type than its own."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ...dialects.tensorrt.limits import refusal
from ...errors import VerificationError
from ...ir import dtypes, shapes
from ...ir.builder import Op, create
from ...ir.constants import attribute_of, handle_name, value_of
from ...ir.opdef import Operand, ResultDef
from ...ir.verifier import verify_op
from ...program import Program
from ..clustering.values import nested
from ..input.rewriting import functions, has_uses
from ..tensorrt.matching import erase_unused, maker
from .marks import kept_type, mark

__all__ = ["Caster"]


class Caster:
    """Gives the ops of one program that are in the type `source`, f32 if it is not said, the type `to`."""

    def __init__(self, program: Program, to: str, source: str = "f32") -> None:
        self._program = program
        self._to = to
        self._source = source
        self._made: dict[tuple[ir.Value, str], ir.Value] = {}
        self._backs: list[ir.Operation] = []
        self._held: list[ir.Operation] = []  # constants that there is another form of now

    def interface(self) -> None:
        """Change the types of the main function's arguments and results."""
        for function in functions(self._program):
            block = function.regions[0].blocks[0]
            for argument in block.arguments:
                if _element(argument) == self._source:
                    argument.set_type(_retyped(argument.type, self._to))
                    self._cast_back(argument, ir.InsertionPoint.at_block_begin(block), function.location)
            end = list(block.operations)[-1].operation
            for number, value in enumerate(end.operands):
                if _element(value) == self._source:
                    end.operands[number] = self._as(value, self._to)
            kinds = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in end.operands])
            function.attributes["function_type"] = ir.TypeAttr.get(kinds)

    def body(self) -> None:
        """Change the ops, then drop the casts and constants that nobody reads."""
        for function in functions(self._program):
            for operation in list(nested(function)):
                if operation.name.startswith("tensorrt.") and _is_changeable(operation):
                    kind = kept_type(operation) or self._to
                    if kind != self._source and self._concerns(operation):
                        self._change(operation, kind)
        self._rejoin()
        for cast in reversed(self._backs):
            if not has_uses(cast.results[0]):
                erase_unused(cast)
        for held in self._held:
            if not has_uses(held.results[0]):
                held.erase()

    def _rejoin(self) -> None:
        """Let the program's own casts of a changed result to its new type read it before it is cast back."""
        for cast in self._backs:
            for use in list(cast.results[0].uses):
                reader = use.owner.operation
                if reader.name == "tensorrt.cast" and reader.results[0].type == cast.operands[0].type:
                    reader.results[0].replace_all_uses_with(cast.operands[0])
                    reader.erase()

    def _concerns(self, operation: ir.Operation) -> bool:
        """Whether there is anything to change on an op."""
        return any(_element(value) == self._source for value in (*operation.operands, *operation.results))

    def _change(self, operation: ir.Operation, kind: str) -> None:
        """Let an op read and give `kind` in place of the source type; mark and restore one not taken so."""
        op = Op.of(operation)
        before = list(operation.operands)
        types = [result.type for result in operation.results]
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        self._operands(op, operation, kind)
        self._constants(operation, kind)
        results = [
            result
            for result, defined in zip(operation.results, _each_result(op), strict=False)
            if _element(result) == self._source and _allows(defined, kind)
        ]
        if not results and any(_element(result) == self._source for result in operation.results):
            mark(operation, self._source, f"its layer has no form in {kind}")
        for result in results:
            result.set_type(_retyped(result.type, kind))
        reason = _objection(operation, self._source)
        if reason is None:
            for result in results:
                self._cast_back(result, ir.InsertionPoint.after(operation), operation.location)
            return
        for number, value in enumerate(before):
            operation.operands[number] = value
        for result, type_ in zip(operation.results, types, strict=True):
            result.set_type(type_)
        for name, attribute in attributes.items():
            operation.attributes[name] = attribute
        mark(operation, self._source, reason)

    def _operands(self, op: Op, operation: ir.Operation, kind: str) -> None:
        number = 0
        for defined in op.definition.operands:
            for value in op.group(defined.name):
                if _element(value) == self._source and _allows(defined, kind):
                    operation.operands[number] = self._as(value, kind)
                number += 1

    def _constants(self, operation: ir.Operation, kind: str) -> None:
        """Kernels and biases that are attributes."""
        for entry in Op.of(operation).definition.attrs:
            if entry.kind != "elements" or entry.name not in operation.attributes:
                continue
            attribute = operation.attributes[entry.name]
            if str(ir.RankedTensorType(attribute.type).element_type) == self._source:
                operation.attributes[entry.name] = self._constant(attribute, kind)

    def _constant(self, attribute: ir.Attribute, kind: str) -> ir.Attribute:
        array = value_of(attribute, self._program.weights)
        name = handle_name(attribute) or "constant"
        return attribute_of(_rounded(array, kind), self._program.weights, f"{name}.{kind}")

    def _as(self, value: ir.Value, kind: str) -> ir.Value:
        """`value` in `kind`: what it was cast from, a constant cast now, or a cast; one of each."""
        back = maker(value, "cast")
        if back is not None and _element(back.operands[0]) == kind:
            return back.operands[0]
        key = (value, kind)
        if key not in self._made:
            self._made[key] = self._cast(value, kind)
        return self._made[key]

    def _cast(self, value: ir.Value, kind: str) -> ir.Value:
        held = maker(value, "constant")
        if held is not None:
            attribute = self._constant(held.attributes["weights"], kind)
            point = ir.InsertionPoint(held)
            made = create("tensorrt.constant", [], {"weights": attribute}, loc=held.location, ip=point)
            self._held.append(held)
            return made.results[0]
        owner = value.owner
        if isinstance(owner, ir.Block):
            point, location = ir.InsertionPoint.at_block_begin(owner), ir.Location.unknown()
        else:
            point, location = ir.InsertionPoint.after(owner.operation), owner.operation.location
        kind_of = _retyped(value.type, kind)
        return create("tensorrt.cast", [value], {}, [kind_of], loc=location, ip=point).results[0]

    def _cast_back(self, value: ir.Value, point: ir.InsertionPoint, location: ir.Location) -> None:
        """Let all that read `value`, whose type has just changed, read it as before."""
        if not has_uses(value):
            return
        cast = create(
            "tensorrt.cast", [value], {}, [_retyped(value.type, self._source)], loc=location, ip=point
        )
        value.replace_all_uses_except(cast.results[0], cast)
        self._backs.append(cast)


def _is_changeable(operation: ir.Operation) -> bool:
    """Control flow keeps f32 at its edges, and the user's own casts say what they want."""
    if len(operation.regions) or not len(operation.results) or "plan.fallback" in operation.attributes:
        return False
    return operation.name not in ("tensorrt.constant", "tensorrt.cast")


def _objection(operation: ir.Operation, source: str) -> str | None:
    """Why TensorRT does not take the op as it now is."""
    try:
        verify_op(operation)
    except VerificationError as error:
        return f"its layer wants {source}: {error.what}"
    return refusal(operation)


def _each_result(op: Op) -> list[ResultDef]:
    """A definition for each result."""
    defined = list(op.definition.results)
    return defined + defined[-1:] * (len(op.operation.results) - len(defined))


def _allows(defined: Operand | ResultDef, kind: str) -> bool:
    return defined.types == "any" or kind in defined.types.split()


def _element(value: ir.Value) -> str:
    return str(value.type.element_type) if isinstance(value.type, ir.RankedTensorType) else ""


def _retyped(kind: ir.Type, element: str) -> ir.Type:
    return shapes.tensor(ir.RankedTensorType(kind).shape, ir.Type.parse(element))


def _rounded(array: np.ndarray, kind: str) -> np.ndarray:
    """`array` in `kind`. Finite values beyond fp16 become its largest: infinity would make NaN of zeros."""
    if kind == "f16" and array.size:
        limit = np.float32(np.finfo(np.float16).max)
        if max(array.max(), -array.min()) > limit:
            array = np.where(np.isfinite(array), np.clip(array, -limit, limit), array)
    return array.astype(dtypes.by_mlir(kind).np)
