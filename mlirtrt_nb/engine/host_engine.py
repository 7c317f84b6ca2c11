"""Opens an engine of the host, whichever runtime it was built for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..dialects.onnx.ort_session import Opened, SessionSettings, open_session
from .base import Engine

__all__ = ["is_compiled", "is_onnxruntime", "open_engine"]


def is_onnxruntime(engine: Engine) -> bool:
    """Whether ONNX Runtime runs the engine, in memory that can be bound; others take and give arrays only."""
    return engine.kind == "onnxruntime"


def is_compiled(engine: Engine) -> bool:
    """Whether the engine is native code that MLIR made."""
    return engine.kind == "mlir_host"


def open_engine(
    engine: Engine,
    weights: Mapping[str, np.ndarray],
    settings: SessionSettings | None = None,
    *,
    config: Mapping[str, str] | None = None,
    profile_to: str | None = None,
) -> Opened:
    """The engine's session, with `run(names, feeds)`; see `open_session` for the arguments.

    What ONNX Runtime does not run has no settings and keeps no profile.
    """
    if is_compiled(engine):
        from .host.session import HostSession

        return Opened(HostSession(engine, weights), {})
    if not is_onnxruntime(engine):
        from .reference.session import ReferenceSession

        return Opened(ReferenceSession(engine.blob, weights), {})
    return open_session(engine.blob, weights, settings, config=config, profile_to=profile_to)
