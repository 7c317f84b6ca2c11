"""Importing the package imports nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "IPython", "cuda", "ipywidgets", "jax", "matplotlib", "ml_dtypes", "numpy", "onnx", "onnxruntime", "pandas",
    "pygments", "tensorrt", "tensorrt_rtx", "tensorrt_rtx_bindings", "torch", "torch_mlir",
)  # fmt: skip


def loaded(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after `code`."""
    report = f"{code}\nimport sys, json; print(json.dumps(sorted({{n.split('.')[0] for n in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(json.loads(done.stdout))


def test_import_is_cheap() -> None:
    """`import mlirtrt_nb` loads none of its dependencies."""
    assert not loaded("import mlirtrt_nb") & set(HEAVY)


@pytest.mark.parametrize(
    ("code", "not_loaded"),
    [
        ("mt.MlirTrtError", set(HEAVY)),
        ("dir(mt)", set(HEAVY)),
        ("mt.doctor()", {"torch", "tensorrt_rtx_bindings", "onnxruntime", "onnx", "pandas", "torch_mlir"}),
        ("mt.Program", {"torch", "tensorrt_rtx_bindings", "onnxruntime", "onnx", "pandas", "torch_mlir"}),
    ],
)
def test_names_load_what_they_need(code: str, not_loaded: set[str]) -> None:
    """Using one name does not load what another one needs."""
    assert not loaded(f"import mlirtrt_nb as mt\n{code}") & not_loaded
