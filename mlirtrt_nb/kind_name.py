"""What a message calls a value that is of the wrong kind."""

from __future__ import annotations

__all__ = ["kind_name"]


def kind_name(value: object) -> str:
    """The value's type with its article: "an int", "a list"; None is "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"
