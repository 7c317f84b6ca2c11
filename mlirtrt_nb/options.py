"""Options as typed on a command line or a magic's line, turned into what the Python calls take."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import OptionError

__all__ = ["parse_shape_options", "parse_target_options"]


def parse_shape_options(given: Sequence[str]) -> dict[str, str | tuple[str, str, str]] | None:
    """`--shape` options as `mt.compile(shapes=)` takes them; None if there are none.

    Each is `name=1x3x224x224`, or `name=MIN:OPT:MAX` with three such shapes. Raises OptionError.
    """
    shapes: dict[str, str | tuple[str, str, str]] = {}
    for text in given:
        # From the right, since an input's name may hold an equals sign but a shape may not.
        name, equals, value = text.rpartition("=")
        sides = tuple(value.split(":"))
        if not equals or not name or len(sides) not in (1, 3):
            raise OptionError(
                f"--shape {text!r} is not understood",
                hint="write --shape name=1x3x224x224, or --shape name=MIN:OPT:MAX for a range",
            )
        if name in shapes:
            raise OptionError(f"--shape gives input {name!r} twice")
        shapes[name] = value if len(sides) == 1 else (sides[0], sides[1], sides[2])
    return shapes or None


def parse_target_options(given: Sequence[str], default: str) -> list[str]:
    """`--target` options, repeated or separated by commas, as a list; `default` likewise if none."""
    names = [name.strip() for text in (given or [default]) for name in text.split(",")]
    return [name for name in names if name]
