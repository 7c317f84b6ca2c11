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


@pytest.mark.parametrize(
    ("make", "words"), [(mt.explore, "Passes on program"), (mt.partition_view, "What other settings would do")]
)
def test_a_widget_in_a_page_without_its_state(make: Any, words: str) -> None:
    """The static HTML takes the place of the widget once the notebook's metadata is left out."""
    bundle = make(mt.from_mlir(RELU))._repr_mimebundle_()
    model = bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("display_data", bundle)])],
        metadata={"widgets": {STATE: {"version_major": 2, "version_minor": 0, "state": {model: {}}}}},
    )
    settings = Config({"ClearMetadataPreprocessor": {"enabled": True}})
    pages = [HTMLExporter(config=config).from_notebook_node(notebook)[0] for config in (Config(), settings)]
    assert [words in page for page in pages] == [False, True]
    assert [model in page for page in pages] == [True, False]
