"""Time of calibration, beside ONNX Runtime's calibrators on the same inputs with the same method."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationMethod
from onnxruntime.quantization.calibrate import create_calibrator

import mlirtrt_nb as mt
from models.fetch import sample

from .cases import case
from .quantization import Reader, whole_model
from .table import Benchmark, Row

__all__ = ["MODELS", "run"]

MODELS = ("squeezenet", "resnet50", "PP-OCRv6_rec_small", "encoder")
# Real sets have hundreds; with few, what is measured is how long it takes to open a session. Of the others the
# peer keeps every tensor of every batch in memory, which would not hold more.
BATCHES = {"minmax": 128, "percentile": 16, "entropy": 16}
_METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "percentile": CalibrationMethod.Percentile,
    "entropy": CalibrationMethod.Entropy,
}
# The best of so many runs each, in turn: a shared machine is slow now and then.
_ROUNDS = 2


def run(names: Sequence[str] = MODELS) -> list[Benchmark]:
    """Seconds from a loaded model to its ranges, for inputs that lie in memory."""
    found = Benchmark("calibration time", "onnxruntime.quantization.calibrate", None, 0.7)
    for name in names:
        if name in MODELS:
            found.rows += [_row(name, method) for method in _METHODS]
    return [found]


def _row(name: str, method: str) -> Row:
    path, shapes, _ = case(name)
    program = mt.load(path)
    given = [sample(name, seed) for seed in range(BATCHES[method])]
    plain = whole_model(mt.compile(program, shapes=shapes, cache=False))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        times[0].append(_seconds(lambda: mt.calibrate(program, given, method, shapes)))
        times[1].append(_seconds(lambda: _peer(plain, given, _METHODS[method])))
    return Row(name, method, min(times[0]), min(times[1]), "s", f"{BATCHES[method]} batches")


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _peer(model: onnx.ModelProto, given: Sequence[dict[str, np.ndarray]], method: CalibrationMethod) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"  # it takes a file only
        onnx.save(model, str(path))
        calibrator = create_calibrator(
            str(path),
            ["Conv", "MatMul", "Gemm", "Add"],
            augmented_model_path=str(Path(folder) / "augmented.onnx"),
            calibrate_method=method,
            extra_options={"symmetric": True},
        )
        calibrator.collect_data(Reader(given))
        calibrator.compute_data()
