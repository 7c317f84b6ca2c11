"""The user's own passes by name, so that the text of a pipeline can name them: the last definition counts."""

from __future__ import annotations

from ..errors import OptionError
from ..kind_name import kind_name
from .base import Pass, available

__all__ = ["check_name", "remember", "user_pass", "user_passes"]

_PASSES: dict[str, Pass] = {}


def check_name(name: str) -> None:
    """Raise OptionError for a name that the text of a pipeline cannot have, or that is taken."""
    if not isinstance(name, str):
        raise OptionError(f"the name of a pass is text, not {kind_name(name)}")
    if not name or name != name.strip() or name.startswith("-") or set(name) & set(",{}"):
        raise OptionError(
            f"{name!r} cannot name a pass", hint="no commas, no braces, no minus or blank before it"
        )
    if name in available():
        raise OptionError(f"{name!r} is a pass of this package", hint="give yours another name")


def remember(pass_: Pass) -> None:
    """Let `pass_` be found by its name. Raises OptionError as `check_name`."""
    check_name(pass_.name)
    _PASSES[pass_.name] = pass_


def user_pass(name: str) -> Pass | None:
    """The pass that was last defined under `name`, if any."""
    return _PASSES.get(name)


def user_passes() -> list[Pass]:
    """Every pass of the user's, in the order in which their names were first used."""
    return list(_PASSES.values())
