"""Runs one engine of native code by itself, in the way of ONNX Runtime's sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base import Engine
from .builder import lowered_of
from .kernel import Kernel

__all__ = ["HostSession"]


class HostSession:
    """An engine of kind "mlir_host", compiled for this processor.

    Args:
        engine: what the builder made.
        weights: the table that has every name in `engine.weights`. Arrays are read in place and kept alive.

    Raises EngineBuildError if a weight is missing or LLVM refuses the code.
    """

    def __init__(self, engine: Engine, weights: Mapping[str, np.ndarray]) -> None:
        self._kernel = Kernel(lowered_of(engine.blob), weights, engine.name)
        self._inputs = [binding.name for binding in engine.inputs]
        self._outputs = {binding.name: n for n, binding in enumerate(engine.outputs)}

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs `names` (all if None) for arrays by the names of the inputs.

        Raises InputError for a check that does not hold.
        """
        arrays = [np.asarray(feeds[name], order="C") for name in self._inputs]
        results = self._kernel(arrays)
        return results if names is None else [results[self._outputs[name]] for name in names]
