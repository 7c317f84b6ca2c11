"""Placing buffers into one arena."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mlirtrt_nb.passes.plan.arena import Lifetime, place

LIFETIMES = st.lists(
    st.builds(
        lambda size, first, span: Lifetime(size, first, first + span),
        st.integers(0, 5000),
        st.integers(0, 20),
        st.integers(0, 8),
    ),
    max_size=25,
)


@settings(max_examples=200, deadline=None)
@given(LIFETIMES, st.sampled_from([1, 64, 256]))
def test_no_two_live_buffers_share_a_byte(buffers: list[Lifetime], alignment: int) -> None:
    """Whatever the buffers, those that live together are apart, aligned, and inside the arena."""
    made = place(buffers, alignment)
    for offset, buffer in zip(made.offsets, buffers, strict=True):
        assert offset % alignment == 0
        assert offset + buffer.bytes <= made.peak
    for (at_a, a), (at_b, b) in itertools.combinations(zip(made.offsets, buffers, strict=True), 2):
        if a.overlaps(b) and a.bytes and b.bytes:
            assert at_a + a.bytes <= at_b or at_b + b.bytes <= at_a
    assert made.peak >= made.lower_bound


def test_a_chain_needs_two_buffers() -> None:
    """Of a chain of equal steps only two buffers are ever live, and two is what the arena holds."""
    made = place([Lifetime(1000, n, n + 1) for n in range(50)], 64)
    assert made.peak == made.lower_bound == 2 * 1024
    assert set(made.aliases) == {0, 1}


def test_the_lower_bound_is_the_worst_step() -> None:
    """The bound adds what is live at the worst step: here the two long-lived buffers and the large one."""
    buffers = [Lifetime(64, 0, 9), Lifetime(64, 0, 9), Lifetime(640, 4, 4), Lifetime(128, 6, 7)]
    assert place(buffers, 64).lower_bound == 64 + 64 + 640


def test_close_to_the_bound_on_random_graphs() -> None:
    """Over a hundred random sets of buffers the arena is within 5 % of the bound on average."""
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(100):
        firsts = rng.integers(0, 40, 60)
        made = place(
            [Lifetime(int(rng.integers(1, 100)) * 64, int(f), int(f + rng.integers(1, 10))) for f in firsts], 64
        )
        ratios.append(made.peak / made.lower_bound)
    assert np.mean(ratios) < 1.05


def test_nothing_to_place() -> None:
    """No buffers need no arena."""
    made = place([], 64)
    assert (made.offsets, made.peak, made.lower_bound) == ((), 0, 0)
