"""A program of tensorrt ops alone as one engine of the CPU, without the Plan that would be made around it."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ..dialects.onnx.ort_session import SessionSettings
from ..engine.base import Engine
from ..engine.onnxruntime.builder import binding_of
from ..engine.onnxruntime.emit import export
from ..engine.onnxruntime.session import OrtEngine
from ..errors import EngineBuildError
from ..passes.input.rewriting import functions
from ..program import Program
from .batches import Batch

__all__ = ["WholeEngine"]


class WholeEngine:
    """An engine that takes and gives arrays by name, of any shapes that the program takes, from several threads
    at once.

    Raises EngineBuildError for a program that needs more than one engine, and what ONNX Runtime refuses.
    """

    def __init__(self, program: Program, threads: int) -> None:
        with program.context:
            function, *others = functions(program)
            if others or not all(map(_is_plain, list(function.regions[0].blocks[0].operations)[:-1])):
                raise EngineBuildError("the program is no single engine's")
            exported = export(function, program.weights)
            engine = Engine(
                name=program.name,
                kind="onnxruntime",
                target="cpu",
                blob=exported.model.SerializeToString(),
                inputs=tuple(map(binding_of, exported.inputs)),
                outputs=tuple(map(binding_of, exported.outputs)),
                weights=exported.weights,
            )
        self._engine = OrtEngine(engine, program.weights, SessionSettings(threads=threads))
        self._inputs = [spec.name for spec in program.inputs]
        self._outputs = [spec.name for spec in program.outputs]

    def run(self, batch: Batch) -> dict[str, np.ndarray]:
        """The outputs of a batch by name."""
        found = self._engine.run([np.asarray(batch[name], order="C") for name in self._inputs])
        return dict(zip(self._outputs, found, strict=True))


def _is_plain(op: ir.OpView) -> bool:
    """Whether an op is TensorRT's, open to it, and without regions."""
    operation = op.operation
    is_open = operation.name.startswith("tensorrt.") and "plan.fallback" not in operation.attributes
    return is_open and not len(operation.regions)
