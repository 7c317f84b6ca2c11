"""Builds engines for the CPU: a function becomes an ONNX model, which ONNX Runtime must accept."""

from __future__ import annotations

import time
from dataclasses import replace

from ...dialects.onnx.export import ExportedModel
from ...dialects.onnx.ort_session import SessionSettings, open_session, runtime_errors
from ...dialects.onnx.value_types import Port
from ...errors import Cancelled, EngineBuildError, TargetError
from ..base import Binding, BuildRequest, Engine, EngineReport
from .emit import export
from .layers import emitted_layers

__all__ = ["OnnxRuntimeBuilder"]

# Enough to find out whether ONNX Runtime takes the model; the session that runs it optimises for itself.
_CHECK = SessionSettings(threads=1, optimization="basic", prepack=False)


class OnnxRuntimeBuilder:
    """The EngineBuilder of kind "onnxruntime", for the target "cpu"."""

    kind = "onnxruntime"

    def build(self, request: BuildRequest) -> Engine:
        """The engine of a function of tensorrt or onnx ops; its blob has no weights in it.

        Raises TargetError for another target, EngineBuildError for what ONNX Runtime refuses.
        """
        if request.target != "cpu":
            raise TargetError(f"ONNX Runtime engines are for target 'cpu', not {request.target!r}")
        started = time.perf_counter()
        _report(request, "emit", 0)
        try:
            exported = export(request.function, request.weights)
        except EngineBuildError as error:
            where = f"{error.where}, engine {request.name!r}" if error.where else f"engine {request.name!r}"
            raise EngineBuildError(error.what, where=where, hint=error.hint) from error
        blob = exported.model.SerializeToString()
        _report(request, "check", 1)
        self._check(request, blob)
        _report(request, "done", 2)
        engine = Engine(
            name=request.name,
            kind=self.kind,
            target="cpu",
            blob=blob,
            inputs=tuple(_binding(port) for port in exported.inputs),
            outputs=tuple(_binding(port) for port in exported.outputs),
            weights=exported.weights,
        )
        return replace(engine, report=_describe(exported, request, time.perf_counter() - started))

    def _check(self, request: BuildRequest, blob: bytes) -> None:
        try:
            open_session(blob, request.weights, _CHECK)
        except runtime_errors() as error:
            raise EngineBuildError(
                f"ONNX Runtime refused it: {error}", where=f"engine {request.name!r}"
            ) from error


def _report(request: BuildRequest, phase: str, done: int) -> None:
    if request.progress is not None and not request.progress(phase, done, 2):
        raise Cancelled(f"the build of engine {request.name!r} was stopped")


def _binding(port: Port) -> Binding:
    try:
        return Binding(port.name, port.shape, port.dtype)
    except (TypeError, ValueError):
        return Binding(port.name, (), str(port.type))  # a sequence or an optional


def _describe(exported: ExportedModel, request: BuildRequest, seconds: float) -> EngineReport:
    import onnxruntime

    return EngineReport(
        layers=emitted_layers(exported),
        weights_bytes=sum(request.weights[name].nbytes for name in exported.weights),
        build_seconds=seconds,
        builder=f"ONNX Runtime {onnxruntime.__version__}",
    )
