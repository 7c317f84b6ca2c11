"""What becomes of each precision in the `sm89` engine: whether it builds, its weights, its layers.

Accuracy and latency of int8 are in `quantization`, the time of calibration in `calibration`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

import mlirtrt_nb as mt
from mlirtrt_nb.comparison.engines import EngineNumbers, engine_numbers
from mlirtrt_nb.errors import MlirTrtError
from models.fetch import sample

from .cases import SPINE, case
from .peers.tensorrt_parser import build_with_parser
from .quantization import quantized_by_peer, whole_model
from .table import Benchmark, Row

__all__ = ["run"]

PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4")
# Limits on the bytes of weights over those of fp32, and the models that they are held against.
WEIGHTS = {"fp16": 0.51, "int8": 0.27, "int4": 0.16}
WEIGHED = ("resnet50", "encoder")
CALIBRATION = 2  # inputs by seed: ranges decide neither builds, nor bytes, nor layers


def run(names: Sequence[str] = SPINE) -> list[Benchmark]:
    """One row per model for builds and layers; one per model and precision for weights."""
    builds = Benchmark("precision builds", "as many as there are; the note has NVIDIA's parser", None, 1.0)
    layers = Benchmark("int8 layers", "the fp32 engine's", None, None)
    weights = [
        Benchmark(f"{name} weights", "the fp32 engine's", None, limit) for name, limit in WEIGHTS.items()
    ]
    for name in names:
        numbers, refused = _built(name)
        exact = numbers["fp32"]
        made = sum(precision in numbers for precision in PRECISIONS)
        note = "; ".join([*refused, _parser(name)])
        builds.rows.append(Row(name, "precisions", len(PRECISIONS), made or 0.1, "", note))
        if "int8" in numbers:
            found = numbers["int8"]
            left = f"{found.reformat_layers} reformat (fp32: {exact.reformat_layers}), {found.qdq_layers} Q/DQ"
            layers.rows.append(Row(name, "layers", found.layers, exact.layers, "", left))
        if name in WEIGHED:
            for benchmark, precision in zip(weights, WEIGHTS, strict=True):
                if precision in numbers:
                    benchmark.rows.append(_bytes(name, numbers[precision], exact))
    return [benchmark for benchmark in (builds, *weights, layers) if benchmark.rows]


def _built(name: str) -> tuple[dict[str, EngineNumbers], list[str]]:
    """The numbers of each precision that builds, fp32 included, and why the others do not."""
    path, shapes, _ = case(name)
    program = mt.load(path)
    ranges = mt.calibrate(program, [sample(name, seed) for seed in range(CALIBRATION)], shapes=shapes)
    numbers: dict[str, EngineNumbers] = {}
    refused = []
    for precision in ("fp32", *PRECISIONS):
        chosen = mt.Precision(precision, calibration=ranges if precision in ("int8", "fp8") else None)
        try:
            plan = mt.compile(program, "sm89", chosen, shapes, cache=False)
        except MlirTrtError as error:
            refused.append(f"{precision}: {error.what[:60]}")
            continue
        found = engine_numbers(plan, "sm89")
        if found is None:
            refused.append(f"{precision}: nothing is left for TensorRT")
        else:
            numbers[precision] = found
    if "fp32" not in numbers:
        raise RuntimeError(f"{name} does not build in fp32: {'; '.join(refused)}")
    return numbers, refused


def _bytes(name: str, found: EngineNumbers, exact: EngineNumbers) -> Row:
    return Row(name, "weights", found.weights_bytes or 0, exact.weights_bytes, "B")


def _parser(name: str) -> str:
    """What NVIDIA's parser makes of ONNX Runtime's int8 file of the model."""
    path, shapes, _ = case(name)
    inputs = [sample(name, seed) for seed in range(CALIBRATION)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            plan = mt.compile(path, "cpu", shapes=shapes, cache=False)
            made = quantized_by_peer(whole_model(plan), inputs, folder)
        except Exception as error:  # ONNX Runtime's quantizer raises what it happens to run into
            return f"ONNX Runtime makes no int8 file: {type(error).__name__}"
        refusal = build_with_parser(made, shapes).refusal
    return (
        "NVIDIA's parser builds ONNX Runtime's int8 file" if refusal is None else "NVIDIA's parser refuses it"
    )
