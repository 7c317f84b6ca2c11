"""`Plan`: how a program runs, and all that it needs: schedules, engines, weights, build reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .engine.base import Engine
from .errors import PlanFileError
from .program import TensorSpec
from .shown import Shown
from .weights import Weights

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from torch_mlir.dialects.builtin import ModuleOp

    from .display.graph import GraphView
    from .ir.assembly.printer import Locations
    from .program import Program
    from .reports.plan_report import PlanReport
    from .runtime.schedule import Schedule, Signature
    from .runtime.session import Session

__all__ = ["Fallback", "Plan"]


@dataclass(frozen=True)
class Fallback:
    """A kind of op that TensorRT did not take: how many of it, why, where the first came from, what runs it."""

    op: str
    count: int
    reason: str
    location: str
    backend: str


class Plan(Shown):
    """A compiled program. Made by `mlirtrt_nb.compile` or `Plan.load`.

    Args:
        module: the module with the `plan.program` ops (see `passes.plan.plan_schedule.schedule`) and the
            functions that they call.
        engines: every engine, of every target. A program's callee is an engine's name.
        weights: arrays by the names that engines and constants use. Only those in use are kept, uncopied.
        fallbacks: what TensorRT did not take.
        metadata: what else is known (source, options, versions, seconds): anything that JSON can hold.
        name: shown in displays.
    """

    def __init__(
        self,
        module: ModuleOp,
        engines: Iterable[Engine] = (),
        weights: Mapping[str, np.ndarray] | None = None,
        *,
        fallbacks: Sequence[Fallback] = (),
        metadata: Mapping[str, Any] | None = None,
        name: str = "plan",
    ) -> None:
        from .passes.plan.plan_schedule import programs
        from .runtime.reader import read_schedule

        table = dict(weights or {})
        self.module = module
        self.schedules = {device: read_schedule(op, table) for device, op in programs(module).items()}
        self._fill(engines, table, fallbacks, metadata, name)

    def _fill(
        self,
        engines: Iterable[Engine],
        weights: Mapping[str, np.ndarray],
        fallbacks: Sequence[Fallback],
        metadata: Mapping[str, Any] | None,
        name: str,
    ) -> None:
        self.name = name
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.fallback_rows = tuple(fallbacks)
        self.engine_values = tuple(engines)
        used = {weight for engine in self.engine_values for weight in engine.weights}
        used |= {buffer.weight for schedule in self.schedules.values() for buffer in schedule.buffers}
        self.weights = Weights({key: weights[key] for key in weights if key in used})

    @classmethod
    def _restored(
        cls,
        bytecode: bytes | memoryview,
        schedules: Mapping[str, Schedule],
        engines: Iterable[Engine],
        weights: Mapping[str, np.ndarray],
        fallbacks: Sequence[Fallback],
        metadata: Mapping[str, Any],
        name: str,
    ) -> Plan:
        """A Plan from a file or another process; its IR is parsed when it is first looked at."""
        plan = cls.__new__(cls)
        plan.__dict__["bytecode"] = bytecode
        plan.schedules = dict(schedules)
        plan._fill(engines, weights, fallbacks, metadata, name)
        return plan

    # The IR ------------------------------------------------------------------------------------------------

    @cached_property
    def module(self) -> ModuleOp:
        """The live MLIR module."""
        from .ir.bytecode import read_module

        read: Callable[[], ModuleOp | None] = self.__dict__.get("_read", lambda: None)
        return read() or read_module(self.bytecode, PlanFileError)

    def read_by(self, read: Callable[[], ModuleOp | None]) -> None:
        """Let `read` give the module when it is first looked at, where it can."""
        self.__dict__["_read"] = read

    @cached_property
    def bytecode(self) -> bytes | memoryview:
        """The module as MLIR bytecode."""
        from .ir.bytecode import write_module

        return write_module(self.module)

    @property
    def program(self) -> Program:
        """The module as a Program that shares the Plan's weights, for what works on programs."""
        from .program import Program

        return Program(self.module, self.weights, name=self.name)

    def text(self, custom: bool = True, locations: Locations = False, limit: int | None = None) -> str:
        """The plan IR as text: programs, host and engine functions; see `ir.assembly.print_module`."""
        from .ir.assembly import print_module

        return print_module(self.module, custom=custom, locations=locations, limit=limit, names=True)

    def graph(self, function: str | None = None, **options: Any) -> GraphView:
        """A picture of the Plan's engines and host parts, or of one of its functions; see `Program.graph`."""
        return self.program.graph(function, **options)

    @property
    def inputs(self) -> list[TensorSpec]:
        """The inputs, as of a Program."""
        return [_spec(signature) for signature in self._any_schedule().inputs]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The outputs, as of a Program."""
        return [_spec(signature) for signature in self._any_schedule().outputs]

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that the Plan was compiled for."""
        return tuple(target for schedule in self.schedules.values() for target in schedule.targets)

    def _any_schedule(self) -> Schedule:
        return next(iter(self.schedules.values()))

    # Running -----------------------------------------------------------------------------------------------

    def session(self, device: str = "auto", *, threads: int = 0) -> Session:
        """Make the Plan ready on a device.

        Args:
            device: "cpu"; "cuda"; or "auto": "cuda" if this machine has a GPU for which the Plan has
                engines, else "cpu".
            threads: of ONNX Runtime, within an op; 0 lets it take all cores.

        Raises:
            TargetError: the Plan has no engines for that device, or this machine lacks it.
        """
        from .runtime.devices import open_session

        return open_session(self, device, threads)

    # Files -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the Plan to one file. It appears whole, or not at all. Raises PlanFileError."""
        from .plan_file import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str], *, verify: bool = True) -> Plan:
        """Open a Plan file by memory map; weights and engines are read when they are used.

        Args:
            verify: check every byte against its checksum now (about 2.5 GB a second).

        Raises:
            PlanFileError: missing, damaged, truncated, or of another version.
        """
        from .plan_file import load

        return load(path, verify=verify)

    def __reduce__(self) -> tuple[Any, ...]:
        state = (bytes(self.bytecode), self.schedules, self.engine_values, self.weights)
        return Plan._restored, (*state, self.fallback_rows, self.metadata, self.name)

    # Reports -----------------------------------------------------------------------------------------------

    @cached_property
    def report(self) -> PlanReport:
        """All the tables below, with a summary; pretty in a notebook and in a terminal."""
        from .reports.plan_report import PlanReport

        return PlanReport(self)

    @property
    def engines(self) -> pd.DataFrame:
        """One row per engine: engine, target, layers, weights_bytes, activation_bytes, build_seconds, ...,
        cached (whether this compilation took it from the engine cache)."""
        return self.report.engines

    @property
    def layers(self) -> pd.DataFrame:
        """One row per engine layer: engine, target, layer, kind, sources, ..."""
        return self.report.layers

    @property
    def memory(self) -> pd.DataFrame:
        """One row per buffer: device, buffer, offset, bytes, space, first_use, last_use, ..."""
        return self.report.memory

    @property
    def fallbacks(self) -> pd.DataFrame:
        """What TensorRT did not take: op, count, reason, location, backend, cause (one of
        `reports.remedies.CAUSES`), remedy (what to change)."""
        return self.report.fallbacks

    @cached_property
    def kept(self) -> pd.DataFrame:
        """The exceptions to the Plan's precision: op, type, count, reason, location (of the first)."""
        from .passes.precision.kept import kept_ops

        return kept_ops(self.module.operation)

    def timeline(self) -> pd.DataFrame:
        """The steps of each program: device, step, inside, op, callee, stream, reads, writes, sources."""
        return self.report.timeline

    def __repr__(self) -> str:
        return f"<Plan {self.name!r} for {', '.join(self.targets)}: {len(self.engine_values)} engines>"

    def __str__(self) -> str:
        from .display.plan import plan_text

        return plan_text(self)

    def _repr_html_(self) -> str:
        from .display.plan import plan_card

        return plan_card(self)


def _spec(signature: Signature) -> TensorSpec:
    if signature.shape is None:
        return TensorSpec(signature.name, ("...",), signature.dtype)
    dims = tuple(signature.dims.get(n) if dim < 0 else dim for n, dim in enumerate(signature.shape))
    return TensorSpec(signature.name, dims, signature.dtype)
