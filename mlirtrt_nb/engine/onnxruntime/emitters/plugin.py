"""opaque_plugin and dist_collective, which need a GPU."""

from __future__ import annotations

from ....ir.builder import Op
from ..scope import Scope
from .dims import refuse
from .registry import emits

__all__: list[str] = []


@emits("opaque_plugin", "dist_collective")
def needs_gpu(op: Op, scope: Scope) -> None:
    raise refuse(f"{op.name.partition('.')[2]} runs on a GPU only", "build for a target that has one")
