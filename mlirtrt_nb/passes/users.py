"""The user's own passes by name, so that the text of a pipeline can name them: the last definition counts."""

from __future__ import annotations

from .base import Pass

__all__ = ["remember", "user_pass", "user_passes"]

_PASSES: dict[str, Pass] = {}


def remember(pass_: Pass) -> None:
    """Let `pass_` be found by its name."""
    _PASSES[pass_.name] = pass_


def user_pass(name: str) -> Pass | None:
    """The pass that was last defined under `name`, if any."""
    return _PASSES.get(name)


def user_passes() -> list[Pass]:
    """Every pass of the user's, in the order in which their names were first used."""
    return list(_PASSES.values())
