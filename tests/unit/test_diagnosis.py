"""What mt.doctor() says of this machine and of others."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import metadata

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb import diagnosis
from mlirtrt_nb.diagnosis import Check, Machine


class Driver:
    """Answers as the driver's library does, for one GPU of compute capability 8.9 or for an error."""

    def __init__(self, error: int = 0) -> None:
        self._error = error

    def cuInit(self, flags: int) -> int:
        return self._error

    def cuDriverGetVersion(self, version: object) -> None:
        version._obj.value = 13010

    def cuDeviceGetCount(self, number: object) -> None:
        number._obj.value = 1

    def cuDeviceGet(self, device: object, index: int) -> None:
        device._obj.value = index

    def cuDeviceGetName(self, name: ctypes.Array, size: int, device: object) -> None:
        name.value = b"NVIDIA L4"

    def cuDeviceTotalMem_v2(self, memory: object, device: object) -> None:
        memory._obj.value = 23 * 2**30

    def cuDeviceGetAttribute(self, value: object, attribute: int, device: object) -> None:
        value._obj.value = {75: 8, 76: 9}[attribute]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Callable[[Driver | None], None]:
    """Puts a driver, or none, in the place of this machine's."""
    return lambda found: monkeypatch.setattr(diagnosis, "_load_driver", lambda: found)


def test_this_machine() -> None:
    """Every check has a level and a finding; the cpu is always a target."""
    machine = mt.doctor()
    assert "cpu" in machine.targets
    assert {check.level for check in machine.checks} <= {"good", "warn", "bad"}
    assert all(check.found for check in machine.checks)
    assert machine["onnxruntime"].found.startswith(metadata.version("onnxruntime"))


def test_without_a_driver(driver: Callable) -> None:
    """No driver is a warning with advice, not an error: engines can be built all the same."""
    driver(None)
    check = mt.doctor()["NVIDIA driver"]
    assert (check.found, check.level) == ("none", "warn")
    assert "only needed to run engines" in check.advice


def test_a_driver_that_does_not_start(driver: Callable) -> None:
    """A driver without a usable GPU shows its error number and what to look at."""
    driver(Driver(error=999))
    check = mt.doctor()["NVIDIA driver"]
    assert "cuInit gives error 999" in check.found
    assert "nvidia-smi" in check.advice


def test_a_gpu(driver: Callable) -> None:
    """A GPU is named with its compute capability and memory; cuda becomes a target."""
    driver(Driver())
    machine = mt.doctor()
    assert machine["NVIDIA driver"].found == "supports CUDA 13.1"
    assert machine["GPU 0"].found == "NVIDIA L4, sm89, 23 GiB"
    assert "cuda" in machine.targets
    assert machine.summary.endswith("runs on cpu and cuda")


def test_versions_that_do_not_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bindings and libraries of TensorRT-RTX at two versions are an error that names both."""
    versions = {"tensorrt-rtx-cu13-bindings": "1.7.1", "tensorrt-rtx-cu13-libs": "1.6.0"}
    monkeypatch.setattr(diagnosis, "_version", versions.get)
    monkeypatch.setattr(diagnosis.util, "find_spec", lambda name: object())
    check = diagnosis._tensorrt_rtx()
    assert check.level == "bad"
    assert "1.7.1" in check.advice and "1.6.0" in check.advice


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package has the command that installs it; an extra is only a warning."""
    monkeypatch.setattr(diagnosis, "_version", lambda name: None)
    monkeypatch.setattr(diagnosis.util, "find_spec", lambda name: None)
    machine = mt.doctor()
    assert machine["onnx"] == Check("onnx", "not installed (reading ONNX models)", "bad", "pip install onnx")
    assert machine["jupyterlab"].level == "warn"
    assert machine["TensorRT-RTX"].advice.endswith('pip install "mlirtrt_nb[rtx]"')
    assert machine.targets == ("cpu",)


MACHINE = Machine(
    (
        Check("Python", "3.12.1 on Linux x86_64"),
        Check("NVIDIA driver", "none", "warn", "only needed to run engines"),
        Check("onnx", "not installed", "bad", "pip install onnx"),
    ),
    ("cpu", "sm89"),
)


def test_text(golden: Callable[[str, str], None]) -> None:
    """The findings as text, each with its sign; advice first."""
    golden("display/machine.txt", str(MACHINE))


def test_html_has_every_finding() -> None:
    """The findings as HTML have every check, sign and advice."""
    html = MACHINE._repr_html_()
    for check in MACHINE.checks:
        assert check.found in html and check.advice in html
    assert all(sign in html for sign in "✓⚠✗")


def test_names_complete() -> None:
    """Checks can be had by name, and their names complete in a notebook."""
    assert MACHINE._ipython_key_completions_() == ["Python", "NVIDIA driver", "onnx"]
    with pytest.raises(KeyError):
        MACHINE["nothing"]
