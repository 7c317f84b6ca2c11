"""Running a TensorRT engine on a stream, in memory that the Plan placed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..engine.base import Engine
from ..engine.tensorrt.flavor import import_tensorrt, version
from ..errors import MlirTrtError, TargetError

__all__ = ["DeviceEngine", "TensorRTEngine"]

# Gives the address at which an output of that many bytes is to be written.
Place = Callable[[int, tuple[int, ...]], int]


class DeviceEngine(Protocol):
    """An engine that works on a stream."""

    scratch_bytes: int

    def enqueue(
        self,
        stream: Any,
        inputs: Sequence[tuple[int, tuple[int, ...]]],
        place: Place,
        scratch: int,
        scratch_bytes: int,
    ) -> list[tuple[int, ...]]: ...

    def profile(self, enqueue: Callable[[], object]) -> Mapping[str, float]: ...


class TensorRTEngine:
    """A deserialised engine and its execution context, whose scratch memory is the caller's.

    Args:
        engine: of kind "tensorrt_rtx" or "tensorrt".

    Raises TargetError if TensorRT cannot load the engine here.
    """

    def __init__(self, engine: Engine) -> None:
        trt = import_tensorrt(engine.kind)
        self._trt = trt
        self._name = engine.name
        self._inputs = [binding.name for binding in engine.inputs]
        self._outputs = [binding.name for binding in engine.outputs]
        self._logger = _logger(trt)
        self._runtime = trt.Runtime(self._logger)
        self._engine = self._runtime.deserialize_cuda_engine(bytes(engine.blob))
        if self._engine is None:
            words = "; ".join(self._logger.errors[-2:]) or "no reason given"
            raise TargetError(
                f"{version(trt, engine.kind)} cannot load engine {engine.name} for {engine.target}: {words}",
                hint="the engine must be built for this GPU and by this version",
            )
        self.scratch_bytes = int(self._engine.device_memory_size_v2)
        self._context = self._engine.create_execution_context(
            trt.ExecutionContextAllocationStrategy.USER_MANAGED
        )
        self._profile = 0
        self._shapes: tuple[tuple[int, ...], ...] = ()
        self._result_shapes: list[tuple[int, ...]] = []

    def enqueue(
        self,
        stream: Any,
        inputs: Sequence[tuple[int, tuple[int, ...]]],
        place: Place,
        scratch: int,
        scratch_bytes: int,
    ) -> list[tuple[int, ...]]:
        """Put the engine's work on `stream`.

        Args:
            inputs: address and shape of each input, in the order of the engine's bindings.
            place: called with the number and shape of each output; gives its address.
            scratch, scratch_bytes: memory that the engine may use until its work is done.

        Returns the outputs' shapes.
        """
        context = self._context
        shapes = tuple(shape for _, shape in inputs)
        if shapes != self._shapes:
            self._set_shapes(shapes, stream)
        for name, (address, _) in zip(self._inputs, inputs, strict=True):
            context.set_tensor_address(name, address)
        for number, (name, shape) in enumerate(zip(self._outputs, self._result_shapes, strict=True)):
            context.set_tensor_address(name, place(number, shape))
        context.set_device_memory(scratch, scratch_bytes)
        if not context.execute_async_v3(int(stream)):
            raise self._error("could not be enqueued")
        return self._result_shapes

    def profile(self, enqueue: Callable[[], object]) -> Mapping[str, float]:
        """What each layer takes in one run of `enqueue`, in ms."""
        collected = _profiler(self._trt)
        self._context.profiler = collected
        self._context.enqueue_emits_profile = False
        enqueue()
        self._context.report_to_profiler()
        return collected.times

    def _set_shapes(self, shapes: tuple[tuple[int, ...], ...], stream: Any) -> None:
        """Tell TensorRT the input shapes, which is slow, so only when they change."""
        wanted = self._profile_for(shapes)
        if wanted != self._profile and not self._context.set_optimization_profile_async(wanted, int(stream)):
            raise self._error(f"has no optimization profile {wanted}")
        self._profile = wanted
        for name, shape in zip(self._inputs, shapes, strict=True):
            if not self._context.set_input_shape(name, shape):
                raise self._error(f"does not take shape {shape} for its input {name}")
        found = [tuple(self._context.get_tensor_shape(name)) for name in self._outputs]
        if any(dim < 0 for shape in found for dim in shape):
            raise self._error("has an output whose shape depends on its values")
        self._shapes, self._result_shapes = shapes, found

    def _profile_for(self, shapes: tuple[tuple[int, ...], ...]) -> int:
        """The first optimization profile that holds the shapes; the current one if none does."""
        for number in range(self._engine.num_optimization_profiles):
            if all(self._holds(number, name, shape) for name, shape in zip(self._inputs, shapes, strict=True)):
                return number
        return self._profile

    def _holds(self, profile: int, name: str, shape: tuple[int, ...]) -> bool:
        low, _, high = (tuple(side) for side in self._engine.get_tensor_profile_shape(name, profile))
        sides = zip(low, shape, high, strict=True)
        return len(shape) == len(low) and all(least <= dim <= most for least, dim, most in sides)

    def _error(self, what: str) -> MlirTrtError:
        words = "; ".join(self._logger.errors[-2:])
        return MlirTrtError(f"engine {self._name} {what}" + (f": {words}" if words else ""))


def _logger(trt: Any) -> Any:
    """A TensorRT logger that keeps errors."""

    class Logger(trt.ILogger):
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.errors: list[str] = []

        def log(self, severity: Any, message: str) -> None:
            if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
                self.errors.append(" ".join(message.split())[:300])

    return Logger()


def _profiler(trt: Any) -> Any:
    """A TensorRT profiler that keeps each layer's time."""

    class Profiler(trt.IProfiler):
        def __init__(self) -> None:
            trt.IProfiler.__init__(self)
            self.times: dict[str, float] = {}

        def report_layer_time(self, name: str, ms: float) -> None:
            self.times[name] = self.times.get(name, 0.0) + ms

    return Profiler()
