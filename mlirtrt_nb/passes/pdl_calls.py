"""What MLIR's driver of PDL patterns calls in Python: the counting of rewrites, and the user's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import PassError, SourceSpan
from .firing import report
from .script import ops_called

if TYPE_CHECKING:
    from torch_mlir import ir
    from torch_mlir.dialects.builtin import ModuleOp

    from .pdl_pass import PdlPass

__all__ = ["NATIVE", "Calls", "Function", "text_of"]

Function = Callable[..., Any]

# The ops of a pattern that call a function by name.
NATIVE = ("pdl.apply_native_constraint", "pdl.apply_native_rewrite", "pdl.rewrite")
_FIRED = "mlirtrt_nb.fired"


class Calls:
    """Python's side of the patterns: the counting of rewrites, and the user's functions.

    An exception must not go through MLIR's driver: it is kept, nothing more is done, and it is raised then.
    """

    def __init__(self, pass_: PdlPass) -> None:
        self._pass = pass_
        self.fired = 0
        self.fired_at: set[SourceSpan | None] = set()  # the rewrites in the text
        self._places: dict[str, SourceSpan | None] = {}
        self.error: Exception | SystemExit | None = None

    def instrument(self, module: ModuleOp) -> dict[str, str]:
        """Let each pattern say when it rewrites; the functions that the patterns call, and of which kind."""
        from torch_mlir import ir

        used: dict[str, str] = {}
        for kind in NATIVE:
            for operation in ops_called(kind, module):
                name = text_of(operation, "name")
                if name is not None:
                    used[name] = kind
        for number, operation in enumerate(ops_called("pdl.rewrite", module)):
            root = _root(operation)
            if root is None or not operation.regions[0].blocks:
                continue
            name = f"{_FIRED}.{number}.{text_of(operation.parent.operation, 'sym_name') or ''}"
            used[name] = _FIRED
            self._places[name] = self._pass._span(operation.location)
            with ir.InsertionPoint.at_block_begin(operation.regions[0].blocks[0]), operation.location:
                ir.Operation.create(
                    "pdl.apply_native_rewrite", operands=[root], attributes={"name": ir.StringAttr.get(name)}
                )
        return used

    def register(self, patterns: Any, name: str, kind: str) -> None:
        """Give MLIR the function of that name. To MLIR, what a function returns says whether it failed."""
        if kind == _FIRED:
            patterns.register_rewrite_function(name, lambda _, __, values: self._fire(name, values[0]))
            return
        function = self._pass.functions[name]
        if kind == "pdl.apply_native_constraint":
            patterns.register_constraint_function(
                name, lambda _, __, values: not self._guarded(function, values)
            )
        elif kind == "pdl.apply_native_rewrite":
            patterns.register_rewrite_function(
                name, lambda _, results, values: self._give(results, self._guarded(function, values))
            )
        else:
            patterns.register_rewrite_function(
                name, lambda rewriter, _, values: self._replace(rewriter, function, values)
            )

    def _fire(self, name: str, operation: ir.Operation) -> None:
        self.fired_at.add(self._places[name])
        self._note(operation, name.removeprefix(f"{_FIRED}.").partition(".")[2])

    def _note(self, operation: ir.Operation, rule: str) -> None:
        self.fired += 1
        report(operation.operation, rule)

    def _guarded(self, function: Function, values: Any) -> Any:
        if self.error is not None:
            return None
        try:
            return function(*values)
        except (Exception, SystemExit) as error:
            self.error = error
            return None

    def _give(self, results: Any, returned: Any) -> None:
        """Hand what a function returned on to the pattern."""
        for value in returned if isinstance(returned, list | tuple) else [returned]:
            if value is not None:
                results.append(value)

    def _replace(self, rewriter: Any, function: Function, values: Any) -> None:
        """A rewrite that is a function as a whole: it returns what takes the place of the root's results."""
        from .user import replacement

        root = values[0]
        returned = self._guarded(function, values)
        if self.error is not None:
            return
        try:
            made = replacement(root.operation, returned, self._pass.name, function)
        except PassError as error:
            self.error = error
            return
        self.fired_at.add(None)
        self._note(root, getattr(function, "__name__", ""))
        rewriter.replace_op(root, made)

    def reraise(self) -> None:
        """Raise what a function of the user's raised, at its own line."""
        from .user import failure_in

        if isinstance(self.error, PassError):
            raise self.error
        if self.error is not None:
            raise failure_in(self._pass.name, self.error) from self.error


def text_of(operation: ir.Operation, key: str) -> str | None:
    """The string attribute `key`, if the op has it."""
    from torch_mlir import ir

    return ir.StringAttr(operation.attributes[key]).value if key in operation.attributes else None


def _root(rewrite: ir.Operation) -> ir.Value | None:
    """The op that a rewrite replaces: its operand, else the last one that the pattern describes."""
    if len(rewrite.operands):
        return rewrite.operands[0]
    before = [op.operation for op in rewrite.block.operations if op.operation.name == "pdl.operation"]
    return before[-1].results[0] if before else None
