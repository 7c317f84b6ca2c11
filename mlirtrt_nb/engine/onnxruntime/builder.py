"""Builds engines for the CPU: a function becomes an ONNX model, which ONNX Runtime must accept."""

from __future__ import annotations

import time

from ...dialects.onnx.export import ExportedModel
from ...dialects.onnx.ort_session import RUN_ONCE, open_session, runtime_errors
from ...dialects.onnx.value_types import Port
from ...errors import Cancelled, EngineBuildError, TargetError
from ..base import Binding, BuildRequest, Engine, EngineReport, LayerRow
from .emit import export
from .layers import emitted_layers, fused_layers, tensor_bytes

__all__ = ["OnnxRuntimeBuilder", "binding_of"]


class OnnxRuntimeBuilder:
    """The EngineBuilder of kind "onnxruntime", for the target "cpu"."""

    kind = "onnxruntime"

    @property
    def identity(self) -> str:
        """ "ONNX Runtime 1.32.0"."""
        return _version()

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
        _report(request, "check", 1)
        layers = self._accepted(request, exported)
        _report(request, "done", 2)
        return Engine(
            name=request.name,
            kind=self.kind,
            target="cpu",
            blob=exported.model.SerializeToString(),
            inputs=tuple(binding_of(port) for port in exported.inputs),
            outputs=tuple(binding_of(port) for port in exported.outputs),
            weights=exported.weights,
            report=_describe(exported, request, layers, time.perf_counter() - started),
        )

    def _accepted(self, request: BuildRequest, exported: ExportedModel) -> tuple[LayerRow, ...]:
        """The layers that ONNX Runtime makes of the model; on a refusal, once more with its weights."""
        try:
            return fused_layers(exported)
        except runtime_errors():
            pass
        try:
            open_session(exported.model.SerializeToString(), request.weights, RUN_ONCE)
        except runtime_errors() as error:
            raise EngineBuildError(
                f"ONNX Runtime refused it: {error}", where=f"engine {request.name!r}"
            ) from error
        return emitted_layers(exported)


def _version() -> str:
    import onnxruntime

    return f"ONNX Runtime {onnxruntime.__version__}"


def _report(request: BuildRequest, phase: str, done: int) -> None:
    if request.progress is not None and request.progress(phase, done, 2) is False:
        raise Cancelled(f"the build of engine {request.name!r} was stopped")


def binding_of(port: Port) -> Binding:
    """A port as a Binding. A sequence, an optional or a map has its type for a dtype; neither these nor a
    tensor of unknown rank have a shape."""
    from torch_mlir import ir

    if isinstance(port.type, ir.UnrankedTensorType):
        return Binding(port.name, (), str(port.type.element_type))
    try:
        return Binding(port.name, port.shape, port.dtype)
    except (TypeError, ValueError):
        return Binding(port.name, (), str(port.type))


def _describe(
    exported: ExportedModel, request: BuildRequest, layers: tuple[LayerRow, ...], seconds: float
) -> EngineReport:

    return EngineReport(
        layers=layers,
        weights_bytes=sum(map(tensor_bytes, exported.model.graph.initializer)),
        build_seconds=seconds,
        builder=_version(),
    )
