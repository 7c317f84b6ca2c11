"""Runs one ONNX Runtime engine by itself: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...dialects.onnx.ort_arrays import array_of, is_numpys, ort_value
from ...dialects.onnx.ort_session import SessionSettings, open_session, runtime_errors
from ...errors import EngineBuildError
from ...ir import dtypes
from ..base import Binding, Engine
from .failures import failure_of

__all__ = ["OrtEngine"]


class OrtEngine:
    """An engine of kind "onnxruntime" that is ready to run.

    Args:
        engine: what the builder made.
        weights: the table that has every name in `engine.weights`. Arrays are read in place and kept alive.
        settings: threads, optimisation level, prepacking.

    Raises EngineBuildError if a weight is missing or ONNX Runtime refuses the model.
    """

    def __init__(
        self, engine: Engine, weights: Mapping[str, np.ndarray], settings: SessionSettings | None = None
    ) -> None:
        where = f"engine {engine.name!r}"
        missing = [name for name in engine.weights if name not in weights]
        if missing:
            raise EngineBuildError(f"weight {missing[0]!r} is not in the table", where=where)
        try:
            self._opened = open_session(engine.blob, weights, settings)
        except runtime_errors() as error:
            raise EngineBuildError(f"ONNX Runtime refused it: {error}", where=where) from error
        self.engine = engine
        # The wrapper around it checks names again, which is a third of a small model's time.
        self._native = self._opened.session._sess
        self._inputs = [binding.name for binding in engine.inputs]
        self._outputs = [binding.name for binding in engine.outputs]
        self._plain = all(_is_plain(binding) for binding in (*engine.inputs, *engine.outputs))

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs, in order, as new arrays. Shapes and dtypes are as the engine's inputs say, unchecked.

        Raises InputError for an assertion of the program that does not hold, MlirTrtError for what ONNX
        Runtime cannot compute.
        """
        feed = dict(zip(self._inputs, arrays, strict=True))
        try:
            if self._plain:
                return self._native.run(self._outputs, feed, None)
            values = {name: ort_value(array) for name, array in feed.items()}
            natives = {name: value._ortvalue for name, value in values.items()}
            return [array_of(value) for value in self._native.run_with_ort_values(natives, self._outputs, None)]
        except runtime_errors() as error:
            raise failure_of(error, f"engine {self.engine.name!r}") from error


def _is_plain(binding: Binding) -> bool:
    """Whether ONNX Runtime takes and gives the binding as an array of NumPy's own, or as a sequence of them."""
    if binding.dtype.startswith("!"):
        return True
    return is_numpys(dtypes.by_mlir(binding.dtype).np)
