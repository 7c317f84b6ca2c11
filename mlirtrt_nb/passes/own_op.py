"""The op that a rewrite of the user's is given: it says so when it is asked for what it cannot have."""

from __future__ import annotations

from typing import Any

from ..errors import OptionError
from ..ir import builder
from ..ir.hints import nearest

__all__ = ["Op"]


class Op(builder.Op):
    """An op that tells an attribute that is absent from one that its kind of op does not have.

    Rules of the package's own ask ops of many kinds for one name, and take None for an answer.
    """

    __slots__ = ()

    def attr(self, name: str) -> Any:
        """As that of any op. Raises OptionError for a name that its definition does not have, nor this op."""
        if self.raw(name) is None and self.definition.attr(name) is None and "." not in name:
            self._check(name)
        return super().attr(name)

    def _check(self, name: str) -> None:
        op = self.definition
        if any(entry.name == name for entry in op.operands):
            hint: str | None = f"it is an operand: op.operand({name!r})"
        else:
            hint = nearest(name, [attr.name for attr in op.attrs])
            # An op of ONNX may have attributes that its schema does not name.
            if op.dialect == "onnx" and not (hint and hint.startswith("did you mean")):
                return
        raise OptionError(f"{op.display_name or op.name} has no attribute {name}", hint=hint)
