"""ONNX's own cases of LSTM, GRU and RNN: the CPU gives the expected numbers, and TensorRT takes the whole."""

from __future__ import annotations

import pytest

import mlirtrt_nb as mt

from .onnx_nodes.cases import agree, collect

KINDS = ("test_lstm", "test_gru", "test_rnn", "test_simple_rnn")
NAMES = [
    *(f"test_lstm_{name}" for name in ("defaults", "with_initial_bias", "with_peepholes")),
    *(f"test_gru_{name}" for name in ("defaults", "with_initial_bias", "seq_length")),
    *(f"test_simple_rnn_{name}" for name in ("defaults", "with_initial_bias")),
    "test_rnn_seq_length",
    *(
        f"test_{kind}_{form}"
        for kind in ("lstm", "gru", "simple_rnn")
        for form in ("batchwise", "reverse", "bidirectional")
    ),
]


def test_every_case_is_listed() -> None:
    """None of ONNX's cases is left out here."""
    assert sorted(name for name in collect() if name.startswith(KINDS)) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str) -> None:
    """The results are ONNX's, nothing falls back, and the engine for sm89 is one and real."""
    case = collect()[name]
    plan = mt.compile(case.model, target=["cpu", "sm89"], cache=False)
    assert plan.fallbacks.empty
    engines = plan.engines[plan.engines.target == "sm89"]
    assert len(engines) == 1 and (engines.layers > 0).all()
    found = plan.session("cpu").run(case.feeds())
    assert agree(case, list(found.values())) is None
