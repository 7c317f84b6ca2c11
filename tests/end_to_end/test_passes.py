"""No pass changes what a model computes: each left out, each other put in, held against no pass at all."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mlirtrt_nb as mt
from models.fetch import NAMES, SHAPES, model, sample

TOLERANCE = 1e-4  # max abs error / max abs value
# Small enough to be compiled often; between them they have every kind of op that a pass rewrites.
SMALL = ("squeezenet", "shufflenet", "encoder", "encoder_decomposed_norm", "silero_vad_16k_sequence")
NEEDED = ("onnx-to-tensorrt", "plan-clustering", "plan-outline-clusters")
DEFAULT = [entry.name for entry in mt.Pipeline.default()]
# Passes of the dialect that the default does without, in the order in which they make sense together.
OTHERS = ("tensorrt-canonicalize", "constant-folding", "expand-ops", "expand-recurrent")


@cache
def program(name: str) -> mt.Program:
    return mt.load(model(name))


def outputs(name: str, pipeline: mt.Pipeline) -> dict[str, np.ndarray]:
    """What the model gives on the CPU after the passes."""
    plan = mt.compile(program(name), target="cpu", shapes=SHAPES.get(name), pipeline=pipeline, cache=False)
    return plan.session("cpu").run(sample(name))


@cache
def expected(name: str) -> dict[str, np.ndarray]:
    """What the model gives without any pass that could be left out."""
    return outputs(name, mt.Pipeline.parse(",".join(NEEDED)))


def check(name: str, pipeline: mt.Pipeline) -> None:
    """The passes leave each output of the model as it was, but for rounding."""
    found = outputs(name, pipeline)
    for key, value in expected(name).items():
        assert found[key].shape == value.shape
        error = np.abs(found[key] - value).max() / np.abs(value).max()
        assert error <= TOLERANCE, (key, float(error))


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("left_out", [name for name in DEFAULT if name not in NEEDED])
def test_without_one_pass(name: str, left_out: str) -> None:
    """The default pipeline without one of its passes gives the same numbers."""
    check(name, mt.Pipeline.default().disable(left_out))


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("put_in", OTHERS)
def test_with_one_more_pass(name: str, put_in: str) -> None:
    """The default pipeline with one of the other passes gives the same numbers."""
    check(name, mt.Pipeline.default().insert(put_in, before="plan-clustering"))


@pytest.mark.parametrize("name", NAMES)
def test_with_every_pass(name: str) -> None:
    """Every model gives the same numbers after all passes as after none."""
    pipeline = mt.Pipeline.default()
    for put_in in OTHERS:
        pipeline.insert(put_in, before="plan-clustering")
    check(name, pipeline)
