"""`TensorRtBuilder`: builds engines through TensorRT's network API, in either flavour."""

from __future__ import annotations

import re
import time
from typing import Any

from ...errors import Cancelled, EngineBuildError
from ...native_output import NativeOutput
from ...progress import Progress
from ..base import BuildRequest, Engine, EngineReport
from . import flavor as flavors
from .layer_log import parse_layers, parse_memory
from .logger import BuildLog, attach
from .network import Encoded, encode_function, refusal_text, refused
from .profiles import add_profiles, name_dimensions
from .progress import BuildMonitor, run_watched

__all__ = ["TensorRtBuilder", "new_network", "target_config"]

# What the builder's own lines begin with or contain; any other line belongs to someone else.
_WORDS = ("Internal Error:", "Myelin", "TRT", "Error Code", "Assertion", "WARNING: in op")


class TensorRtBuilder:
    """An `EngineBuilder`. `kind` is the flavour: "tensorrt_rtx" or "tensorrt".

    `optimization_level` is 0 to 5 (None: the library's own); `workspace_bytes` limits scratch memory.
    """

    def __init__(
        self,
        flavor: str = "tensorrt_rtx",
        *,
        optimization_level: int | None = None,
        workspace_bytes: int | None = None,
    ) -> None:
        self.kind = flavor
        self._level = optimization_level
        self._workspace = workspace_bytes

    @property
    def identity(self) -> str:
        """Library, version and settings: what, beside the request, decides the engine."""
        trt = flavors.import_tensorrt(self.kind)
        return f"{flavors.version(trt, self.kind)} level={self._level} workspace={self._workspace}"

    def build(self, request: BuildRequest) -> Engine:
        """Build the function for the target.

        Raises:
            TargetError: this machine cannot build for the target.
            MissingDependencyError: the flavour's library is not there.
            EngineBuildError: the builder refuses; with its own words, and the op where it names one.
            ShapeError: a dynamic input without a usable profile.
            Cancelled: `request.progress` returned False, or the user interrupted.
        """
        try:
            flavors.check_target(self.kind, request.target)
            return self._build(flavors.import_tensorrt(self.kind), request)
        except KeyboardInterrupt:
            raise Cancelled(f"building {request.name!r} was cancelled") from None

    def _build(self, trt: Any, request: BuildRequest) -> Engine:
        from ...passes.tensorrt.expand_recurrent import expanded

        start = time.perf_counter()
        log = BuildLog()
        function, weights = expanded(request.function, request.weights)
        logger = attach(trt, log)
        builder = trt.Builder(logger)
        network = new_network(trt, builder)
        encoded = encode_function(trt, network, function, weights, log)
        name_dimensions(network, encoded.inputs, function, request.profiles)
        config = target_config(trt, builder, self.kind, request.target)
        if self._level is not None:
            config.builder_optimization_level = self._level
        if self._workspace is not None:
            config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, self._workspace)
        add_profiles(builder, config, network, encoded.inputs, function, request.profiles)
        monitor = BuildMonitor()
        config.progress_monitor = held = monitor.attach(trt)
        kept = (logger, held, encoded)  # all of it must outlive the builder, also in a build left behind

        def work() -> Any:
            blob = builder.build_serialized_network(network, config)
            return blob, kept

        with NativeOutput(log.native.append, _WORDS) as output:
            progress = None if request.progress is None else _reporting(request.progress, output)
            blob, _ = run_watched(work, monitor, progress, request.name)
        if blob is None:
            raise _refused(request.name, log, encoded)
        return Engine(
            name=request.name,
            kind=self.kind,
            target=request.target,
            blob=memoryview(blob).cast("B"),
            inputs=encoded.inputs,
            outputs=encoded.outputs,
            report=_report(trt, self.kind, log, time.perf_counter() - start),
        )


def _reporting(progress: Progress, output: NativeOutput) -> Progress:
    """`progress`, called with the terminal as the user knows it."""

    def report(phase: str, done: int, total: int) -> bool:
        with output.as_it_was():
            return progress(phase, done, total)

    return report


def new_network(trt: Any, builder: Any) -> Any:
    """An empty strongly typed network."""
    return builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))


def target_config(trt: Any, builder: Any, flavor: str, target: str) -> Any:
    """A builder config for a target that logs the engine's layers in full."""
    config = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    if flavor == "tensorrt_rtx":
        config.num_compute_capabilities = 1
        config.set_compute_capability(flavors.compute_capability(trt, target), 0)
    return config


def _report(trt: Any, flavor: str, log: BuildLog, seconds: float) -> EngineReport:
    memory = parse_memory(log.report)
    return EngineReport(
        layers=parse_layers(log.report),
        weights_bytes=memory.weights_bytes,
        activation_bytes=memory.activation_bytes,
        scratch_bytes=memory.scratch_bytes,
        build_seconds=seconds,
        messages=tuple(dict.fromkeys(log.warnings + log.native)),
        builder=flavors.version(trt, flavor),
    )


def _refused(name: str, log: BuildLog, encoded: Encoded) -> EngineBuildError:
    """An error with the builder's last words, and the op whose layer they name."""
    message = log.errors[-1] if log.errors else "the builder gave no reason"
    named = [label for label in encoded.operations if _names(message, label)]
    if not named:
        return EngineBuildError(refusal_text(message), where=f"engine {name!r}")
    return refused(refusal_text(message), encoded.operations[max(named, key=len)], name)


def _names(message: str, label: str) -> bool:
    """Whether a layer is named, as a whole word; Myelin numbers the parts that it makes of one (`fc_U0`)."""
    return re.search(rf"(?<![\w/]){re.escape(label)}(_U\d+)?(?![\w/])", message) is not None
