"""Opens an engine of the host, whichever runtime it was built for."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

import numpy as np

from ..dialects.onnx.ort_session import Opened, SessionSettings, open_session
from ..errors import MlirTrtError, PlanFileError
from ..memory import machine_bytes, no_room
from .base import Engine
from .onnxruntime.failures import failure_of, plain_reason

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

    What ONNX Runtime does not run has no settings and keeps no profile. Raises PlanFileError for an engine that
    its runtime refuses: one that is damaged, lacks its weights, or is of another version; TargetError if this
    machine has too little memory, be it for a single result.
    """
    where = f"engine {engine.name!r} for {engine.target}"
    _check_room(engine, where)
    try:
        return _opened(engine, weights, settings, config, profile_to)
    except MlirTrtError:
        raise
    except MemoryError as error:
        raise failure_of(error, where) from error
    except Exception as error:
        told = plain_reason(str(error) if not isinstance(error, KeyError) else f"there is no weight {error}")
        raise PlanFileError(
            f"the engine cannot be opened: {told}",
            where=where,
            hint="compile again with this version; Plan.load(path) tells whether a file is damaged",
        ) from error


def _check_room(engine: Engine, where: str) -> None:
    """Some systems grant any memory, and end the process once it is written; so they are not asked."""
    rows = [(row.output_bytes or 0, row) for row in engine.report.layers]
    count, row = max(rows, key=itemgetter(0), default=(0, None))
    if row is not None and count > machine_bytes():
        raise no_room(f"the result of {row.kind} {row.name!r}", count, where=where)


def _opened(
    engine: Engine,
    weights: Mapping[str, np.ndarray],
    settings: SessionSettings | None,
    config: Mapping[str, str] | None,
    profile_to: str | None,
) -> Opened:
    if is_compiled(engine):
        from .host.session import HostSession

        return Opened(HostSession(engine, weights), {})
    if not is_onnxruntime(engine):
        from .reference.session import ReferenceSession

        return Opened(ReferenceSession(engine.blob, weights), {})
    return open_session(engine.blob, weights, settings, config=config, profile_to=profile_to)
