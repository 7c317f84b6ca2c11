"""The `plan` dialect: NVIDIA's clustering ops, and the scheduling ops a Plan is written in.

`clusters.py` has the ops shared with MLIR-TensorRT, in its syntax; `schedule.py` has this package's own:
programs, streams, buffers, copies, enqueues and calls, and `control_flow.py` branches and loops around them;
`attributes.py` makes and reads the attributes.
"""

from __future__ import annotations

from ...ir.context import register_dialect
from ...ir.opdef import DialectDef
from . import clusters, control_flow, schedule
from .attributes import ENUMS, PARAMS, backend, backend_name, memory_space, space_of

__all__ = ["DIALECT", "FAMILIES", "backend", "backend_name", "memory_space", "space_of"]

# In the order of the reference page.
FAMILIES = (clusters, control_flow, schedule)

DIALECT = DialectDef(
    name="plan",
    ops={op.name: op for family in FAMILIES for op in family.OPS},
    enums=ENUMS,
    params=PARAMS,
    types={"stream_handle": (), "event": ()},
)
register_dialect(DIALECT)
