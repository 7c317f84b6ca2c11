"""The names of targets, and what `target=` may be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .errors import TargetError

__all__ = ["AHEAD_OF_TIME", "TARGETS", "parse_targets"]

# Compute capabilities that TensorRT-RTX builds for on a machine with no GPU; its builder checks them too.
AHEAD_OF_TIME = ("sm75", "sm80", "sm86", "sm89", "sm120", "sm121")
# Of other GPUs, whose engines are built where one is.
_ONLY_THERE = ("sm87", "sm90", "sm100", "sm103", "sm110")
TARGETS = ("cpu", *AHEAD_OF_TIME, "cuda")


def parse_targets(target: str | Iterable[str]) -> tuple[str, ...]:
    """One target or several as a tuple without repeats. Raises TargetError for an unknown one."""
    if not isinstance(target, Iterable) or isinstance(target, bytes):
        raise TargetError(f"unknown target {target!r}", hint=f"targets: {', '.join(TARGETS)}")
    names = [target] if isinstance(target, str) else list(target)
    if not names:
        raise TargetError("no target given", hint=f"targets: {', '.join(TARGETS)}")
    for name in names:
        if name not in TARGETS:
            if name in _ONLY_THERE:
                raise TargetError(
                    f"unknown target {name!r}: TensorRT-RTX does not build for it without such a GPU",
                    hint=f"on a machine with one, target='cuda'; targets: {', '.join(TARGETS)}",
                )
            close = get_close_matches(str(name).lower(), TARGETS, 1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise TargetError(f"unknown target {name!r}", hint=f"{meant}targets: {', '.join(TARGETS)}")
    return tuple(dict.fromkeys(names))
