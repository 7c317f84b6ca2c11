"""Constants and weights between NumPy and MLIR."""

from __future__ import annotations

import numpy as np
import pytest
from torch_mlir import ir

from mlirtrt_nb.ir.constants import attribute_of, handle_name, value_of


@pytest.mark.parametrize("name", ["w", "layer.0/w:0", "with space", 'q"\\z', "\\41", "é/x\n", "tab\there"])
def test_any_weight_name(name: str) -> None:
    """A weight's name comes back from its handle, whatever characters it has."""
    weights: dict[str, np.ndarray] = {}
    with ir.Context(), ir.Location.unknown():
        attribute = attribute_of(np.zeros(100, np.float32), weights, name)
        assert handle_name(attribute) == name
        assert list(weights) == [name]


def test_one_name_twice_in_a_context() -> None:
    """Two programs that share a context and each add a weight of one name both find their own array."""
    first: dict[str, np.ndarray] = {}
    second: dict[str, np.ndarray] = {}
    with ir.Context(), ir.Location.unknown():
        zeros = attribute_of(np.zeros(100, np.float32), first, "w")
        ones = attribute_of(np.ones(100, np.float32), second, "w")
        assert value_of(zeros, first).sum() == 0
        assert value_of(ones, second).sum() == 100
