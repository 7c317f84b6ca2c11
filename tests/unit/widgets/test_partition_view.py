"""The partition view follows its controls, and shows the card where there are none."""

from __future__ import annotations

import sys

import ipywidgets
import pytest
from onnx import parser

import mlirtrt_nb as mt

CHAIN = """<ir_version: 8, opset_import: ["" : 17]> main (float[2,4,4] x) => (float[2] y)
{ a = Relu(x)  b = Tanh(a)  c = Det(b)  y = Sqrt(c) }"""


@pytest.fixture
def view():
    """A view of two engines, of two ops and of one."""
    return mt.partition_view(mt.from_onnx(parser.parse_model(CHAIN)))


def test_the_card_follows_the_slider_and_the_choice(view) -> None:
    """Moving a control cuts again with its setting and shows the new card."""
    controls, card = view.widget.children
    slider, merge = controls.children
    assert isinstance(slider, ipywidgets.IntSlider) and (slider.min, slider.max) == (1, 2)
    assert "engine_1" in card.value
    slider.value = 2
    assert view.partition.engines == 1 and "engine_1" not in card.value
    merge.value = "none"
    assert view.partition.merge == "none" and "merge=none" in card.value


def test_the_view_can_be_set_without_a_widget(view) -> None:
    """The state is a plain object: set() cuts again, and no widget is made for it."""
    assert view.set(min_cluster_size=2).engines == 1
    assert "engine_1" not in view._repr_html_()
    with pytest.raises(mt.OptionError):
        view.set(merge="some")


def test_output_has_a_widget_and_static_html(view) -> None:
    """A front end without a kernel shows the card; one with widgets the controls."""
    bundle = view._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert "engine_1" in bundle["text/html"] and "engine_1" in bundle["text/plain"]


def test_without_ipywidgets_the_card_is_shown(view, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ipywidgets is missing the same is shown, static."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert set(view._repr_mimebundle_()) == {"text/html", "text/plain"}
    with pytest.raises(mt.MissingDependencyError, match="ipywidgets"):
        _ = view.widget
