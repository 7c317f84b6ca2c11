"""Numbers as people read them."""

import numpy as np
import pandas as pd
import pytest

from mlirtrt_nb.display.units import byte_size, count, duration, missing, plural


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (102 * 1024, "102 KiB"),
        (97.8 * 2**20, "97.8 MiB"),
        (3 * 2**40, "3.0 TiB"),
        (5000 * 2**40, "5000 TiB"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_byte_size(value: float | None, text: str) -> None:
    """Sizes use binary units and one decimal below a hundred."""
    assert byte_size(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3.82e-6, "3.82 µs"),
        (0.0471, "47.1 ms"),
        (1.316, "1.32 s"),
        (59.5, "59.5 s"),
        (125, "2 min 05 s"),
        (float("inf"), "∞"),
        (None, "–"),
    ],
)
def test_duration(seconds: float | None, text: str) -> None:
    """Times keep three digits in the unit that fits."""
    assert duration(seconds) == text


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_missing(value: object) -> None:
    """Every kind of nothing is missing."""
    assert missing(value)
    assert count(value) == "–"


@pytest.mark.parametrize("value", [0, 0.0, "", False])
def test_zero_is_not_missing(value: object) -> None:
    """A zero is a value."""
    assert not missing(value)


def test_counts_and_plurals() -> None:
    """Groups of three are kept together by a thin space; nouns agree with their number."""
    assert count(1240) == "1 240"
    assert plural(1, "engine") == "1 engine"
    assert plural(0, "engine") == "0 engines"
    assert plural(1240, "entry") == "1 240 entries"
    assert plural(2, "array") == "2 arrays"
