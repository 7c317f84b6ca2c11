"""The two TensorRT libraries behind one module value, and which targets each can build for.

TensorRT-RTX builds ahead of time for a named GPU architecture, on a machine with no GPU and no driver.
Both build for "cuda", the GPU that is present. Everything else in this package takes the module as a
value (`trt = import_tensorrt(flavor)`) and so serves both.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from ...errors import MissingDependencyError, OptionError, TargetError
from ...target_names import AHEAD_OF_TIME

__all__ = [
    "FLAVORS",
    "check_target",
    "compute_capability",
    "gpu_problem",
    "import_tensorrt",
    "targets",
    "version",
]

# flavour -> (module names to try in turn, what a user calls it, the command that installs it)
_MODULES = {
    "tensorrt_rtx": (
        ("tensorrt_rtx_bindings", "tensorrt_rtx"),
        "TensorRT-RTX",
        "pip install 'mlirtrt_nb[rtx]'",
    ),
    "tensorrt": (("tensorrt",), "TensorRT", "pip install tensorrt"),
}
FLAVORS = tuple(_MODULES)
PRESENT_GPU = "cuda"


@cache
def import_tensorrt(flavor: str = "tensorrt_rtx") -> ModuleType:
    """The Python module of a flavour.

    Raises:
        OptionError: no such flavour.
        MissingDependencyError: not installed, or its native library does not load.
    """
    if flavor not in _MODULES:
        raise OptionError(f"unknown TensorRT flavour {flavor!r}", hint=f"one of {', '.join(FLAVORS)}")
    names, product, command = _MODULES[flavor]
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise _broken(product, command, error) from error
        except (ImportError, OSError, RuntimeError) as error:
            raise _broken(product, command, error) from error
    raise MissingDependencyError(f"{product} is not installed", hint=command)


def _broken(product: str, command: str, error: Exception) -> MissingDependencyError:
    """An error for a package that is there but whose native library does not load."""
    reason = " ".join(str(error).split())[:200]
    return MissingDependencyError(
        f"{product} is installed but does not load: {reason}", hint=f"reinstall: {command}"
    )


def version(trt: Any, flavor: str) -> str:
    """ "TensorRT-RTX 1.7.1.116"."""
    return f"{_MODULES[flavor][1]} {trt.__version__}"


def targets(flavor: str) -> tuple[str, ...]:
    """The targets that a flavour can build for on some machine."""
    return (*AHEAD_OF_TIME, PRESENT_GPU) if flavor == "tensorrt_rtx" else (PRESENT_GPU,)


def check_target(flavor: str, target: str) -> None:
    """Raise `TargetError` if this machine cannot build for `target` with `flavor`."""
    known = targets(flavor)
    product = _MODULES[flavor][1]
    if target not in known:
        hint = f"{product} builds for {', '.join(known)}"
        if flavor == "tensorrt" and target in AHEAD_OF_TIME:
            hint = f"it builds only for the GPU that is present; TensorRT-RTX builds for {target} without one"
        raise TargetError(f"{product} cannot build for {target!r}", hint=hint)
    if target == PRESENT_GPU:
        problem = gpu_problem()
        if problem:
            raise TargetError(
                f"{product} cannot build for 'cuda' on this machine: {problem}",
                hint=f"name an architecture ({', '.join(AHEAD_OF_TIME)}), which needs no GPU",
            )


def compute_capability(trt: Any, target: str) -> Any:
    """The builder's member for a target of TensorRT-RTX."""
    name = "CURRENT" if target == PRESENT_GPU else target.upper()
    return getattr(trt.ComputeCapability, name)


def gpu_problem() -> str | None:
    """Why no NVIDIA GPU can be used on this machine, in a few words; None if one can."""
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return f"no NVIDIA driver ({library} was not found)"
    status = driver.cuInit(0)
    if status == 100:
        return "the NVIDIA driver finds no GPU"
    if status:
        return f"the NVIDIA driver does not start (CUDA error {status})"
    count = ctypes.c_int(0)
    if driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "the NVIDIA driver finds no GPU"
    return None
