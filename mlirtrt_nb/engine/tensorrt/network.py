"""A `func.func` of tensorrt ops as a strongly typed network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from torch_mlir import ir

from ...dialects.tensorrt.limits import MAX_RANK
from ...errors import EngineBuildError
from ...ir.builder import Op
from ...ir.context import shown_name
from ...ir.locations import sources_of
from ..base import Binding
from .encoders import ENCODERS
from .encoders.shape import dims_of
from .logger import BuildLog
from .scope import Scope
from .types import mlir_spelling
from .weights import WeightBank

__all__ = ["Encoded", "encode_function", "refusal_text", "refused"]

_CONSTANT = "tensorrt.constant"
_TEXT_LIMIT = 300
# Functions, files and lines of the library: "IBuilder::build: ", "[pass.cpp:15: run] ", "moe.cpp:31: ".
_PLACES = re.compile(
    r"^\[[\w.]+::\w+::\d+\] |^I\w+::\w+: |\[[\w.]+:\d+: \w+\] |\b\w+\.(?:cpp|h):\d+: |[. ]+In \w+ at /\S+$"
)
_TERMINATORS = ("func.return", "tensorrt.yield", "tensorrt.condition")


@dataclass(frozen=True)
class Encoded:
    """A network with what must outlive it, and how its parts map back.

    `bank` holds the arrays the network points into; `operations` maps layer names to ops.
    """

    network: Any
    bank: WeightBank
    inputs: tuple[Binding, ...]
    outputs: tuple[Binding, ...]
    operations: Mapping[str, ir.Operation]


def encode_function(
    trt: Any, network: Any, function: ir.Operation, weights: Mapping[str, np.ndarray], log: BuildLog
) -> Encoded:
    """Fill `network` with the ops of `function`.

    Raises `EngineBuildError` naming the op that TensorRT refuses, with its own words.
    """
    bank = WeightBank(trt, weights)
    walk = _Walk(log)
    scope = Scope(trt, network, bank, encode_block=walk.block)
    if len(function.regions[0].blocks) != 1:
        raise EngineBuildError("an engine function must be a single block")
    block = function.regions[0].blocks[0]
    with _refusals(log, "the engine's inputs"):
        inputs = _add_inputs(scope, function, block)
    returned = walk.block(scope, block)
    with _refusals(log, "the engine's outputs"):
        outputs = _mark_outputs(scope, function, returned, {binding.name for binding in inputs})
    return Encoded(network, bank, inputs, outputs, scope.operations)


@contextmanager
def _refusals(log: BuildLog, place: str) -> Iterator[None]:
    """Raise what the builder logs meanwhile as an error about `place`."""
    errors = len(log.errors)
    try:
        yield
    except EngineBuildError:
        if len(log.errors) == errors:
            raise
    if len(log.errors) > errors:
        raise EngineBuildError(refusal_text(log.errors[-1]), where=place)


def where(operation: ir.Operation) -> str:
    """An op in words: "conv1 (tensorrt.convolution)"."""
    sources = ", ".join(sources_of(operation.location))
    name = shown_name(operation.name)
    return f"{sources[:200]} ({name})" if sources else name


class _Walk:
    """Encodes blocks op by op; an error the builder logs is put to the op at hand."""

    def __init__(self, log: BuildLog) -> None:
        self._log = log

    def block(self, scope: Scope, block: ir.Block) -> ir.Operation:
        """Encode the ops of `block`; gives its terminator, whose operands the caller reads."""
        for view in block.operations:
            operation = view.operation
            if operation.name in _TERMINATORS:
                return operation
            if operation.name == _CONSTANT:
                scope.bind_constant(operation.results[0], operation)
            else:
                self._operation(scope, operation)
        raise EngineBuildError("a block without a terminator")

    def _operation(self, scope: Scope, operation: ir.Operation) -> None:
        encoder = ENCODERS.get(operation.name)
        if encoder is None:
            raise EngineBuildError(
                f"{shown_name(operation.name)} is not an op that becomes a layer", where=where(operation)
            )
        first, errors = scope.net.num_layers, len(self._log.errors)
        try:
            tensors = encoder(scope, Op.of(operation))
        except (EngineBuildError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            self._explain(error, errors, operation)
        if len(self._log.errors) > errors:
            raise refused(refusal_text(self._log.errors[-1]), operation)
        scope.label(operation, first)
        results = tensors if isinstance(tensors, list) else [tensors]
        for value, tensor in zip(operation.results, results, strict=True):
            scope.bind(value, tensor)

    def _explain(self, error: Exception, errors: int, operation: ir.Operation) -> NoReturn:
        """Raise an error that names the op, in the builder's words where it logged any."""
        if len(self._log.errors) > errors:
            raise refused(refusal_text(self._log.errors[-1]), operation) from error
        if isinstance(error, EngineBuildError):
            if error.location is None:
                error.where, error.location = where(operation), str(operation.location)
            raise error
        said = " ".join(str(error).split())[:_TEXT_LIMIT]
        raise refused(f"the op cannot become a layer: {said}", operation) from error


