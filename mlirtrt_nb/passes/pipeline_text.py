"""Pipelines as text: entries joined by commas, options in braces, a minus before one that is switched off."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from ..errors import OptionError
from .base import Pass, options_of
from .mlir_pass import MlirPass

__all__ = ["options_text", "read_entry", "split_entries"]


def options_text(pass_: Pass) -> str:
    """The options of a pass that are not its defaults, in braces; "" for none."""
    if isinstance(pass_, MlirPass):
        given = pass_.options
    elif not is_dataclass(pass_):
        return ""  # the user's own passes have no options
    else:
        default = type(pass_)()
        given = {
            key: getattr(pass_, key)
            for key in options_of(type(pass_))
            if getattr(pass_, key) != getattr(default, key)
        }
    listed = " ".join(f"{key.replace('_', '-')}={_value_text(value)}" for key, value in given.items())
    return f"{{{listed}}}" if listed else ""


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ";".join(map(str, value))
    return str(getattr(value, "option_text", value))  # of what prints as more than a line


def split_entries(text: str) -> list[str]:
    """The entries of a pipeline's text: what stands between commas outside braces. Raises OptionError."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    if depth != 0:
        raise OptionError(f"unbalanced braces in the pipeline {text!r}")
    return [*parts, current.strip()]


def read_entry(text: str) -> tuple[bool, str, dict[str, Any]]:
    """Whether an entry is enabled, its pass's name, and its options as text. Raises OptionError."""
    name, brace, rest = text.lstrip("-").partition("{")
    if brace and not rest.endswith("}"):
        raise OptionError(f"pass {name}: the options do not end with '}}'")
    options: dict[str, Any] = {}
    for item in rest[:-1].split():
        key, equals, value = item.partition("=")
        if not equals:
            raise OptionError(f"pass {name}: option {item!r} is not of the form name=value")
        options[key.replace("-", "_")] = value
    return not text.startswith("-"), name.strip(), options
