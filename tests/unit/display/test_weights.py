"""The weights of a Program and a Plan as a cell's last line."""

from __future__ import annotations

import pickle

import numpy as np
from IPython.lib.pretty import pretty

import mlirtrt_nb as mt
from mlirtrt_nb.weights import Weights
from models.fetch import model


def test_weights_are_shown_without_their_values() -> None:
    """Squeezenet's 52 arrays: the first 20 by shape, dtype and size, the rest counted, as text and HTML."""
    weights = mt.load(model("squeezenet")).weights
    assert repr(weights).startswith("<Weights: 4.7 MiB in ") and "\n" not in repr(weights)
    first, array = next(iter(weights.items()))
    lines = pretty(weights).splitlines()
    assert pretty(weights) == str(weights)
    shape = "x".join(map(str, array.shape))
    assert any(line.split()[:3] == [first, shape, "float32"] for line in lines)
    assert len(lines) == 20 + 6 and lines[-1].split() == ["…", str(len(weights) - 20), "more", "rows"]
    html = weights._repr_html_()
    assert f"<td>{shape}</td><td>float32</td>" in html and f"… {len(weights) - 20} more rows" in html
    assert html.count("<tr>") == 21


def test_weights_stay_a_dict() -> None:
    """They equal a plain dict, go through pickle, and the table of one Program is passed on as it is."""
    array = np.zeros((), np.float32)
    weights = Weights(a=array)
    assert weights == {"a": array} and pickle.loads(pickle.dumps(weights)) == weights
    program = mt.Program(mt.from_mlir("func.func @main() { return }").module, weights)
    assert program.weights is weights and program.clone().weights["a"] is array
    assert "scalar" in str(weights) and str(Weights()) == "Weights  (none)"


def test_a_plan_shares_its_weights_with_its_program() -> None:
    """Both show the same table, which is never copied."""
    plan = mt.compile(model("squeezenet"), "cpu")
    assert isinstance(plan.weights, Weights) and plan.program.weights is plan.weights
    assert len(pretty(plan.weights)) < 3000