def refused(what: str, operation: ir.Operation, engine: str | None = None) -> EngineBuildError:
    """An error about one op."""
    place = where(operation) + (f" of engine {engine!r}" if engine else "")
    error = EngineBuildError(what, where=place)
    error.location = str(operation.location)
    return error


def refusal_text(message: str) -> str:
    """The builder's message in one line, without the places in its own source."""
    text = _PLACES.sub("", " ".join(message.split()))
    missing = max(0, text.count("(") - text.count(")"))  # brackets that were closed behind the place
    shown = text if len(text) <= _TEXT_LIMIT else text[:_TEXT_LIMIT] + "..."
    return f"TensorRT refuses: {shown}{')' * missing}"


def _names(function: ir.Operation, key: str, prefix: str, count: int, taken: set[str]) -> list[str]:
    """Binding names: the `plan.name` of each argument (or result), else prefix and number; all different."""
    attributes = function.attributes
    listed = list(attributes[key]) if key in attributes else [None] * count
    names: list[str] = []
    for index, entry in enumerate(listed):
        name = entry["plan.name"].value if entry is not None and "plan.name" in entry else f"{prefix}{index}"
        while not name or name in taken:
            name = f"{name}_{prefix}{index}"
        taken.add(name)
        names.append(name)
    return names


def _add_inputs(scope: Scope, function: ir.Operation, block: ir.Block) -> tuple[Binding, ...]:
    names = _names(function, "arg_attrs", "arg", len(block.arguments), set())
    bindings = []
    for argument, name in zip(block.arguments, names, strict=True):
        kind = ir.RankedTensorType(argument.type)
        dims = dims_of(kind)
        if kind.rank > MAX_RANK:
            raise EngineBuildError(f"input {name!r} has rank {kind.rank}; TensorRT takes at most {MAX_RANK}")
        scope.bind(argument, scope.made(scope.net.add_input(name, scope.dtype(kind.element_type), tuple(dims))))
        bindings.append(Binding(name, tuple(dims), str(kind.element_type)))
    return tuple(bindings)


def _mark_outputs(
    scope: Scope, function: ir.Operation, returned: ir.Operation, taken: set[str]
) -> tuple[Binding, ...]:
    """Mark and name the returned tensors.

    An argument, a constant, or a value that is returned already, gets an identity of its own, since a
    tensor has one name and one role.
    """
    values = list(returned.operands)
    if not values:
        raise EngineBuildError("an engine function must return something")
    names = _names(function, "res_attrs", "result", len(values), taken)
    bindings = []
    seen: set[ir.Value] = set()
    for value, name in zip(values, names, strict=True):
        tensor = scope.tensor(value)
        if value in seen or tensor.is_network_input or scope.constant(value) is not None:
            first = scope.net.num_layers
            tensor = scope.out(scope.net.add_identity(tensor))
            scope.label(returned, first)
        seen.add(value)
        kind = ir.RankedTensorType(value.type)
        if tensor.dtype != scope.dtype(kind.element_type):
            found = mlir_spelling(tensor.dtype)
            raise refused(f"result {name!r} is {kind.element_type} in the IR, {found} in TensorRT", returned)
        tensor.name = name
        scope.net.mark_output(tensor)
        bindings.append(Binding(name, tuple(dims_of(kind)), str(kind.element_type)))
    return tuple(bindings)
