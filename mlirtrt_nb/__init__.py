"""MLIR-TensorRT in a notebook.

    import mlirtrt_nb as mt
    program = mt.load("model.onnx")
    plan = mt.compile(program, target=["cpu", "sm89"])
    y = plan.session("cpu")(x)

Every public name is here and is imported when it is first used, so that importing the package costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"

# Public name -> the module that defines it. The errors are public too, from errors.py.
_EXPORTS = {
    "GraphView": "display.graph",
    "Calibration": "activation_ranges",
    "Comparison": "comparison.comparison",
    "ErrorCurve": "numerics.error_curve",
    "HostFunction": "native",
    "Keep": "precision",
    "Isolation": "worker",
    "LatencyReport": "reports.latency",
    "Machine": "diagnosis",
    "Partition": "reports.partition",
    "Pass": "passes.base",
    "Pipeline": "passes.pipeline",
    "PipelineRun": "passes.run",
    "Plan": "plan",
    "Precision": "precision",
    "Program": "program",
    "Ranges": "numerics.ranges",
    "Sensitivity": "numerics.sensitivity",
    "Session": "runtime.session",
    "TensorSpec": "program",
    "benchmark": "reports.latency",
    "bisect": "numerics.bisection",
    "calibrate": "calibration.collect",
    "compare": "comparison.compare",
    "compile": "compilation",
    "doctor": "diagnosis",
    "explore": "widgets.explorer",
    "error_curve": "numerics.error_curve",
    "from_mlir": "frontends.text",
    "from_onnx": "frontends.onnx",
    "from_stablehlo": "frontends.bytecode",
    "help_op": "dialects.reference",
    "jit": "native",
    "load": "frontends.load",
    "module_pass": "passes.user",
    "pdl_pass": "passes.pdl_pass",
    "partition": "reports.partition",
    "partition_view": "widgets.partition_view",
    "ranges": "numerics.ranges",
    "rewrite": "passes.user",
    "run": "native",
    "transform_pass": "passes.transform_pass",
    "sensitivity": "numerics.sensitivity",
}
_PACKAGES = ("errors", "passes")

__all__ = [*_EXPORTS, *_PACKAGES]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        value = getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    elif name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    else:
        errors = import_module(f"{__name__}.errors")
        if name not in errors.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(errors, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *import_module(f"{__name__}.errors").__all__})


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext mlirtrt_nb`: add the magics to `shell`."""
    from .magics import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext mlirtrt_nb`: take the magics away again."""
    from .magics import unload

    unload(shell)
