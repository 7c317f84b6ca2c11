"""The few CUDA calls that running a Plan needs: memory, copies, streams, events."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..engine.tensorrt.flavor import gpu_problem
from ..errors import MissingDependencyError, MlirTrtError, TargetError

__all__ = ["CudaDriver", "architecture"]


def _bindings() -> ModuleType:
    """`cuda.bindings.runtime`. Raises TargetError without a GPU, MissingDependencyError without the package."""
    problem = gpu_problem()
    if problem is not None:
        raise TargetError(
            f"this machine cannot run on cuda: {problem}",
            hint="a Plan compiled with 'cpu' among its targets runs here",
        )
    try:
        from cuda.bindings import runtime
    except ImportError as error:
        raise MissingDependencyError(
            "running on cuda needs cuda-bindings", hint="pip install 'mlirtrt_nb[cuda]'"
        ) from error
    return runtime


def _checked(runtime: ModuleType, result: tuple[Any, ...]) -> Any:
    """The value of a call, which is (status,), (status, value) or (status, values...)."""
    status, *values = result
    if int(status):
        _, text = runtime.cudaGetErrorString(status)
        reason = text.decode() if isinstance(text, bytes) else str(text)
        raise MlirTrtError(f"CUDA error {int(status)}: {reason}")
    return values[0] if len(values) == 1 else tuple(values)


def architecture(device: int = 0) -> str:
    """The architecture of a GPU as a target ("sm89"). Raises as `CudaDriver` does."""
    runtime = _bindings()
    kinds = runtime.cudaDeviceAttr
    parts = (kinds.cudaDevAttrComputeCapabilityMajor, kinds.cudaDevAttrComputeCapabilityMinor)
    return "sm" + "".join(
        str(_checked(runtime, runtime.cudaDeviceGetAttribute(part, device))) for part in parts
    )


class CudaDriver:
    """CUDA on the current device. Addresses, streams and events are plain handles; sizes are in bytes.

    Raises TargetError where there is no GPU, MissingDependencyError without cuda-bindings, and MlirTrtError
    with CUDA's own words for a call that fails.
    """

    def __init__(self) -> None:
        self._runtime = _bindings()
        self.architecture = architecture()

    def _call(self, name: str, *args: Any) -> Any:
        return _checked(self._runtime, getattr(self._runtime, name)(*args))

    def conditions(self) -> dict[str, Any]:
        """Which GPU, driver and runtime these are."""
        properties = self._call("cudaGetDeviceProperties", 0)
        name = properties.name.decode() if isinstance(properties.name, bytes) else str(properties.name)
        return {
            "gpu": name.rstrip("\0"),
            "architecture": self.architecture,
            "driver": self._call("cudaDriverGetVersion"),
            "cuda": self._call("cudaRuntimeGetVersion"),
        }

    def allocate(self, nbytes: int) -> int:
        """Device memory; at least a byte, so that every buffer has an address."""
        return int(self._call("cudaMalloc", max(nbytes, 1)))

    def free(self, address: int) -> None:
        """Give back what `allocate` gave."""
        self._call("cudaFree", address)

    def allocate_on(self, stream: Any, nbytes: int) -> int:
        """Device memory from the stream's pool, usable by what follows on the stream."""
        return int(self._call("cudaMallocAsync", max(nbytes, 1), stream))

    def free_on(self, stream: Any, address: int) -> None:
        """Give memory back to the pool once all before it on the stream is done."""
        self._call("cudaFreeAsync", address, stream)

    def allocate_pinned(self, nbytes: int) -> int:
        """Host memory that copies reach without a detour."""
        return int(self._call("cudaMallocHost", max(nbytes, 1)))

    def free_pinned(self, address: int) -> None:
        """Give back what `allocate_pinned` gave."""
        self._call("cudaFreeHost", address)

    def copy(self, target: int, source: int, nbytes: int, stream: Any) -> None:
        """Copy on a stream, between any two memories; CUDA tells which they are by their addresses."""
        kind = self._runtime.cudaMemcpyKind.cudaMemcpyDefault
        self._call("cudaMemcpyAsync", target, source, nbytes, kind, stream)

    def stream(self) -> Any:
        """A new stream, which waits for no other."""
        return self._call("cudaStreamCreateWithFlags", self._runtime.cudaStreamNonBlocking)

    def destroy_stream(self, stream: Any) -> None:
        """Destroy a stream; what is on it still runs to its end."""
        self._call("cudaStreamDestroy", stream)

    def synchronize(self, stream: Any) -> None:
        """Wait until all on the stream is done."""
        self._call("cudaStreamSynchronize", stream)

    def event(self) -> Any:
        """A new event that takes the time."""
        return self._call("cudaEventCreate")

    def destroy_event(self, event: Any) -> None:
        """Destroy an event."""
        self._call("cudaEventDestroy", event)

    def record(self, event: Any, stream: Any) -> None:
        """Let the event stand for all that is on the stream so far."""
        self._call("cudaEventRecord", event, stream)

    def wait(self, stream: Any, event: Any) -> None:
        """Make the stream wait for the event."""
        self._call("cudaStreamWaitEvent", stream, event, 0)

    def elapsed_ms(self, first: Any, last: Any) -> float:
        """Milliseconds between two events that have been reached."""
        return float(self._call("cudaEventElapsedTime", first, last))
