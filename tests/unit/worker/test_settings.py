"""What `isolate=` and the environment mean."""

from __future__ import annotations

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.worker import isolation_of


@pytest.mark.parametrize(
    ("text", "size"),
    [(1000, 1000), ("8 GiB", 8 << 30), ("512MB", 512 << 20), ("1.5g", 3 << 29), ("64k", 65536), ("7", 7)],
)
def test_sizes(text: int | str, size: int) -> None:
    """A limit of memory is a number of bytes or a text with a unit."""
    assert mt.Isolation(memory_limit=text).memory_bytes == size


@pytest.mark.parametrize(
    "limits", [{"memory_limit": "much"}, {"memory_limit": 0}, {"timeout": -1}, {"timeout": "x"}]
)
def test_wrong_limits(limits: dict[str, object]) -> None:
    """What is no positive amount is refused when it is given."""
    with pytest.raises(mt.OptionError, match=next(iter(limits))):
        mt.Isolation(**limits)  # type: ignore[arg-type]


def test_defaults_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """On unless the environment or the call says otherwise; limits come from the environment too."""
    monkeypatch.delenv("MLIRTRT_NB_ISOLATE", raising=False)
    assert isolation_of(None) == isolation_of(True) == mt.Isolation()
    assert isolation_of(False) is None
    monkeypatch.setenv("MLIRTRT_NB_ISOLATE", "off")
    assert isolation_of(None) is None and isolation_of(True) == mt.Isolation()
    limits = mt.Isolation(timeout=5)
    assert isolation_of(limits) is limits
    monkeypatch.setenv("MLIRTRT_NB_WORKER_MEMORY", "2 GiB")
    monkeypatch.setenv("MLIRTRT_NB_WORKER_TIMEOUT", "90")
    assert (mt.Isolation().memory_bytes, mt.Isolation().seconds, limits.seconds) == (2 << 30, 90.0, 5.0)
    monkeypatch.setenv("MLIRTRT_NB_WORKER_MEMORY", "lots")
    with pytest.raises(mt.OptionError, match="MLIRTRT_NB_WORKER_MEMORY 'lots'"):
        _ = mt.Isolation().memory_bytes


def test_the_default_limit_of_memory_leaves_room() -> None:
    """Without a limit the worker may hold a part of the machine's memory."""
    assert 0 < mt.Isolation().memory_bytes < 1 << 60


def test_anything_else_is_refused() -> None:
    """`isolate=` takes three kinds of value."""
    with pytest.raises(mt.OptionError, match="isolate= is a str"):
        isolation_of("yes")  # type: ignore[arg-type]
