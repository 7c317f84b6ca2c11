"""Functions compiled for the host: what a call costs and what compiling costs, beside MLIR's bindings alone."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mlirtrt_nb as mt

from .table import Benchmark, Row
from .timing import alternate

__all__ = ["run"]

_ADD = """func.func @main(%x: tensor<SIZExf32>, %y: tensor<SIZExf32>) -> tensor<SIZExf32> {
  %0 = arith.addf %x, %y : tensor<SIZExf32>
  return %0 : tensor<SIZExf32>
}"""
# The same into memory that the caller gives, as MLIR's own bindings are used.
_ADD_INTO = """func.func @main(%x: memref<SIZExf32>, %y: memref<SIZExf32>, %z: memref<SIZExf32>)
    attributes {llvm.emit_c_interface} {
  linalg.add ins(%x, %y : memref<SIZExf32>, memref<SIZExf32>) outs(%z : memref<SIZExf32>)
  return
}"""
_PLAIN = (
    "one-shot-bufferize{bufferize-function-boundaries},buffer-deallocation-pipeline,convert-linalg-to-loops,"
    "convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-math-to-llvm,convert-math-to-libm,"
    "convert-arith-to-llvm,finalize-memref-to-llvm,convert-cf-to-llvm,convert-func-to-llvm,"
    "reconcile-unrealized-casts"
)
_TENSORS = f"convert-elementwise-to-linalg,linalg-fuse-elementwise-ops,{_PLAIN}"
_LAYERS = 20


def run(seconds: float = 2.0) -> list[Benchmark]:
    """Calls on small and large arrays beside ExecutionEngine.invoke, and beside NumPy; compiling beside a plain
    pipeline of the same passes without checks."""
    return [_calls(seconds), _beside_numpy(seconds), _compiling()]


def _calls(seconds: float) -> Benchmark:
    benchmark = Benchmark("host call", "ExecutionEngine.invoke with descriptors of NumPy arrays", 1.5)
    for size in (4, 1 << 20):
        x, y, z = (np.ones(size, np.float32) for _ in range(3))
        ours = _ours(_ADD, size)
        invoke = _invoked(size, x, y, z)
        times = alternate(lambda: ours(x, y), invoke, seconds=seconds, inner=_inner(size))  # noqa: B023
        benchmark.rows.append(Row(f"add of {size}", "call", times[0] * 1e6, times[1] * 1e6, "us"))
    return benchmark


def _beside_numpy(seconds: float) -> Benchmark:
    benchmark = Benchmark("host call beside NumPy", "NumPy")
    for size in (4, 1 << 20):
        x, y = (np.ones(size, np.float32) for _ in range(2))
        ours = _ours(_ADD, size)
        times = alternate(lambda: ours(x, y), lambda: x + y, seconds=seconds, inner=_inner(size))  # noqa: B023
        benchmark.rows.append(Row(f"add of {size}", "call", times[0] * 1e6, times[1] * 1e6, "us"))
    return benchmark


def _inner(size: int) -> int:
    return 1000 if size < 1000 else 1


def _ours(text: str, size: int) -> Callable[..., Any]:
    return mt.jit(mt.from_mlir(text.replace("SIZE", str(size))))


def _invoked(size: int, *arrays: np.ndarray) -> Callable[[], None]:
    """A call as the bindings' own documentation makes it: descriptors anew for each call."""
    from torch_mlir import ir
    from torch_mlir.execution_engine import ExecutionEngine
    from torch_mlir.passmanager import PassManager
    from torch_mlir.runtime import get_ranked_memref_descriptor

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(_ADD_INTO.replace("SIZE", str(size)))
        PassManager.parse(f"builtin.module({_PLAIN})").run(module.operation)
        engine = ExecutionEngine(module, opt_level=2)

    def call() -> None:
        pointers = [ctypes.pointer(ctypes.pointer(get_ranked_memref_descriptor(array))) for array in arrays]
        engine.invoke("main", *pointers)

    return call


def _compiling() -> Benchmark:
    """MLIR's passes and LLVM, for a chain of matrix products and activations."""
    from torch_mlir import ir
    from torch_mlir.execution_engine import ExecutionEngine
    from torch_mlir.passmanager import PassManager

    benchmark = Benchmark("host compile", "the same passes, without checks", 3.0)
    text = _network()

    def ours() -> None:
        mt.jit(mt.from_mlir(text))

    def plain() -> None:
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            PassManager.parse(f"builtin.module({_TENSORS})").run(module.operation)
            ExecutionEngine(module, opt_level=2).raw_lookup("main")

    times: list[list[float]] = [[], []]
    for _ in range(4):
        for kept, call in zip(times, (ours, plain), strict=True):
            start = time.perf_counter()
            call()
            kept.append(time.perf_counter() - start)
    benchmark.rows.append(Row(f"{_LAYERS} layers", "text to code", min(times[0]), min(times[1]), "s"))
    return benchmark


def _network() -> str:
    """Layers of a matrix product, a sum and a tanh."""
    kind = "tensor<8x8xf32>"
    lines = [f"func.func @main(%v0: {kind}, %w: {kind}) -> {kind} attributes {{llvm.emit_c_interface}} {{"]
    lines.append(f"  %z = arith.constant dense<0.0> : {kind}")
    for n in range(_LAYERS):
        lines += [
            f"  %m{n} = linalg.matmul ins(%v{n}, %w : {kind}, {kind}) outs(%z : {kind}) -> {kind}",
            f"  %s{n} = arith.addf %m{n}, %v{n} : {kind}",
            f"  %v{n + 1} = math.tanh %s{n} : {kind}",
        ]
    return "\n".join([*lines, f"  return %v{_LAYERS} : {kind}", "}"])
