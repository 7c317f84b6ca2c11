"""Which layers of an engine only move or only quantize, told by the builders' own names."""

from __future__ import annotations

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.comparison.engines import engine_numbers, layer_role
from mlirtrt_nb.engine.base import LayerRow
from tests.unit.numerics.models import classifier, inputs

ROWS = [
    ("__myl_Move_myl0_0", "kgen", "reformat"),
    ("__myl_CastTran_myl0_12", "kgen", "reformat"),
    ("Reformatting CopyNode for Input 0", "Reformat", "reformat"),
    ("conv #2", "Cast", "reformat"),
    ("__myl_CastMulMinMaxRounCast_myl0_0", "kgen", "qdq"),
    ("q", "QuantizeLinear", "qdq"),
    ("dq", "DequantizeLinear", "qdq"),
    ("__myl_MulCastExpMulMinMaxRounCast_myl0_2", "kgen", "work"),
    ("__myl_Relu_myl0_2", "kgen", "work"),
    ("conv_myl0_1", "correlation", "work"),
    ("__myl_broken", "kgen", "work"),
]


@pytest.mark.parametrize(("name", "kind", "role"), ROWS)
def test_roles_of_layers(name: str, kind: str, role: str) -> None:
    """Moves and casts alone are reformats; rounding and scaling alone is quantization; all else is work."""
    assert layer_role(LayerRow(name, kind)) == role


def test_numbers_of_real_engines() -> None:
    """The builder's own numbers for sm89, and none for a target without engines."""
    plan = mt.compile(classifier(), "sm89", "fp16", cache=False)
    numbers = engine_numbers(plan, "sm89")
    assert numbers is not None
    assert numbers.layers > 0
    assert numbers.weights_bytes is not None and numbers.memory_bytes is not None
    assert numbers.memory_bytes >= numbers.weights_bytes
    assert "TensorRT" in numbers.builder
    assert engine_numbers(plan, "cpu") is None


def test_a_gpu_target_gives_layers_and_no_latency() -> None:
    """Without a device for it, sm89 rows have layers and bytes; latency is missing, and the note says so."""
    found = mt.compare(
        classifier(), ("fp32", "fp16"), inputs((1, 3, 12, 12), 1), target="sm89", duration_ms=30, cache=False
    )
    assert found.df["engine_layers"].gt(0).all()
    assert found.df["activation_bytes"].notna().all()
    assert found.df["snr_db"].notna().all()
    if not found.reports:
        assert found.df["latency_ms"].isna().all()
        assert any("latency not measured" in note for note in found.notes("fp16"))
        assert found.sources["latency_ms"] == "not measured"


def test_a_precision_that_a_target_lacks_is_a_marked_row() -> None:
    """The row says what the target has; the other row is built."""
    found = mt.compare(
        classifier(), ("fp32", "fp8"), inputs((1, 3, 12, 12), 1), target="sm80", duration_ms=30, cache=False
    )
    assert list(found.df["failed"]) == [False, True]
    assert "sm80 has no fp8" in found.df.loc[1, "notes"]
    assert "it has fp32, fp16" in found.df.loc[1, "notes"]
    assert found.df.loc[0, "engine_layers"] > 0
