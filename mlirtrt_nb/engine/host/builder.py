"""Builds engines of native code: a function of upstream dialects, lowered to LLVM."""

from __future__ import annotations

import json
import struct
import time
from dataclasses import asdict

from torch_mlir import ir

from ...errors import EngineBuildError, TargetError
from ...ir.locations import sources_of
from ..base import Binding, BuildRequest, Engine, EngineReport, LayerRow
from ..value_type import described
from .checks import Failure
from .lowering import Lowered, lower
from .types import HostType

__all__ = ["HostBuilder", "lowered_of"]

_LENGTH = struct.Struct("<Q")


class HostBuilder:
    """The EngineBuilder of kind "mlir_host", for the target "cpu"."""

    kind = "mlir_host"

    @property
    def identity(self) -> str:
        """The package that carries MLIR, and its version."""
        from importlib.metadata import version

        return f"MLIR of torch-mlir {version('torch-mlir')}"

    def build(self, request: BuildRequest) -> Engine:
        """The engine of a function of upstream dialects; its blob is a module of the LLVM dialect.

        Raises TargetError for another target, EngineBuildError for an op that cannot be compiled.
        """
        from ...dialects.onnx.value_types import ports

        if request.target != "cpu":
            raise TargetError(f"functions are compiled for target 'cpu', not {request.target!r}")
        started = time.perf_counter()
        lowered = lower(request.function, request.weights, request.text)
        inputs, outputs = ports(request.function)
        return Engine(
            name=request.name,
            kind=self.kind,
            target="cpu",
            blob=_packed(lowered),
            inputs=_bindings([port.name for port in inputs], lowered.inputs),
            outputs=_bindings([port.name for port in outputs], lowered.outputs),
            weights=tuple(dict.fromkeys(lowered.weights)),
            report=EngineReport(
                layers=_layers(request.function),
                weights_bytes=sum(request.weights[name].nbytes for name in set(lowered.weights)),
                build_seconds=time.perf_counter() - started,
                builder=self.identity,
            ),
        )


def _bindings(names: list[str], kinds: tuple[HostType, ...]) -> tuple[Binding, ...]:
    return tuple(Binding(name, kind.shape, kind.dtype) for name, kind in zip(names, kinds, strict=True))


def _layers(function: ir.Operation) -> tuple[LayerRow, ...]:
    """One row per op of the function's body: what became of it in the code cannot be told apart."""
    rows = []
    for number, op in enumerate(list(function.regions[0].blocks[0].operations)[:-1]):
        operation = op.operation
        known = [described(result.type) for result in operation.results]
        sizes = [size for _, _, size in known if size is not None]
        rows.append(
            LayerRow(
                name=f"{operation.name}.{number}",
                kind=operation.name,
                shapes=tuple(shape for shape, _, _ in known),
                dtypes=tuple(dtype for _, dtype, _ in known),
                output_bytes=sum(sizes) if len(sizes) == len(known) else None,
                sources=sources_of(operation.location),
            )
        )
    return tuple(rows)


def _packed(lowered: Lowered) -> bytes:
    head = {
        "inputs": [str(kind) for kind in lowered.inputs],
        "outputs": [str(kind) for kind in lowered.outputs],
        "weights": lowered.weights,
        "failures": [asdict(failure) for failure in lowered.failures],
    }
    text = json.dumps(head).encode()
    return _LENGTH.pack(len(text)) + text + lowered.bytecode


def lowered_of(blob: bytes | memoryview) -> Lowered:
    """What `HostBuilder` put into an engine's blob. Raises EngineBuildError for another blob."""
    try:
        (length,) = _LENGTH.unpack_from(blob)
        head = json.loads(bytes(blob[_LENGTH.size : _LENGTH.size + length]))
        return Lowered(
            bytes(blob[_LENGTH.size + length :]),
            tuple(HostType.parse(text) for text in head["inputs"]),
            tuple(HostType.parse(text) for text in head["outputs"]),
            tuple(head["weights"]),
            tuple(Failure.of(entry) for entry in head["failures"]),
        )
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise EngineBuildError("the engine's code is damaged", hint="compile the Plan again") from error
