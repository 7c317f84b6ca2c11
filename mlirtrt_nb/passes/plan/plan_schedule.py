"""plan-schedule: write down, for each kind of device, every step the runtime will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...errors import PassError
from ...program import Program
from ..base import Pass, PassContext, option, register
from .bounds import Profiles, UpperBounds
from .origins import Origins
from .recorder import Recorder

if TYPE_CHECKING:
    from torch_mlir import ir
    from torch_mlir.dialects.builtin import ModuleOp

__all__ = ["PlanSchedule", "programs", "schedule"]


@register
class PlanSchedule(Pass):
    """Turn `@main` into one `plan.program` for each kind of device among the targets: buffers placed in an
    arena by their lifetimes, copies, enqueues and calls in order. The engines' scratch memory is not known
    before they are built, so the programs made here leave it to the engines."""

    name = "plan-schedule"
    phase = "plan"

    keep_main: bool = option(False, "keep @main beside the programs")

    def apply(self, program: Program, context: PassContext) -> None:
        kinds: dict[str, list[str]] = {}
        for target in context.targets:
            kinds.setdefault("cpu" if target == "cpu" else "cuda", []).append(target)
        for device, targets in kinds.items():
            schedule(program, device, targets, profiles=context.profiles)
        if not self.keep_main:
            with program.context:
                _entry(program).erase()


def schedule(
    program: Program,
    device: str,
    targets: Sequence[str],
    *,
    workspaces: Mapping[str, int] | None = None,
    profiles: Profiles = (),
) -> ir.Operation:
    """Put `plan.program @main_<device>` at the head of an outlined program, and return it. `@main` stays.

    Args:
        device: "cpu" or "cuda".
        targets: the targets whose engines the program can run.
        workspaces: engine path ("trt_engines::main_0") -> bytes of scratch memory, the most of any target.
        profiles: the inputs' (min, opt, max) shapes by name, one mapping per profile.

    Raises:
        PassError: `@main` holds something other than constants, calls, branches and loops.
    """
    from torch_mlir import ir

    from .writer import write

    with program.context, ir.Location.unknown():
        function = _entry(program)
        bounds = UpperBounds(program, function, device, profiles)
        recorder = Recorder(device, workspaces or {}, bounds, Origins(program))
        recorder.record(function)
        return write(function, recorder, targets, profiles)


def programs(module: ModuleOp) -> dict[str, ir.Operation]:
    """The `plan.program` ops of a module by device."""
    found = (op.operation for op in module.body.operations if op.operation.name == "plan.program")
    return {op.attributes["device"].value: op for op in found}


def _entry(program: Program) -> ir.OpView:
    from ...ir.symbols import lookup

    try:
        return lookup(program.module, "main")
    except KeyError:
        raise PassError("the program has no function @main") from None
