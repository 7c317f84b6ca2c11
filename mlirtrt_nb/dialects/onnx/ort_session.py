"""Opens ONNX Runtime sessions on models whose weights live outside them, without copying the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .ort_arrays import ort_value
from .pages import releasing

__all__ = ["OPTIMIZATION_LEVELS", "RUN_ONCE", "Opened", "SessionSettings", "open_session", "runtime_errors"]

# By the names that users give them; "all" adds layouts that suit this machine's vector units.
OPTIMIZATION_LEVELS = {
    "none": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}


# Fusions that lose on the CPU. Measured on an encoder of 64 x 256: SkipLayerNormalization takes 125 us where
# Add and LayerNormalization take 45; MatMul and Add of rank 3 become Gemm between two Reshapes, 6 % slower.
_LOSING_FUSIONS = "SkipLayerNormFusion;MatMulAddFusion"


@cache
def runtime_errors() -> tuple[type[Exception], ...]:
    """ONNX Runtime's exceptions: one class per status code, without a base of their own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    found = [v for v in vars(state).values() if isinstance(v, type) and issubclass(v, Exception)]
    return (*found, RuntimeError)


@dataclass(frozen=True)
class SessionSettings:
    """How a session runs.

    threads: of one op; 0 lets ONNX Runtime take all cores.
    optimization: a key of `OPTIMIZATION_LEVELS`.
    prepack: keep weights a second time in the kernels' own layout: faster runs, more memory.
    """

    threads: int = 0
    optimization: str = "all"
    prepack: bool = True


# For one run, or none: what would be spent on preparing is more than is gained.
RUN_ONCE = SessionSettings(threads=1, optimization="none", prepack=False)


@dataclass
class Opened:
    """A session and what must live as long as it does: the weights that it reads in place."""

    session: Any
    kept: dict[Any, np.ndarray]


def open_session(
    model: bytes | memoryview,
    weights: Mapping[str, np.ndarray],
    settings: SessionSettings | None = None,
    *,
    config: Mapping[str, str] | None = None,
    dump_to: str | None = None,
    profile_to: str | None = None,
) -> Opened:
    """An InferenceSession on the CPU for a model of `ModelWriter`.

    `config` are further session config entries; `dump_to` is a file for the optimised model;
    `profile_to` is how the name of the profile starts that `end_profiling()` completes. Raises KeyError for
    a weight that is missing, and ONNX Runtime's own exceptions for what it refuses.
    """
    import onnxruntime

    settings = settings or SessionSettings()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised as well
    options.intra_op_num_threads = settings.threads
    level = OPTIMIZATION_LEVELS[settings.optimization]
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    # Else i8 becomes u8 around 128, whose products overflow on processors without dot-product instructions.
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    options.add_session_config_entry("optimization.disable_specified_optimizers", _LOSING_FUSIONS)
    # Else what meets quantised weights in a product is rounded to 8 bits, of which the model says nothing.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    if not settings.prepack:
        options.add_session_config_entry("session.disable_prepacking", "1")
    for key, value in (config or {}).items():
        options.add_session_config_entry(key, value)
    if dump_to is not None:
        options.optimized_model_filepath = dump_to
    if profile_to is not None:
        options.enable_profiling = True
        options.profile_file_prefix = profile_to
    blob = bytes(model)
    kept = _hand_over(options, blob, weights)
    with releasing(kept.values()):
        session = onnxruntime.InferenceSession(blob, options, providers=["CPUExecutionProvider"])
    return Opened(session, kept)


def _hand_over(options: Any, model: bytes, weights: Mapping[str, np.ndarray]) -> dict[Any, np.ndarray]:
    """Give the options an OrtValue over each external weight; each with its array. Both calls are needed.

    As external initializers the optimizer sees them, but ONNX Runtime then copies each that is left at
    the end; as shared initializers those are used where they lie.
    """
    from onnx import ModelProto, TensorProto

    names, values, arrays = [], [], []
    for tensor in ModelProto.FromString(model).graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            key = next(entry.value for entry in tensor.external_data if entry.key == "location")
            names.append(tensor.name)
            arrays.append(weights[key].reshape(tuple(tensor.dims)))
            values.append(ort_value(arrays[-1]))
    if names:
        options.add_external_initializers(names, values)
        for name, value in zip(names, values, strict=True):
            options.add_initializer(name, value)
    return dict(zip(values, arrays, strict=True))
