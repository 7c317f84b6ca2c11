"""Which ops of a module are exceptions to its precision, read from their marks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .marks import REASON, TYPE

if TYPE_CHECKING:
    import pandas as pd
    from torch_mlir import ir

__all__ = ["kept_ops"]

_COLUMNS = ["op", "type", "count", "reason", "location"]


def kept_ops(module: ir.Operation) -> pd.DataFrame:
    """One row per kind of op, type and reason, most frequent first: op, type, count, reason, and the source of
    the first one as `location`."""
    import pandas as pd
    from torch_mlir import ir

    from .tensor_names import source_of

    counts: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], str] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if TYPE in operation.attributes:
            kind, reason = (str(ir.StringAttr(operation.attributes[key]).value) for key in (TYPE, REASON))
            counts[operation.name, kind, reason] += 1
            first.setdefault((operation.name, kind, reason), source_of(operation))
        return ir.WalkResult.ADVANCE

    with module.context:
        module.walk(visit)
    rows = [(op, kind, n, why, first[op, kind, why]) for (op, kind, why), n in counts.most_common()]
    return pd.DataFrame(rows, columns=_COLUMNS)
