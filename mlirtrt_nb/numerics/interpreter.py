"""Runs a program op by op, unfused, and rounds after every op exactly as its element type does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from torch_mlir import ir

from ..errors import EngineBuildError, MlirTrtError, PrecisionError
from ..ir.builder import Op
from ..ir.constants import value_of
from ..ir.context import definition, shown_name
from ..ir.inspect import entry_function
from ..ir.locations import sources_of
from ..passes.clustering.host_values import is_host_op
from ..passes.clustering.values import is_constant
from ..program import Program
from . import rounding
from .host_op import HostOp
from .single_op import SingleOp

__all__ = ["Executed", "Interpreter", "Step", "Walk", "read_values"]

_RANDOM = (
    "tensorrt.random_uniform",
    "tensorrt.random_normal",
    "onnx.randomuniform",
    "onnx.randomuniformlike",
    "onnx.randomnormal",
    "onnx.randomnormallike",
    "onnx.bernoulli",
    "onnx.multinomial",
)


@dataclass(frozen=True)
class Step:
    """One op of the program, constants left out; `op` is its name as it is shown.

    `key` is the same for one op in different variants of a program: its name, its location and which of
    several with both it is. `element` is the element type of its first result.
    """

    index: int
    op: str
    sources: tuple[str, ...]
    element: str
    key: tuple[str, str, int]
    operation: ir.Operation = field(repr=False)

    @property
    def source(self) -> str:
        """Where the op came from, for people: source names, or its place in the program."""
        return " + ".join(self.sources) or f"op {self.index}"

    @property
    def pattern(self) -> str:
        """What `Precision(keep=...)` knows the op by: its first source; "" for an op without one."""
        if not self.sources:
            return ""
        name = self.sources[0]
        # A source that is called like a kind of op would stand for all of that kind.
        is_kind = definition(name) is not None or definition(f"tensorrt.{name}") is not None
        return f"(?:{re.escape(name)})" if is_kind else re.escape(name)


@dataclass
class Executed:
    """An op that has just run. Who watches may put other arrays into `results`; they are then used instead."""

    step: Step
    results: list[Any]


class Interpreter:
    """A program that is run op by op.

    Every op computes in f32 (matrix products and convolutions accumulate in f32, as tensor cores do); its
    results are then rounded to the element types that the IR says. Ops that a Plan has as native code are
    native code here, in their own types. Values are dropped after their last use; weights are read where they
    lie.

    Args:
        program: `@main`, as the passes leave it before clustering.

    Raises PrecisionError if the program has no entry function of such ops.
    """

    def __init__(self, program: Program) -> None:
        self.program = program  # its ops are used for as long as this lives
        function = entry_function(program.module.operation)
        if function is None:
            raise PrecisionError("the program has no entry function to run")
        block = function.regions[0].blocks[0]
        *body, last = [op.operation for op in block.operations]
        self.arguments = list(block.arguments)
        self.returned = list(last.operands)
        self.names = [spec.name for spec in program.inputs]
        self.output_names = [spec.name for spec in program.outputs]
        self._compiled: dict[int, SingleOp | HostOp] = {}
        self._constants: dict[ir.Value, Any] = {}
        self.steps = tuple(_steps([op for op in body if not is_constant(op)]))
        self._dying = _last_uses(self.steps, self.returned)

    @cached_property
    def random_ops(self) -> tuple[Step, ...]:
        """Ops that draw random numbers, in their regions too: two runs of the program differ."""
        return tuple(step for step in self.steps if _draws(step.operation))

    def walk(self, inputs: Mapping[str, np.ndarray]) -> Walk:
        """A run on inputs by name, to be iterated op by op."""
        return Walk(self, dict(zip(self.arguments, [inputs[name] for name in self.names], strict=True)))

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs by name."""
        walk = self.walk(inputs)
        for _ in walk:
            pass
        return walk.outputs

    def execute(self, step: Step, values: Mapping[ir.Value, Any]) -> list[Any]:
        """The results of one op on the values that it reads, rounded. Raises MlirTrtError naming the op."""
        try:
            native = _NATIVE.get(step.operation.name)
            if native is not None:
                return [native(Op.of(step.operation), lambda value: self._value(value, values))]
            compiled = self._compiled.get(step.index)
            if compiled is None:
                compiled = self._compiled[step.index] = self._alone(step.operation)
            results = compiled.run([self._value(value, values) for value in compiled.operands])
        except (EngineBuildError, MlirTrtError) as error:
            error.where = f"{step.op} '{step.source}'"
            raise
        if isinstance(compiled, HostOp):
            return results
        return [_rounded(array, value) for array, value in zip(results, step.operation.results, strict=True)]

    def _value(self, value: ir.Value, values: Mapping[ir.Value, Any]) -> Any:
        if value in values:
            return values[value]
        operation = value.owner.operation  # type: ignore[union-attr]
        if operation.name == "tensorrt.constant":
            return value_of(operation.attributes["weights"], self.program.weights)
        if not is_host_op(operation):
            return SingleOp(operation, self.program.weights).run([])[0]
        if value not in self._constants:
            self._constants[value] = self._alone(operation).run([])[0]
        return self._constants[value]

    def _alone(self, operation: ir.Operation) -> SingleOp | HostOp:
        if is_host_op(operation):
            return HostOp(operation, self.program.weights, self.program.text_source)
        return SingleOp(operation, self.program.weights)

    def finish(self, values: Mapping[ir.Value, Any]) -> dict[str, Any]:
        """The outputs by name, once every op has run."""
        found = [self._value(value, values) for value in self.returned]
        return dict(zip(self.output_names, found, strict=True))

    def drop(self, step: Step, values: dict[ir.Value, Any]) -> None:
        """Forget the values that no later op reads."""
        for value in self._dying[step.index]:
            values.pop(value, None)


