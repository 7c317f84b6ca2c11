"""`Precision`: what number types a program is compiled to, with the ops that are left out of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from .activation_ranges import METHODS, Calibration
from .errors import PrecisionError
from .kind_name import kind_name

if TYPE_CHECKING:
    from .ir.builder import Op

__all__ = ["ELEMENTS", "PRECISIONS", "Keep", "Precision", "check_supported"]

# The names that users give -> MLIR element types.
ELEMENTS = {
    "fp32": "f32",
    "fp16": "f16",
    "bf16": "bf16",
    "fp8": "f8E4M3FN",
    "int8": "i8",
    "int4": "i4",
}
PRECISIONS = tuple(ELEMENTS)
_FLOATING = ("fp32", "fp16", "bf16")
_QUANTIZED = ("fp8", "int8", "int4")

# What TensorRT-RTX refuses to build, found by building a matrix product for each target.
_LACKING = {
    "sm75": ("bf16", "fp8", "int4"),
    "sm80": ("fp8",),
    "sm86": ("fp8",),
}

_MOST_KEPT = 20  # that a text spells out

# Characters of a pattern that mean nothing in a pipeline's text.
_PLAIN = "".join(c for c in map(chr, range(33, 127)) if c not in "%;,{}")

KeepFunction = Callable[[Any], bool]


@dataclass(frozen=True)
class Keep:
    """An exception: the ops that `pattern` names are computed in `type` ("fp32", "fp16" or "bf16").

    `pattern` is an op's name ("softmax", "tensorrt.softmax"), a regular expression that matches the whole
    name of a source node ("/layer1/.*"), or a function of an op (`ir.builder.Op`) that says whether it is one.
    """

    pattern: str | KeepFunction
    type: str = "fp32"

    def __post_init__(self) -> None:
        if self.type not in _FLOATING:
            raise PrecisionError(
                f"an op cannot be kept in {self.type!r}", hint=f"keep it in one of {', '.join(_FLOATING)}"
            )
        if isinstance(self.pattern, str):
            try:
                re.compile(self.pattern)
            except re.error as error:
                raise PrecisionError(
                    f"keep={self.pattern!r} is not a regular expression: {error}",
                    hint="re.escape(name) gives one for a name",
                ) from None
        elif not callable(self.pattern):
            raise PrecisionError(
                f"keep= holds {kind_name(self.pattern)}",
                hint="give an op's name, a regular expression, or a function of an op",
            )

    def takes(self, op: Op) -> bool:
        """What the pattern says of an op, where it is a function. Raises PrecisionError if that fails."""
        assert not isinstance(self.pattern, str)
        try:
            return bool(self.pattern(op))
        except Exception as error:
            raise PrecisionError(
                f"the function {_name_of(self.pattern)} given as keep= failed: {type(error).__name__}: {error}",
                where=op.operation.name,
                hint="it is called with each tensorrt op, as an Op",
            ) from error

    def __str__(self) -> str:
        """As in a pipeline's text: the pattern, and `->` its type where that is not fp32."""
        text = self.pattern if isinstance(self.pattern, str) else f"<{_name_of(self.pattern)}>"
        name = quote(text, safe=_PLAIN)
        return name if self.type == "fp32" else f"{name}->{self.type}"

    @staticmethod
    def parse(text: str) -> Keep:
        """Read what `str` writes. Raises PrecisionError for a function, which has no text."""
        if text.startswith("<") and text.endswith(">"):
            raise PrecisionError(
                f"the pipeline's text names the function {text}", hint="give Precision(keep=function) instead"
            )
        pattern, arrow, type_ = text.rpartition("->")
        return Keep(unquote(pattern), type_) if arrow and type_ in PRECISIONS else Keep(unquote(text))


def _name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


