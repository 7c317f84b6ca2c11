"""Names that are no text are refused wherever they stand in the model."""

from __future__ import annotations

import pytest
from onnx import parser

import mlirtrt_nb as mt
from mlirtrt_nb.frontends.onnx.texts import has_damaged_text

MODEL = """<ir_version: 8, opset_import: ["" : 17], producer_name: "producerX">
graphX (float[batchX, 4] inputX) => (float[batchX, 4] outputX) <float[4] weightX = {1, 2, 3, 4}>
{ middleX = Mul(inputX, weightX) outputX = Softmax<axis = 1>(middleX) }"""


@pytest.mark.parametrize("name", ["graphX", "batchX", "inputX", "outputX", "weightX", "middleX", "axis"])
def test_a_damaged_name_is_one_short_error(name: str) -> None:
    """Every place of a name with a byte that is no UTF-8: the file is called damaged, or the name unknown."""
    data = parser.parse_model(MODEL).SerializeToString()
    damaged = data.replace(name.encode(), b"\xff" + name[1:].encode())
    assert damaged != data
    with pytest.raises(mt.InvalidModelError) as caught:
        mt.from_onnx(damaged)
    assert "not text" in str(caught.value) and len(str(caught.value).splitlines()) <= 2


def test_a_sound_model_has_no_damaged_text() -> None:
    """Texts in any place of a sound model, and bytes in fields that may hold bytes, are no damage."""
    model = parser.parse_model(MODEL)
    model.graph.initializer[0].raw_data = b"\xff" * 16
    assert not has_damaged_text(model)
