"""What code in the worker prints, also after it did something to the streams."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from mlirtrt_nb.worker.streams import PrintedText


def _unclosed() -> None:
    print("begun", end="")
    sys.stdout = None


def _closed() -> None:
    print("begun", end="")
    sys.stdout.close()


@pytest.mark.parametrize("spoil", [_unclosed, _closed])
def test_the_next_step_prints_again(spoil: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that closes its output, or puts another there, leaves that of the next one as it was."""
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # put back at the end
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    taken: list[tuple[int, str]] = []
    printed = PrintedText(lambda number, text: taken.append((number, text)))
    spoil()
    printed.end_step()
    print("next")
    print("error", file=sys.stderr)
    printed.end_step()
    assert taken == [(1, "begun"), (1, "next\n"), (2, "error\n")]
