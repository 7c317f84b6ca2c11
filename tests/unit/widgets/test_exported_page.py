"""A notebook with widgets, exported as docs/looking-inside.md says, shows them without scripts."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from traitlets.config import Config

import mlirtrt_nb as mt

RELU = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
STATE = "application/vnd.jupyter.widget-state+json"


@pytest.mark.parametrize("make", [mt.explore, mt.partition_view])
def test_a_widget_in_a_page_without_its_state(make: Any) -> None:
    """The static HTML takes the place of the widget once the notebook's metadata is left out."""
    shown = make(mt.from_mlir(RELU))
    bundle = shown._repr_mimebundle_()
    model = bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("display_data", bundle)])],
        metadata={"widgets": {STATE: {"version_major": 2, "version_minor": 0, "state": {model: {}}}}},
    )
    config = Config({"ClearMetadataPreprocessor": {"enabled": True}})
    page, _ = HTMLExporter(config=config, mathjax_url="", require_js_url="").from_notebook_node(notebook)
    assert shown._repr_html_() in page
    assert model not in page
