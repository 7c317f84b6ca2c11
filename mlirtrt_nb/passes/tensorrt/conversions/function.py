"""The conversion of one function: its ops in order, then the onnx ones are removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from typing import Literal

import numpy as np
from torch_mlir import ir

from ....dialects.onnx.export import opset_import
from ....dialects.onnx.inference import merge
from ....dialects.onnx.ops import is_constant, opset
from ....dialects.onnx.schemas import identity
from ....dialects.tensorrt.limits import refusal
from ....errors import VerificationError
from ....ir.values import is_read, terminator
from ....ir.verifier import verify_op
from ...clustering.worth import is_worth_splitting
from ...firing import report
from .dims import Dims
from .emitter import Emitter
from .node import CONVERTERS, Node, Refused
from .plan_regions import CONTROL_FLOW, CannotOpen, Opened, open_up
from .shape_values import producer

__all__ = ["FALLBACK", "convert_function"]

# The attribute that says why an op stays in the onnx dialect.
FALLBACK = "plan.fallback"

Split = Literal["never", "worth", "always"]

_DIALECTS = ("onnx.", "tensorrt.")
_NOT_OPS = frozenset({"onnx.constant", "onnx.novalue", "onnx.yield"})
_UNFORESEEN = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
_RETURNED = frozenset({"f32", "f16", "bf16", "i64", "i32", "i1"})
_ELEMENTS = _RETURNED | {"i8", "ui8", "i4", "f8E4M3FN", "f4E2M1FN", "f8E8M0FNU"}


# Whether a tensorrt op that the builder refuses has another spelling, which a later pass gives it.
Helpable = Callable[[ir.Operation, MutableMapping[str, np.ndarray]], bool]


def convert_function(
    function: ir.Operation,
    weights: MutableMapping[str, np.ndarray],
    keep: frozenset[str],
    helpable: Helpable,
    split: Split = "never",
    whole: frozenset[str] = frozenset(),
) -> None:
    """Convert a `func.func` in place. Ops of the ONNX types in `keep` stay, and those that would become ops
    which the builder refuses, unless they are `helpable`.

    `split` says which branches and loops that no engine holds whole become the Plan's, with engines inside:
    those that are worth it, all, or none, but for those at the locations `whole`.
    """
    _Function(function, weights, keep, helpable, split, whole).convert()


class _Function:
    def __init__(
        self,
        function: ir.Operation,
        weights: MutableMapping[str, np.ndarray],
        keep: frozenset[str],
        helpable: Helpable,
        split: Split,
        whole: frozenset[str],
    ) -> None:
        self._split = split
        self._whole = whole
        self._function = function
        self._block = function.regions[0].blocks[0]
        self._weights = weights
        self._keep = keep
        self._helpable = helpable
        self._opset = opset(function)
        self._dims = Dims(weights, self._opset)
        self._emitter = Emitter(weights, self._block)
        self._done: list[ir.Operation] = []
        self._known_types: set[ir.Type] = set()
        # Constructs of the Plan that turned out not to be worth it. They live on, out of the function, so that
        # no value made meanwhile is taken for one of theirs.
        self._rejected: list[ir.Operation] = []

    def convert(self) -> None:
        try:
            self._convert_all(op.operation for op in self._block.operations)
        finally:  # an op that nobody holds reads values of the module: where it outlives that, the process ends
            for operation in self._rejected:
                operation.erase()
        self._finish()

    def _convert_all(self, operations: Iterable[ir.Operation]) -> None:
        """Convert the onnx ops among these, each where it stands."""
        for operation in list(operations):
            name = operation.name
            if name.startswith("onnx.") and name not in _NOT_OPS:
                reason = self._convert(operation, name)
                if reason is None or (name in CONTROL_FLOW and self._open_up(operation, reason)):
                    self._done.append(operation)
                else:
                    operation.attributes[FALLBACK] = ir.StringAttr.get(reason)

    def _open_up(self, operation: ir.Operation, reason: str) -> bool:
        """Let the Plan branch or loop in the op's place, if that is worth it."""
        if self._split == "never" or str(operation.location) in self._whole:
            return False
        if identity(operation.name)[1] in self._keep:
            return False
        try:
            opened = open_up(operation, opset_import(self._function), self._weights)
        except CannotOpen:
            return False
        done = len(self._done)
        for region in opened.operation.regions:
            block = region.blocks[0]
            with self._emitter.at_home(block):
                self._convert_all(op.operation for op in block.operations)
        if self._split == "worth" and not is_worth_splitting(opened.operation):
            self._reject(opened, done)
            return False
        opened.operation.attributes[FALLBACK] = ir.StringAttr.get(reason)
        self._convert_all([*opened.before, *opened.after])
        self._emitter.begin(operation)
        for before, after in zip(operation.results, opened.results, strict=True):
            self._settle_opened(before, self._emitter.value(after), opened)
        return True

    def _settle_opened(self, before: ir.Value, after: ir.Value, opened: Opened) -> None:
        """A result of the op has become one of the Plan's construct, or of what arranges it."""
        kind = merge(before.type, after.type)
        before.set_type(kind)
        if after.owner == opened.operation:
            after.set_type(kind)
        self._emitter.settle(before, after)

    def _reject(self, opened: Opened, done: int) -> None:
        for operation in reversed(opened.after):
            operation.erase()
        opened.operation.detach_from_parent()
        self._rejected.append(opened.operation)
        del self._done[done:]

    def _convert(self, operation: ir.Operation, op_name: str) -> str | None:
        """Convert one op, or give the reason why it stays."""
        self._emitter.begin(operation)
        types = _inner_types(operation)
        try:
            settled = self._results(operation, op_name)
            for made in self._emitter.created:
                reason = refusal(made)
                if reason is not None and not self._helpable(made, self._weights):
                    raise Refused(reason)
                _refuse_invalid(made)
        except Refused as refused:
            self._emitter.undo()
            for value, kind in types:
                value.set_type(kind)  # a loop's body was given types that need not hold in every turn
            return str(refused)
        for before, after in settled:
            self._emitter.settle(before, after)
        return None

    def _results(self, operation: ir.Operation, op_name: str) -> list[tuple[ir.Value, ir.Value]]:
        """The op's results beside what they become; refuses an op that cannot be converted."""
        if op_name == "onnx.custom":
            words = _text(operation, "op_type"), _text(operation, "domain")
            raise Refused("op {} of domain {} is not known".format(*words))
        domain, name = identity(op_name)
        if name in self._keep:
            raise Refused(f"{name} is kept by the option keep")
        convert = None if domain else CONVERTERS.get(name)
        if convert is None:
            raise Refused(f"no TensorRT layer for {name}")
        node = Node(operation, name, self._opset, self._weights, self._dims, self._convert_block)
        self._check_types(node)
        try:
            found = convert(node, self._emitter)
        except _UNFORESEEN as error:  # one odd op must not end the compilation: it stays, and says so
            raise Refused(f"its conversion failed: {type(error).__name__}: {error}") from error
        return self._settle(node, list(found) if isinstance(found, list | tuple) else [found])

    def _convert_block(
        self, source: ir.Block, target: ir.Block, arguments: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Convert a region's ops into `target`, and give what the region yields."""
        emit = self._emitter
        for before, after in zip(source.arguments, arguments, strict=True):
            if before.type != after.type:
                before.set_type(after.type)
            emit.settle(before, after)
        with emit.inside(target):
            for operation in [op.operation for op in source.operations]:
                name = operation.name
                if name == "onnx.yield":
                    return [emit.value(value) for value in operation.operands]
                if name in _NOT_OPS:
                    continue
                emit.at(operation)
                try:
                    settled = self._results(operation, name)
                except Refused as refused:
                    raise Refused(f"in its body, {name.partition('.')[2]}: {refused}") from None
                for before, after in settled:
                    emit.settle(before, after)
        raise Refused("a body without an end")

    def _check_types(self, node: Node) -> None:
        for position, value in enumerate((*node.inputs, *node.results)):
            if value is None:
                continue
            kind = value.type
            if kind in self._known_types:
                continue
            if isinstance(kind, ir.UnrankedTensorType) and position >= len(node.inputs):
                continue  # the converter works it out
            if not isinstance(kind, ir.RankedTensorType):
                raise Refused(f"{kind} is not a tensor of known rank")
            if node.name == "DequantizeLinear" and (is_constant(value) or _is_quantized(value)):
                continue  # a constant can be written in another type, a round trip needs none
            if str(kind.element_type) not in _ELEMENTS:
                raise Refused(f"TensorRT has no element type {kind.element_type}")
            self._known_types.add(kind)

    def _settle(self, node: Node, values: list[ir.Value | None]) -> list[tuple[ir.Value, ir.Value]]:
        """The op's results beside what they have become."""
        pairs = []
        for index, before in enumerate(node.results):
            if before is None:
                continue
            after = values[index] if index < len(values) else None
            if after is not None:
                pairs.append((before, self._emitter.result(before, after)))
            elif node.is_read(index):
                raise Refused(f"result {index} is used, which no TensorRT layer gives")
        return pairs

    def _finish(self) -> None:
        """Point the users that remain at the converted values, and remove what nothing reads."""
        for operation in self._done:
            for result in operation.results:
                after = self._emitter.converted(result)
                if after is not None:
                    result.replace_all_uses_with(after)
        for operation in self._done:
            report(operation)
        for operation in reversed(self._done):
            operation.erase()
        self._return()
        _sweep(self._block)

    def _return(self) -> None:
        """Return constants in the tensorrt dialect where it has their type, and declare what is returned."""
        end = terminator(self._block)
        for index, value in enumerate(end.operands):
            if is_constant(value) and str(value.type.element_type) in _RETURNED:  # type: ignore[attr-defined]
                end.operands[index] = self._emitter.value(value)
        declared = ir.FunctionType(ir.TypeAttr(self._function.attributes["function_type"]).value)
        returned = [value.type for value in end.operands]
        if returned != list(declared.results):
            exact = ir.FunctionType.get(declared.inputs, returned)
            self._function.attributes["function_type"] = ir.TypeAttr.get(exact)


def _refuse_invalid(made: ir.Operation) -> None:
    """Let an op stay that would become one which its dialect does not allow."""
    try:
        verify_op(made)
    except VerificationError as error:
        raise Refused(f"its layer would not be valid: {error.what}") from None


def _inner_types(operation: ir.Operation) -> list[tuple[ir.Value, ir.Type]]:
    """The values in the op's regions, and their types."""
    found: list[tuple[ir.Value, ir.Type]] = []
    for region in operation.regions:
        for block in region.blocks:
            found += [(argument, argument.type) for argument in block.arguments]
            for view in block.operations:
                found += [(result, result.type) for result in view.operation.results]
                found += _inner_types(view.operation)
    return found


def _sweep(block: ir.Block) -> None:
    """Remove what nothing reads from a block and from the Plan's regions in it."""
    for operation in reversed([op.operation for op in block.operations]):
        # What has no results, as an assertion, is there for what it does.
        if operation.name.startswith(_DIALECTS) and len(operation.results) and not is_read(operation):
            operation.erase()
        elif operation.name.startswith("plan."):
            for region in operation.regions:
                _sweep(region.blocks[0])


def _is_quantized(value: ir.Value) -> bool:
    found = producer(value)
    return found is not None and found.name == "onnx.quantizelinear"


def _text(operation: ir.Operation, name: str) -> str:
    return str(operation.attributes[name].value)  # type: ignore[attr-defined]