class Walk:
    """A run in progress. Iterating runs the ops; `outputs` is filled at the end.

    `position` is the step of the op that has run last.
    """

    def __init__(self, interpreter: Interpreter, values: dict[ir.Value, Any]) -> None:
        self._interpreter = interpreter
        self._values = values
        self.position = -1
        self.outputs: dict[str, Any] = {}

    def __iter__(self) -> Iterator[Executed]:
        for step in self._interpreter.steps:
            executed = Executed(step, self._interpreter.execute(step, self._values))
            self.position = step.index
            yield executed
            self._values.update(zip(step.operation.results, executed.results, strict=True))
            self._interpreter.drop(step, self._values)
        self.outputs = self._interpreter.finish(self._values)

    def branch(self, executed: Executed, results: list[Any]) -> dict[str, Any]:
        """The outputs if the op that has just run had given `results`; this run itself goes on as it was."""
        interpreter = self._interpreter
        values = {**self._values, **dict(zip(executed.step.operation.results, results, strict=True))}
        interpreter.drop(executed.step, values)
        for step in interpreter.steps[executed.step.index + 1 :]:
            values.update(zip(step.operation.results, interpreter.execute(step, values), strict=True))
            interpreter.drop(step, values)
        return interpreter.finish(values)


def _steps(operations: list[ir.Operation]) -> Iterator[Step]:
    seen: dict[tuple[str, str], int] = {}
    for index, operation in enumerate(operations):
        place = (operation.name, str(operation.location))
        count = seen[place] = seen.get(place, 0) + 1
        sources = sources_of(operation.location)
        yield Step(
            index, shown_name(operation.name), sources, _element_of(operation), (*place, count), operation
        )


def _element_of(operation: ir.Operation) -> str:
    if not len(operation.results):
        return ""
    kind = operation.results[0].type
    return str(getattr(kind, "element_type", kind))


def _last_uses(steps: tuple[Step, ...], returned: list[ir.Value]) -> list[list[ir.Value]]:
    """Per step, the values whose last reader it is, and its own results that nobody reads."""
    last: dict[ir.Value, int] = {}
    for step in steps:
        for value in step.operation.results:
            last[value] = step.index
        for value in read_values(step.operation):
            last[value] = step.index
    for value in returned:
        last.pop(value, None)
    dying: list[list[ir.Value]] = [[] for _ in steps]
    for value, index in last.items():
        dying[index].append(value)
    return dying


def _draws(operation: ir.Operation) -> bool:
    """Whether an op, or one in its regions, draws random numbers."""
    if not len(operation.regions):
        return operation.name in _RANDOM
    found = False

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or inner.name in _RANDOM
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return found


def read_values(operation: ir.Operation) -> list[ir.Value]:
    """What an op and the ops in its regions read."""
    found = list(operation.operands)
    if len(operation.regions):

        def visit(inner: ir.Operation) -> ir.WalkResult:
            found.extend(inner.operands)
            return ir.WalkResult.ADVANCE

        operation.walk(visit)
    return found


def _rounded(array: Any, value: ir.Value) -> Any:
    kind = value.type
    if not isinstance(array, np.ndarray) or not isinstance(kind, ir.ShapedType) or array.dtype.kind in "OUS":
        return array
    return rounding.cast(array, str(kind.element_type))


def _cast(op: Op, find: Any) -> np.ndarray:
    return rounding.cast(find(op.operand("input")), _element_of(op.operation))


def _quantize(op: Op, find: Any) -> np.ndarray:
    return _scaled(rounding.quantize, op, find)


def _dequantize(op: Op, find: Any) -> np.ndarray:
    return _scaled(rounding.dequantize, op, find)


def _scaled(function: Any, op: Op, find: Any) -> np.ndarray:
    array, scale = find(op.operand("input")), find(op.operand("scale"))
    found: np.ndarray = function(
        array, scale, _element_of(op.operation), op.attr("axis"), op.attr("blockShape")
    )
    return found


_NATIVE = {
    "tensorrt.cast": _cast,
    "tensorrt.identity": _cast,
    "tensorrt.quantize": _quantize,
    "tensorrt.dequantize": _dequantize,
}