@dataclass(frozen=True)
class Precision:
    """A precision with its exceptions: a value that can be compared, pickled, and given to `mt.compile`.

    Args:
        base: "fp32" (a model's own types are kept), "fp16", "bf16" (casts); "int8", "fp8" (weights and
            activations of convolutions and products with weights); "int4" (weights only, in blocks).
        keep: exceptions, beside the default ones: patterns (see `Keep`), one or several, to be computed in
            fp32; or a mapping from pattern to type.
        rest: for a quantized base, the type of all else. None: "fp16" where a TensorRT target is among the
            targets, "fp32" for the CPU alone, which has few kernels for fp16.
        defaults: whether the default exceptions hold (statistics, softmax, exponentials, large sums; the first
            and last layer for int8).
        calibration: ranges of activations, for int8 and fp8: a `Calibration`, the path of a saved one, or
            inputs for `mt.calibrate`. None: seeded synthetic inputs, which every table then says.
        method: how ranges are found where `calibration` gives none yet; see `mt.calibrate`. None: "percentile"
            for int8, "minmax" for fp8, which has room for the largest values.
        block: for int4, how many weights share a scale.
        io: whether the program's own inputs and outputs take the type too; else they keep theirs.
        reached: what `mt.bisect` measured with it, in words; says nothing of another one made from it.

    Raises PrecisionError for a value that none of these can have.
    """

    base: str = "fp16"
    keep: Any = ()
    rest: str | None = None
    defaults: bool = True
    calibration: Any = field(default=None, compare=False)
    method: str | None = None
    block: int = 128
    io: bool = False
    reached: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_name("precision", self.base, PRECISIONS)
        if self.rest is not None:
            _check_name("rest=", self.rest, _FLOATING)
            if self.base not in _QUANTIZED:
                raise PrecisionError(
                    f"rest= goes with a quantized precision, not with {self.base}",
                    hint="keep={pattern: type} makes exceptions",
                )
        if self.method is not None:
            _check_name("method=", self.method, METHODS)
        if not isinstance(self.block, int) or self.block < 16 or self.block & (self.block - 1):
            raise PrecisionError(
                f"block={self.block!r} is not a block size", hint="give a power of two, 16 or more"
            )
        for name in ("defaults", "io"):
            if not isinstance(getattr(self, name), bool):
                raise PrecisionError(f"{name}={getattr(self, name)!r} is no bool", hint="give True or False")
        object.__setattr__(self, "keep", _keeps(self.keep))
        if isinstance(self.calibration, os.PathLike | str):
            object.__setattr__(self, "calibration", Calibration.load(self.calibration))

    def __repr__(self) -> str:
        parts = [repr(self.base)]
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if name == "keep" and value:
                parts.append(f"keep={tuple(map(str, value))!r}")
            elif name == "calibration" and value is not None and not isinstance(value, Calibration):
                parts.append(f"calibration=<{type(value).__name__}>")
            elif value is not default and value != default:
                parts.append(f"{name}={value!r}")
        return f"Precision({', '.join(parts)})"

    @property
    def label(self) -> str:
        """A short name, for rows and titles: "int8 + fp16, 2 kept"."""
        exceptions = f", {len(self.keep)} kept" if self.keep else ""
        return f"{self.base}{f' + {self.rest}' if self.rest else ''}{exceptions}"

    def __str__(self) -> str:
        """The label; of what `mt.bisect` found also what is kept, and what it reached."""
        if not self.reached:
            return self.label
        kept = ", ".join(map(str, self.keep[:_MOST_KEPT]))
        more = f" and {len(self.keep) - _MOST_KEPT} more" if len(self.keep) > _MOST_KEPT else ""
        return f"{self.label}{f': {kept}{more}' if kept else ''}; {self.reached}"

    @staticmethod
    def of(given: Precision | str) -> Precision:
        """`given` itself, or the precision of that name. Raises PrecisionError."""
        if isinstance(given, Precision):
            return given
        return Precision(given)

    def with_keep(self, *patterns: Any, type: str = "fp32") -> Precision:
        """This precision with further exceptions."""
        added = (Keep(pattern, type) for pattern in patterns)
        return replace(self, keep=(*self.keep, *added), reached="")

    @property
    def element(self) -> str:
        """The base as an MLIR element type ("f16")."""
        return ELEMENTS[self.base]

    @property
    def is_quantized(self) -> bool:
        return self.base in _QUANTIZED

    @property
    def needs_ranges(self) -> bool:
        """Whether activations are quantized, for which their ranges have to be known."""
        return self.base in ("int8", "fp8")

    @property
    def range_method(self) -> str:
        """How ranges are found."""
        return self.method or ("minmax" if self.base == "fp8" else "percentile")

    def rest_for(self, targets: Iterable[str]) -> str:
        """The name of the type of all that is not quantized, for these targets."""
        if not self.is_quantized:
            return self.base
        return self.rest or ("fp32" if set(targets) <= {"cpu"} else "fp16")


_DEFAULTS: dict[str, Any] = {
    name: entry.default
    for name, entry in Precision.__dataclass_fields__.items()
    if name not in ("base", "reached")
}


def _check_name(what: str, name: Any, known: tuple[str, ...]) -> None:
    if name not in known:
        close = get_close_matches(str(name).lower(), known, 1)
        meant = f"did you mean {close[0]!r}? " if close else ""
        raise PrecisionError(f"unknown {what} {name!r}", hint=f"{meant}there are {', '.join(known)}")


def _keeps(given: Any) -> tuple[Keep, ...]:
    if isinstance(given, Keep | str) or callable(given):
        given = (given,)
    if isinstance(given, Mapping):
        return tuple(Keep(pattern, type_) for pattern, type_ in given.items())
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise PrecisionError(
            f"keep= is {kind_name(given)}", hint="give patterns, or a mapping from pattern to type"
        )
    return tuple(entry if isinstance(entry, Keep) else Keep(entry) for entry in given)


def check_supported(precision: Precision, targets: Iterable[str]) -> None:
    """Raise PrecisionError where a target has no such numbers, saying which it has."""
    for target in targets:
        lacking = _LACKING.get(target, ())
        wanted = (precision.base, precision.rest_for((target,)), *(entry.type for entry in precision.keep))
        missing = next((name for name in wanted if name in lacking), None)
        if missing is not None:
            has = ", ".join(name for name in PRECISIONS if name not in lacking)
            raise PrecisionError(f"{target} has no {missing}", hint=f"it has {has}")
