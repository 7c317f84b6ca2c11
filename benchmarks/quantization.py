"""Accuracy and latency of int8 on the CPU, beside ONNX Runtime's own static quantization.

Both get the same calibration inputs, the same method, a scale per channel for weights and one per tensor for
activations, symmetric, and are judged on inputs that neither has seen. The peer starts from the CPU engine's
own ONNX file, batch normalizations folded, since it takes no opset as old as some of these models have.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)

import mlirtrt_nb as mt
from models.classifiers import NAMES
from models.fetch import sample

from .cases import case
from .cpu_latency import THREADS, peer_session, session_rows
from .table import Benchmark, Row

__all__ = ["MODELS", "Reader", "quantized_by_peer", "run", "whole_model"]

MODELS = (*NAMES, "PP-OCRv6_rec_small")
CALIBRATION, JUDGED = 4, 8  # inputs by seed


class Reader(CalibrationDataReader):
    """Calibration inputs for ONNX Runtime."""

    def __init__(self, inputs: Sequence[dict[str, np.ndarray]]) -> None:
        self._rest: Iterator[dict[str, np.ndarray]] = iter(inputs)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._rest, None)


def run(names: Sequence[str] = MODELS) -> list[Benchmark]:
    """Relative error (root of the mean square over that of fp32), top-1 answers that differ, and latency."""
    accuracy = Benchmark("int8 accuracy", "onnxruntime.quantization.quantize_static", None, 1.0)
    latency = Benchmark("int8 latency", "ONNX Runtime on its own int8 file", None, 1.05)
    for name in names:
        if name in MODELS:
            rows = _model(name)
            accuracy.rows += rows[0]
            latency.rows += rows[1]
    return [accuracy, latency]


def whole_model(plan: mt.Plan) -> onnx.ModelProto:
    """The ONNX model of a Plan of one CPU engine, its weights inside."""
    (engine,) = plan.engine_values
    model = onnx.ModelProto.FromString(bytes(engine.blob))
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            key = next(entry.value for entry in tensor.external_data if entry.key == "location")
            array = plan.weights[key].reshape(tuple(tensor.dims))
            tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), tensor.name))
    return model


def quantized_by_peer(model: onnx.ModelProto, inputs: Sequence[dict[str, np.ndarray]], folder: str) -> str:
    """ONNX Runtime's int8 file of a model."""
    made = str(Path(folder) / "int8.onnx")
    quantize_static(
        model,
        made,
        Reader(inputs),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=CalibrationMethod.MinMax,
        extra_options={"ActivationSymmetric": True, "WeightSymmetric": True},
    )
    return made


def _model(name: str) -> tuple[list[Row], list[Row]]:
    """The rows of accuracy, and those of latency."""
    path, shapes, inputs = case(name)
    given = [sample(name, seed) for seed in range(CALIBRATION)]
    judged = [sample(name, CALIBRATION + seed) for seed in range(JUDGED)]
    program = mt.load(path)
    plain = mt.compile(program, shapes=shapes, cache=False)
    ranges = mt.calibrate(program, given, method="minmax", shapes=shapes)
    precision = mt.Precision("int8", calibration=ranges)
    plan = mt.compile(program, precision=precision, shapes=shapes, cache=False)
    truth = _outputs(peer_session(path), judged)
    with tempfile.TemporaryDirectory() as folder:
        file = quantized_by_peer(whole_model(plain), given, folder)
        session = plan.session("cpu", threads=THREADS)
        ours = [np.asarray(next(iter(session.run(x).values()))) for x in judged]
        theirs = _outputs(peer_session(file), judged)
        del session
        latency = session_rows(
            name,
            lambda threads: partial(plan.session("cpu", threads=threads).run, inputs),
            lambda threads: partial(peer_session(file, threads).run, None, inputs),
        )
    accuracy = [
        Row(name, "relative error", _error(ours, truth), _error(theirs, truth), ""),
        Row(name, "top-1 differs", _differs(ours, truth), _differs(theirs, truth), "share"),
    ]
    return accuracy, latency


def _outputs(session: ort.InferenceSession, judged: Sequence[dict[str, Any]]) -> list[np.ndarray]:
    return [session.run(None, x)[0] for x in judged]


def _error(found: Sequence[np.ndarray], truth: Sequence[np.ndarray]) -> float:
    noise = sum(float(np.square(a.astype(np.float64) - b).sum()) for a, b in zip(found, truth, strict=True))
    return float(np.sqrt(noise / sum(float(np.square(b.astype(np.float64)).sum()) for b in truth)))


def _differs(found: Sequence[np.ndarray], truth: Sequence[np.ndarray]) -> float:
    """Share of the answers that differ; along the last axis that is longer than 1."""
    pairs = [(_answers(a), _answers(b)) for a, b in zip(found, truth, strict=True)]
    return float(np.mean([np.mean(a != b) for a, b in pairs]))


def _answers(array: np.ndarray) -> np.ndarray:
    rows = array.reshape(array.shape[0], -1) if array.ndim == 4 else array
    return rows.argmax(-1)
