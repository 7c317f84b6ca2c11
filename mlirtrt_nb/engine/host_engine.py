"""Opens an engine of the host, whichever runtime it was built for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..dialects.onnx.ort_session import Opened, SessionSettings, open_session
from .base import Engine

__all__ = ["is_reference", "open_engine"]


def is_reference(engine: Engine) -> bool:
    """Whether ONNX's reference evaluator runs the engine: it takes and gives Python objects only."""
    return engine.kind == "onnx_reference"


def open_engine(
    engine: Engine,
    weights: Mapping[str, np.ndarray],
    settings: SessionSettings | None = None,
    *,
    config: Mapping[str, str] | None = None,
    profile_to: str | None = None,
) -> Opened:
    """The engine's session, with `run(names, feeds)`; see `open_session` for the arguments.

    The reference evaluator has no settings and keeps no profile.
    """
    if is_reference(engine):
        from .reference.session import ReferenceSession

        return Opened(ReferenceSession(engine.blob, weights), {})
    return open_session(engine.blob, weights, settings, config=config, profile_to=profile_to)
