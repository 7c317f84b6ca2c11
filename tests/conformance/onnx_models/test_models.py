"""ONNX's recorded models on the CPU, each against the results that the package carries."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt

from ..onnx_nodes.cases import NodeCase, agree, compile_shapes
from .cases import KINDS, classifier, collect

# How many cases there are of each kind at least.
COUNTS = {"simple": 18, "pytorch-operator": 35, "pytorch-converted": 80}
# Those whose weights are small enough to be made for a test.
CLASSIFIERS = ("squeezenet", "shufflenet", "inception_v1")


def problem(case: NodeCase) -> str | None:
    """None if the case passes on the CPU, else what goes wrong."""
    try:
        plan = mt.compile(case.model, shapes=compile_shapes(case), cache=False, isolate=False)
        with np.errstate(all="ignore"), plan.session("cpu", threads=1) as session:
            found = session.run(case.feeds())
            return agree(case, [found[entry.name] for entry in case.model.graph.output])
    except mt.MlirTrtError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_models(kind: str) -> None:
    """Every case of the kind gives its recorded results."""
    cases = collect(kind)
    assert len(cases) >= COUNTS[kind]
    assert {name: what for name, case in cases.items() if (what := problem(case))} == {}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_with_made_up_weights(name: str) -> None:
    """A whole classifier gives the output that ONNX's reference recorded."""
    assert problem(classifier(name)) is None
