"""Options as typed on a command line or a magic's line, turned into what the Python calls take."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from .errors import OptionError, ShapeError
from .profiles import example_range, unnamed_shapes
from .program import TensorSpec

__all__ = ["parse_shape_options", "parse_target_options", "unknown_option"]


def parse_shape_options(
    given: Sequence[str], inputs: Sequence[TensorSpec] = ()
) -> dict[str, str | tuple[str, str, str]] | None:
    """`--shape` options as `mt.compile(shapes=)` takes them; None if there are none.

    Each is `name=1x3x224x224`, or `name=MIN:OPT:MAX` with three such shapes. Raises OptionError; ShapeError if
    one of `inputs` needs an option that is not given, with the option in its hint.
    """
    shapes: dict[str, str | tuple[str, str, str]] = {}
    for text in given:
        # From the right, since an input's name may hold an equals sign but a shape may not.
        name, equals, value = text.rpartition("=")
        sides = tuple(value.split(":"))
        if "," in value:
            meant = f"{name}={value.replace(',', ':')}" if value.count(",") == 2 else f"{name}=MIN:OPT:MAX"
            raise OptionError(
                f"--shape {text!r} has commas", hint=f"a range is written --shape name=MIN:OPT:MAX: {meant}"
            )
        if not equals or not name or len(sides) not in (1, 3):
            raise OptionError(
                f"--shape {text!r} is not understood",
                hint="write --shape name=1x3x224x224, or --shape name=MIN:OPT:MAX for a range",
            )
        if name in shapes:
            raise OptionError(f"--shape gives input {name!r} twice")
        shapes[name] = value if len(sides) == 1 else (sides[0], sides[1], sides[2])
    missing = unnamed_shapes(inputs, shapes)
    if missing:
        unknown = set(shapes) - {spec.name for spec in inputs}
        raise ShapeError(
            "".join(f"there is no input {name!r}; " for name in sorted(unknown))
            + "dynamic inputs need shapes: "
            + ", ".join(map(str, missing)),
            hint="add --shape NAME=MIN:OPT:MAX: "
            + " ".join(f"--shape {spec.name}={':'.join(example_range(spec))}" for spec in missing),
        )
    return shapes or None


def parse_target_options(given: Sequence[str], default: str) -> list[str]:
    """`--target` options, repeated or separated by commas, as a list; `default` likewise if none."""
    names = [name.strip() for text in (given or [default]) for name in text.split(",")]
    return [name for name in names if name]


def unknown_option(word: str, options: Sequence[str]) -> str:
    """What to say of a word that was left over: the option that it is near to, or all that there are."""
    if not word.startswith("-"):
        return f"unexpected argument {word!r}"
    word = word.partition("=")[0]
    close = get_close_matches(word, options, 1)
    meant = f"; did you mean {close[0]}?" if close else f"; options: {', '.join(options)}"
    return f"unknown option {word}{meant}"
