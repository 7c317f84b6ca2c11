"""`Calibration`: ranges of activations, found once, saved as a readable file, and tied to their model."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import CalibrationError
from .files import checked_path, reason, write_text
from .kind_name import kind_name
from .shown import Shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["METHODS", "Calibration"]

METHODS = ("minmax", "percentile", "entropy", "mse")
_FORMAT = 1


@dataclass(frozen=True)
class Calibration(Shown):
    """The largest magnitude of each tensor that is worth representing, by the tensor's name.

    Attributes:
        ranges: name -> a finite number, 0 or more; a quantized type reaches from minus it to it. Names are
            those of source nodes and inputs (see `passes.precision.tensor_names`).
        method: how they were found: "minmax", "percentile", "entropy" or "mse".
        model: content hash of the program that they were found on.
        samples: how many batches of inputs were run.
        inputs: what was run, in words, for tables: "4 batches of the user's", "seeded synthetic inputs".
        synthetic: whether the inputs were made up, so that accuracy says nothing about real data.
        path: the file that it was loaded from, if it was.

    Raises CalibrationError for a range that is negative or not a finite number, and for other values of a wrong
    type.
    """

    ranges: Mapping[str, float]
    method: str
    model: str
    samples: int
    inputs: str
    synthetic: bool = False
    path: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.ranges, Mapping):
            raise CalibrationError(
                f"ranges are {kind_name(self.ranges)}",
                where=self.path,
                hint="give a mapping from a tensor's name to its range",
            )
        for name, value in self.ranges.items():
            if not _is_range(value):
                raise CalibrationError(
                    f"the range of {name!r} is {value}; it must be a finite number, 0 or more",
                    where=self.path,
                    hint="calibrate again, or correct it",
                )
        if isinstance(self.samples, bool) or not isinstance(self.samples, int):
            raise CalibrationError(
                f"'samples' of these ranges is {self.samples!r}; it must be a number of batches",
                where=self.path,
                hint="calibrate again",
            )
        for name in ("method", "model", "inputs"):
            if not isinstance(getattr(self, name), str):
                raise CalibrationError(
                    f"{name!r} of these ranges is {getattr(self, name)!r}; it must be a text",
                    where=self.path,
                    hint="calibrate again",
                )

    def __repr__(self) -> str:
        return f"<Calibration: {len(self.ranges)} ranges, {self.method}, {self.inputs}>"

    def __str__(self) -> str:
        from .display.calibration import calibration_text

        return calibration_text(self)

    @property
    def option_text(self) -> str:
        """As in a pipeline's text: the file, where there is one."""
        return self.path or f"<{self.method},model={self.model[:8]}>"

    @property
    def df(self) -> pd.DataFrame:
        """One row per tensor: tensor, amax, note (what is unusual about the range)."""
        import pandas as pd

        rows = [(name, value, _note(value)) for name, value in self.ranges.items()]
        return pd.DataFrame(rows, columns=["tensor", "amax", "note"])

    def _repr_html_(self) -> str:
        from .display.calibration import calibration_html

        return calibration_html(self)

    def check_model(self, model: str) -> None:
        """Raise CalibrationError if `model`, a content hash, is another than the ranges were found on."""
        if model != self.model:
            raise CalibrationError(
                f"these ranges were found on another model ({self.model[:8]}, this one is {model[:8]})",
                where=self.path,
                hint="calibrate this model with mt.calibrate(program, inputs)",
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ranges as JSON, a tensor a line. Raises CalibrationError if the file cannot be written."""
        document = {
            "format": _FORMAT,
            "method": self.method,
            "model": self.model,
            "samples": self.samples,
            "inputs": self.inputs,
            "synthetic": self.synthetic,
            "ranges": dict(self.ranges),
        }
        write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n", CalibrationError)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Calibration:
        """Read what `save` wrote. Raises CalibrationError for a file that is missing or says something else."""
        source = checked_path(path, CalibrationError)
        try:
            document = json.loads(source.read_text(encoding="utf-8"))
        except OSError as error:
            raise CalibrationError(f"cannot read {source}: {error.strerror or error}") from error
        except ValueError as error:
            raise CalibrationError(f"{source} is not JSON: {error}") from None
        try:
            if document["format"] != _FORMAT:
                raise CalibrationError(f"{source} is of another version", hint="calibrate again")
            names = ("ranges", "method", "model", "samples", "inputs", "synthetic")
            return Calibration(**{name: document[name] for name in names}, path=os.fspath(path))
        except (KeyError, TypeError, AttributeError) as error:
            raise CalibrationError(
                f"{source} is no saved calibration: {reason(error)}",
                hint="give a file that Calibration.save wrote",
            ) from None


def _note(value: float) -> str:
    if value == 0:
        return "always 0: left in the higher precision"
    if value < 2.0**-126:
        return "denormal: left in the higher precision"
    return "beyond fp16" if value > 65504 else ""


def _is_range(value: Any) -> bool:
    """Whether `value` is a finite number, 0 or more; a whole number may be too large for a float."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= sys.float_info.max
