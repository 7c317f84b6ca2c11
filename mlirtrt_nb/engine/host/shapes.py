"""The shapes that compiled functions give for shapes of their arguments, found by running them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from torch_mlir import ir

from ...errors import InputError, ShapeError
from .kernel import Kernel
from .lowering import lower

__all__ = ["HostShapes"]

Shape = tuple[int, ...]


class HostShapes:
    """Shapes of one function's results."""

    def __init__(self, function: ir.Operation, weights: Mapping[str, np.ndarray]) -> None:
        self._function = function
        self._weights = weights

    @cached_property
    def _kernel(self) -> Kernel:
        name = str(self._function.attributes["sym_name"]).strip('"')
        return Kernel(lower(self._function, self._weights), self._weights, name)

    def shapes(
        self, arguments: Sequence[Shape], wanted: Sequence[int], side: int, *, measure: bool
    ) -> list[Shape]:
        """The shapes of the results `wanted`, from runs on zeros and on ones, if `measure` allows those.

        Raises ShapeError where they differ, for then they depend on data, or where neither goes through;
        EngineBuildError for a function that cannot be compiled.
        """
        if not measure:
            raise ShapeError("only a run tells what shapes it gives")
        found = [shapes for fill in (0, 1) if (shapes := self._run(arguments, fill)) is not None]
        if not found:
            raise ShapeError("it cannot be run on zeros or ones to see what shapes it gives")
        if any(shapes != found[0] for shapes in found):
            raise ShapeError("its shape depends on data")
        return [found[0][number] for number in wanted]

    def _run(self, arguments: Sequence[Shape], fill: int) -> list[Shape] | None:
        arrays = [
            np.full(shape, fill, kind.np) for shape, kind in zip(arguments, self._kernel.inputs, strict=True)
        ]
        try:
            return [np.shape(result) for result in self._kernel(arrays)]
        except InputError:  # a check of the function's own does not hold for such data
            return None
