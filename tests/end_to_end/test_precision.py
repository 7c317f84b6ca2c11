"""Real models in every precision: built for sm89, and near fp32 on the CPU."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mlirtrt_nb as mt
from models.fetch import SHAPES, model, sample

PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4")
# Signal over noise in dB that the first output has to have at least: by model, in the order of PRECISIONS.
# These weights are random, so that int4 is rough.
LEAST = {
    "shufflenet": (50, 50, 20, 10, 12),
    "encoder": (45, 30, 20, 15, 10),
}


@cache
def program(name: str) -> mt.Program:
    return mt.load(model(name))


@cache
def ranges(name: str) -> mt.Calibration:
    inputs = [sample(name, seed) for seed in (1, 2)]
    return mt.calibrate(program(name), inputs, "percentile", SHAPES.get(name))


@cache
def plan(name: str, base: str) -> mt.Plan:
    calibration = ranges(name) if base in ("int8", "fp8") else None
    return mt.compile(
        program(name),
        ["cpu", "sm89"],
        mt.Precision(base, calibration=calibration),
        SHAPES.get(name),
        cache=False,
    )


@cache
def exact(name: str) -> np.ndarray:
    session = mt.compile(program(name), shapes=SHAPES.get(name), cache=False).session("cpu")
    return next(iter(session.run(sample(name)).values()))


def snr_db(found: np.ndarray, truth: np.ndarray) -> float:
    noise = float(np.square(found.astype(np.float64) - truth).sum())
    return 10 * float(np.log10(np.square(truth.astype(np.float64)).sum() / noise))


@pytest.mark.parametrize("base", PRECISIONS)
@pytest.mark.parametrize("name", LEAST)
def test_each_precision_builds_and_is_near(name: str, base: str) -> None:
    """TensorRT takes every op, the interface keeps its types, and the CPU's results are near those of fp32."""
    made = plan(name, base)
    assert not len(made.fallbacks)
    assert [spec.dtype for spec in made.inputs] == [spec.dtype for spec in program(name).inputs]
    found = next(iter(made.session("cpu").run(sample(name)).values()))
    assert found.dtype == exact(name).dtype
    assert snr_db(found, exact(name)) >= LEAST[name][PRECISIONS.index(base)]


@pytest.mark.parametrize(("base", "most"), [("fp16", 0.51), ("int8", 0.27), ("int4", 0.16)])
def test_weights_of_the_engine(base: str, most: float) -> None:
    """The transformer's engine holds its weights in the type, scales and what is kept included."""
    whole = sum(array.nbytes for array in program("encoder").weights.values())
    engines = plan("encoder", base).engines
    found = engines[engines["target"] == "sm89"]["weights_bytes"].sum()
    assert found <= most * whole


def test_what_the_engine_computes_in() -> None:
    """The layers are in the type that the IR says: half for fp16, 8 bits between the layers for int8."""
    half = plan("encoder", "fp16").layers
    half = half[half["target"] == "sm89"]
    products = half[half["kind"] == "gemm"]
    assert len(products) and all(set(types) == {"f16"} for types in products["dtypes"])
    small = plan("shufflenet", "int8").layers
    small = small[small["target"] == "sm89"]
    assert sum("i8" in types for types in small["dtypes"]) >= 20


def test_the_cpu_runs_8_bit_kernels() -> None:
    """ONNX Runtime's integer kernels run the convolutions of the int8 Plan."""
    from collections import Counter

    from onnx import ModelProto

    from mlirtrt_nb.dialects.onnx.ort_session import open_session

    made = mt.compile(
        program("squeezenet"), precision=mt.Precision("int8", calibration=ranges("squeezenet")), cache=False
    )
    (engine,) = made.engine_values
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.onnx"
        open_session(engine.blob, made.weights, dump_to=str(path))
        kinds = Counter(node.op_type for node in ModelProto.FromString(path.read_bytes()).graph.node)
    assert kinds["QLinearConv"] >= 20 and kinds["QLinearConcat"] >= 5


def test_a_plan_keeps_its_small_weights(tmp_path: object) -> None:
    """A saved Plan runs the same after it is loaded, in int4 too, and 4-bit weights take half a byte each."""
    from pathlib import Path

    path = Path(str(tmp_path)) / "encoder.plan"
    made = mt.compile(program("encoder"), precision="int4", shapes=SHAPES["encoder"], cache=False)
    made.save(path)
    again = mt.Plan.load(path).session("cpu").run(sample("encoder"))
    for name, array in made.session("cpu").run(sample("encoder")).items():
        np.testing.assert_array_equal(array, again[name])
