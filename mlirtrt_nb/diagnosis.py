"""`doctor`: what this machine has, what it can build and run, and what to do about what is missing.

Each check is a function that gives a `Check`; none imports a GPU library into this process, so a broken
driver cannot take the kernel down.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import platform
import sys
from dataclasses import dataclass
from importlib import metadata, util

from .memory import machine_bytes
from .shown import Shown
from .targets import AHEAD_OF_TIME

__all__ = ["Check", "Machine", "doctor"]

_DRIVER_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
# Distribution -> (the extra that brings it, what it is for).
_PACKAGES = {
    "torch-mlir": ("", "MLIR itself"),
    "onnx": ("", "reading ONNX models"),
    "onnxruntime": ("", "running on the cpu"),
    "numpy": ("", "arrays"),
    "pandas": ("", "tables"),
    "ipywidgets": ("notebook", "interactive pages"),
    "jupyterlab": ("notebook", "notebooks"),
    "matplotlib": ("notebook", "plots"),
}


@dataclass(frozen=True)
class Check:
    """One finding. `level` is "good", "warn" (works without it) or "bad"; `advice` is what to do, or ""."""

    name: str
    found: str
    level: str = "good"
    advice: str = ""


@dataclass(frozen=True)
class Machine(Shown):
    """Everything `doctor` found. `targets` are those that this machine can build engines for."""

    checks: tuple[Check, ...]
    targets: tuple[str, ...]

    @property
    def summary(self) -> str:
        """One sentence: what can be built and run here."""
        runs = "cpu and cuda" if "cuda" in self.targets else "cpu"
        return f"builds for {', '.join(self.targets)}; runs on {runs}"

    def __getitem__(self, name: str) -> Check:
        """The check called `name`. Raises KeyError."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def _ipython_key_completions_(self) -> list[str]:
        return [check.name for check in self.checks]

    def __str__(self) -> str:
        from .display import machine_text

        return machine_text(self)

    def __repr__(self) -> str:
        return f"<Machine: {self.summary}>"

    def _repr_html_(self) -> str:
        from .display import machine_html

        return machine_html(self)


def doctor() -> Machine:
    """Look at this machine: Python, packages, CPU, driver, TensorRT flavours. Changes nothing."""
    driver, gpus = _driver()
    rtx, cuda = _tensorrt_rtx(), _tensorrt(bool(gpus))
    checks = (_python(), _cpu(), driver, *gpus, rtx, cuda, *map(_package, _PACKAGES))
    ahead = AHEAD_OF_TIME if rtx.level == "good" else ()
    here = ("cuda",) if gpus and "good" in (rtx.level, cuda.level) else ()
    return Machine(checks, ("cpu", *ahead, *here))


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _python() -> Check:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if (3, 11) <= sys.version_info[:2] <= (3, 14):
        return Check("Python", found)
    return Check("Python", found, "bad", "use Python 3.11 to 3.14")


def _cpu() -> Check:
    name = _cpu_name() or platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = _memory_bytes()
    size = f", {memory / 2**30:.0f} GiB memory" if memory else ""
    return Check("CPU", f"{name}, {cores} cores usable{size}")


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return ""


def _memory_bytes() -> int | None:
    try:
        return machine_bytes()
    except (AttributeError, ValueError, OSError):
        return None


def _driver() -> tuple[Check, list[Check]]:
    """The NVIDIA driver and a check per GPU."""
    library = _load_driver()
    if library is None:
        advice = "only needed to run engines: install NVIDIA's driver on a machine with a GPU"
        return Check("NVIDIA driver", "none", "warn", advice), []
    code = library.cuInit(0)
    if code != 0:
        advice = "see whether nvidia-smi works; in a container, start it with GPU access"
        return Check("NVIDIA driver", f"present, but cuInit gives error {code}", "warn", advice), []
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    found = f"supports CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    return Check("NVIDIA driver", found), _gpus(library)


def _load_driver() -> ctypes.CDLL | None:
    for name in _DRIVER_LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _gpus(library: ctypes.CDLL) -> list[Check]:
    number = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(number))
    return [_gpu(library, index) for index in range(number.value)]


def _gpu(library: ctypes.CDLL, index: int) -> Check:
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name, memory = ctypes.create_string_buffer(128), ctypes.c_size_t()
    library.cuDeviceGet(ctypes.byref(device), index)
    library.cuDeviceGetName(name, len(name), device)
    library.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
    library.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    library.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    capability = f"sm{major.value}{minor.value}"
    return Check(f"GPU {index}", f"{name.value.decode()}, {capability}, {memory.value / 2**30:.0f} GiB")


def _tensorrt_rtx() -> Check:
    version = _version("tensorrt-rtx-cu13-bindings") or _version("tensorrt-rtx")
    if util.find_spec("tensorrt_rtx_bindings") is None and util.find_spec("tensorrt_rtx") is None:
        advice = 'to build engines without a GPU: pip install "mlirtrt_nb[rtx]"'
        return Check("TensorRT-RTX", "not installed", "warn", advice)
    libraries = _version("tensorrt-rtx-cu13-libs")
    if libraries and version and libraries != version:
        advice = f"bindings are {version} and libraries {libraries}: install both at one version"
        return Check("TensorRT-RTX", version, "bad", advice)
    return Check("TensorRT-RTX", f"{version or 'installed'}, builds for {', '.join(AHEAD_OF_TIME)} with no GPU")


def _tensorrt(gpu: bool) -> Check:
    version = _version("tensorrt")
    if version is None:
        advice = "to build with the data-center TensorRT for this GPU: pip install tensorrt" if gpu else ""
        return Check("TensorRT", "not installed", "warn", advice)
    advice = "" if gpu else "it builds only where a GPU is present; TensorRT-RTX needs none"
    return Check("TensorRT", version, "good" if gpu else "warn", advice)


def _package(name: str) -> Check:
    extra, purpose = _PACKAGES[name]
    version = _version(name)
    if version is not None:
        return Check(name, f"{version} ({purpose})")
    package = f'"mlirtrt_nb[{extra}]"' if extra else name
    return Check(name, f"not installed ({purpose})", "warn" if extra else "bad", f"pip install {package}")
