"""The layered layout: no box on another, edges that point down, long ones straight."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from mlirtrt_nb.display.graph.layout import GAP_X, GAP_Y, lay_out


@st.composite
def graphs(draw):
    """Sizes of boxes, and edges from earlier to later ones."""
    count = draw(st.integers(1, 16))
    sizes = draw(st.lists(st.tuples(st.floats(20, 200), st.floats(20, 300)), min_size=count, max_size=count))
    edges = [
        (start, end)
        for end in range(count)
        for start in draw(st.sets(st.integers(0, end - 1), max_size=3) if end else st.just(set()))
    ]
    return sizes, edges


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_boxes_keep_their_distance_and_lie_inside_the_picture(graph):
    """Boxes of one row are a gap apart, rows are a gap apart, sizes are kept, and all is inside."""
    sizes, edges = graph
    layout = lay_out(sizes, edges)
    assert [(box.width, box.height) for box in layout.boxes] == sizes
    for box in layout.boxes:
        assert box.x > -1e-6 and box.x + box.width < layout.width + 1e-6
        assert box.y > -1e-6 and box.y + box.height < layout.height + 1e-6
    for a, b in itertools.combinations(layout.boxes, 2):
        beside = a.x + a.width + GAP_X <= b.x + 1e-6 or b.x + b.width + GAP_X <= a.x + 1e-6
        over = a.y + a.height + GAP_Y <= b.y + 1e-6 or b.y + b.height + GAP_Y <= a.y + 1e-6
        assert beside or over


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_edges_run_down_from_box_to_box_past_all_others(graph):
    """An edge starts at its first box's lower border, ends at its last one's upper border, never goes up, and
    where it runs straight down it meets no box."""
    sizes, edges = graph
    layout = lay_out(sizes, edges)
    for (start, end), route in zip(edges, layout.routes, strict=True):
        first, last = layout.boxes[start], layout.boxes[end]
        assert route[0] == (first.x + first.width / 2, first.y + first.height)
        assert route[-1] == (last.x + last.width / 2, last.y)
        for (x0, y0), (x1, y1) in itertools.pairwise(route):
            assert y1 > y0 - 1e-6
            for node, box in enumerate(layout.boxes):
                if node not in (start, end) and abs(x0 - x1) < 1e-9:
                    crossed = box.x < x0 < box.x + box.width and box.y < y1 and y0 < box.y + box.height
                    assert not crossed


def test_a_residual_block_is_symmetric():
    """A skip beside a block leaves what is above and below it in one line."""
    layout = lay_out([(100, 40)] * 5, [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)])
    centres = [box.x + box.width / 2 for box in layout.boxes]
    assert max(centres[0], centres[2], centres[4]) - min(centres[0], centres[2], centres[4]) < 1


def test_a_net_of_pairs_is_drawn_without_crossings():
    """Edges that can be uncrossed by reordering a row are uncrossed."""
    edges = [(0, 5), (1, 4), (2, 3)]
    layout = lay_out([(40, 20)] * 6, edges)
    starts = sorted(edges, key=lambda edge: layout.boxes[edge[0]].x)
    ends = sorted(edges, key=lambda edge: layout.boxes[edge[1]].x)
    assert starts == ends


def test_nothing_and_one_box():
    """Graphs of no box and of one have a size."""
    assert lay_out([], []).boxes == ()
    assert (lay_out([(50, 20)], []).width, lay_out([(50, 20)], []).height) == (50, 20)


def test_five_hundred_boxes():
    """A chain with skips of different lengths, larger than what is drawn by default: each below the last."""
    edges = [(n, n + 1) for n in range(499)] + [(n, n + 7) for n in range(0, 490, 5)]
    boxes = lay_out([(120, 40)] * 500, edges).boxes
    assert all(upper.y + upper.height + GAP_Y <= lower.y + 1e-6 for upper, lower in itertools.pairwise(boxes))
