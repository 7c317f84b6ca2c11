"""What a bisection has found so far, in a file that it can go on from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import PrecisionError
from ..files import checked_path, reason, write_text

__all__ = ["BisectionState"]

_FORMAT = 1


class BisectionState:
    """Trials by the set of what was kept, and the order of candidates; in memory alone where `path` is None.

    Args:
        identity: what the search is: program, precision, goal, inputs. A file of another one is refused.

    Raises PrecisionError for a file that cannot be read, or is of another search.
    """

    def __init__(self, identity: Mapping[str, str], path: Any = None) -> None:
        self._identity = dict(identity)
        self._path = None if path is None else checked_path(path, PrecisionError)
        self._values: dict[frozenset[str], float] = {}
        self.order: list[str] | None = None
        if self._path is not None and not self._path.parent.is_dir():
            raise PrecisionError(
                f"state={str(self._path)!r}: there is no folder {self._path.parent}", hint="make it first"
            )
        if self._path is not None and self._path.exists():
            self._read(self._path)

    @property
    def trials(self) -> int:
        """How many there were."""
        return len(self._values)

    def value(self, kept: Iterable[str]) -> float | None:
        """What came of keeping exactly these; None if that was not tried."""
        return self._values.get(frozenset(kept))

    def record(self, kept: Iterable[str], value: float) -> None:
        """Note a trial, and write the file."""
        self._values[frozenset(kept)] = value
        self._write()

    def keep_order(self, order: Sequence[str]) -> None:
        """Note the order of the candidates, and write the file."""
        self.order = list(order)
        self._write()

    def _read(self, path: Path) -> None:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            identity, order = document["search"], document["order"]
            differing = [name for name, value in self._identity.items() if identity.get(name) != value]
            order = None if order is None else list(map(str, order))
            values = {frozenset(trial["keep"]): float(trial["value"]) for trial in document["trials"]}
            same_format = document["format"] == _FORMAT
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise PrecisionError(
                f"{path} is not the state of a bisection: {reason(error)}",
                hint="remove it, or name another",
            ) from None
        if differing or not same_format:
            raise PrecisionError(
                f"{path} is the state of another bisection: another {', '.join(differing) or 'version'}",
                hint="remove it, or name another file",
            )
        self._values, self.order = values, order

    def _write(self) -> None:
        if self._path is None:
            return
        document = {
            "format": _FORMAT,
            "search": self._identity,
            "order": self.order,
            "trials": [{"value": value, "keep": sorted(kept)} for kept, value in self._values.items()],
        }
        write_text(self._path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
