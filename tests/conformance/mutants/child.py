"""`python -m tests.conformance.mutants.child MODEL FIRST LAST`: take each mutant as far as it goes.

A line of JSON before each says which it is, one after it what came of it, so that whoever reads knows the one
that ended the process. Memory is limited, so that one that asks for too much ends with an error or the process.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from models.fetch import SHAPES

from .mutate import mutant

MEMORY = 6 << 30  # of address space, of which the libraries alone take half
SECONDS = 60  # of one mutant, on a machine that is busy with other things too
_ELEMENTS = 1 << 22  # of all inputs, for a mutant that is run


def main(path: str, first: int, last: int) -> None:
    """Report each mutant from `first` up to `last`."""
    import mlirtrt_nb  # noqa: F401

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    model = onnx.load(path)
    usual = SHAPES.get(Path(path).stem, {})
    for seed in range(first, last):
        change, data = mutant(model, seed)
        print(json.dumps({"seed": seed, "change": change}), flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        start = time.perf_counter()
        outcome = _outcome(data, usual)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"outcome": outcome, "seconds": time.perf_counter() - start}), flush=True)


def _outcome(data: bytes, usual: dict[str, Any]) -> str:
    """ "error: KIND: text", "the same", "differs: ..." or "unforeseen: ..."."""
    import mlirtrt_nb as mt

    try:
        program = mt.load(data)
        shapes = {spec.name: _shape(spec, usual) for spec in program.inputs}
        plan = mt.compile(program, "cpu", shapes=shapes or None, cache=False, isolate=False)
        if sum(int(np.prod(shape, dtype=object)) for shape in shapes.values()) > _ELEMENTS:
            return "compiled"
        inputs = {spec.name: _data(spec.name, shapes[spec.name], spec.dtype) for spec in program.inputs}
        ours = plan.session("cpu", threads=1).run(inputs)
    except mt.errors.MlirTrtError as error:
        return f"error: {type(error).__name__}: {str(error)[:300]}"
    except MemoryError:
        return "error: MemoryError"
    except Exception as error:
        return f"unforeseen: {type(error).__name__}: {str(error)[:300]}"
    return _compared(data, inputs, ours)


def _shape(spec: Any, usual: dict[str, Any]) -> tuple[int, ...]:
    """The input's shape, dynamic dimensions as the model is used, or 1."""
    _, opt, _ = usual.get(spec.name, ((), (), ()))
    sizes = opt if len(opt) == len(spec.shape) else (1,) * len(spec.shape)
    return tuple(dim if isinstance(dim, int) else size for dim, size in zip(spec.shape, sizes, strict=True))


def _data(name: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    from mlirtrt_nb.ir import dtypes

    kind = np.dtype(dtypes.by_mlir(dtype).np)
    rng = np.random.default_rng(len(name))
    if kind.kind in "iu":
        return np.full(shape, 16000 if name == "sr" else 1, kind)
    return rng.standard_normal(shape).astype(kind) if kind.kind != "O" else np.full(shape, "a", object)


def _compared(data: bytes, inputs: dict[str, np.ndarray], ours: dict[str, np.ndarray]) -> str:
    """Our results beside ONNX Runtime's, where it takes the model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        theirs = session.run(None, inputs)
    except Exception:
        return "alone"  # nothing to compare with
    for entry, expected in zip(session.get_outputs(), theirs, strict=True):
        found = ours.get(entry.name)
        if found is None or not isinstance(expected, np.ndarray) or expected.dtype.kind not in "fiub":
            continue
        if found.shape != expected.shape:
            return f"differs: {entry.name} is {found.shape}, expected {expected.shape}"
        if not np.allclose(found, expected, rtol=2e-2, atol=2e-3, equal_nan=True):
            worst = np.nanmax(np.abs(found.astype(np.float64) - expected.astype(np.float64)))
            return f"differs: {entry.name} by {worst:.3g}"
    return "the same"


if __name__ == "__main__":
    main(str(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]))
