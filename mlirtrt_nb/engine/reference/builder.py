"""Builds host engines for what ONNX Runtime refuses: the same ONNX model, run by ONNX's reference evaluator."""

from __future__ import annotations

import time

from ...errors import EngineBuildError, TargetError
from ..base import BuildRequest, Engine, EngineReport
from ..onnxruntime.builder import binding_of
from ..onnxruntime.emit import export
from ..onnxruntime.layers import emitted_layers
from .session import ReferenceSession

__all__ = ["ReferenceBuilder"]


class ReferenceBuilder:
    """The EngineBuilder of kind "onnx_reference", for the target "cpu"."""

    kind = "onnx_reference"

    @property
    def identity(self) -> str:
        """The evaluator and its version."""
        import onnx

        return f"onnx.reference {onnx.__version__}"

    def build(self, request: BuildRequest) -> Engine:
        """The engine of a function of tensorrt or onnx ops; its blob has no weights in it.

        Raises TargetError for another target, EngineBuildError for an op that the evaluator does not have.
        """
        if request.target != "cpu":
            raise TargetError(f"the reference evaluator runs on target 'cpu', not {request.target!r}")
        started = time.perf_counter()
        exported = export(request.function, request.weights)
        blob = exported.model.SerializeToString()
        try:
            ReferenceSession(blob, request.weights)
        except Exception as error:
            reason = " ".join(str(error).split())[:160]
            raise EngineBuildError(
                f"ONNX's reference evaluator refused it: {reason}", where=f"engine {request.name!r}"
            ) from error
        return Engine(
            name=request.name,
            kind=self.kind,
            target="cpu",
            blob=blob,
            inputs=tuple(binding_of(port) for port in exported.inputs),
            outputs=tuple(binding_of(port) for port in exported.outputs),
            weights=exported.weights,
            report=EngineReport(
                layers=emitted_layers(exported),
                weights_bytes=sum(request.weights[name].nbytes for name in exported.weights),
                build_seconds=time.perf_counter() - started,
                builder=self.identity,
            ),
        )
