"""What each op costs alone, at the outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import Cancelled, OptionError

from .models import classifier, inputs, overflowing


def test_the_overflowing_op_costs_most() -> None:
    """blow alone makes the outputs infinite, and so does shrink, which reads its result; the others are
    harmless."""
    found = mt.sensitivity(overflowing(), "fp16", inputs((4, 8), 2))
    assert set(found.patterns[:2]) == {"blow", "shrink"}
    assert (found.df["output_snr_db"][:2] == -np.inf).all()
    assert (found.df["output_snr_db"][2:] > 40).all()


def test_costs_alone_add_up_to_about_the_whole() -> None:
    """Rounding errors of different ops are independent: their noise adds up to that of the whole program."""
    samples = inputs((1, 3, 12, 12), 3)
    found = mt.sensitivity(classifier(), "bf16", samples)
    assert found.df["noise_share"].sum() == pytest.approx(1.0)
    together = mt.error_curve(classifier(), "bf16", samples).ops[-1].reached
    alone = sum(entry.output.squares for entry in found.ops)
    assert 0.2 < alone / together.squares < 5


def test_keep_makes_a_precision() -> None:
    """The costliest nodes are kept, beside what was kept already."""
    found = mt.sensitivity(overflowing(), mt.Precision("fp16", keep="dense1"), inputs((4, 8), 1))
    kept = [entry.pattern for entry in found.keep(1).keep]
    assert kept == ["dense1", found.patterns[0]]
    assert "dense1" not in found.patterns


def test_shown_and_stopped() -> None:
    """The card lists the costliest first; a progress that says no ends it."""
    found = mt.sensitivity(classifier(), "bf16", inputs((1, 3, 12, 12), 1))
    assert found.ops[0].source in str(found)
    assert "noise share" in found._repr_html_()
    assert found.plot().axes
    with pytest.raises(Cancelled):
        mt.sensitivity(classifier(), "bf16", progress=lambda *_: False)


@pytest.mark.parametrize("count", [-1, "2", True, 1.5])
def test_a_number_of_nodes_to_keep(count: Any) -> None:
    """How many nodes are kept is a whole number from 0 on."""
    found = mt.sensitivity(overflowing(), "bf16", inputs((4, 8), 1))
    with pytest.raises(OptionError, match="a number of source nodes"):
        found.keep(count)
    assert found.keep(0).keep == ()
