"""`transform_pass`: a script of the transform dialect as a step like any other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import PassError
from ..program import Program
from .base import PassContext
from .firing import report_as
from .script import ScriptPass

if TYPE_CHECKING:
    from torch_mlir import ir
    from torch_mlir.dialects.builtin import ModuleOp

__all__ = ["TransformPass", "transform_pass"]

_ENTRY = "__transform_main"
_ALLOWS = "transform.with_named_sequence"
_PAYLOAD = "mlirtrt_nb.payload"
_MATCHED = "mlirtrt_nb.matched:"
_CURRENT = re.compile(r"see current operation: (?:%\S+ = )?\"?([a-z_]\w*(?:\.\w+)+)")


class TransformPass(ScriptPass):
    """Runs a transform script on the module; `fired` counts what its matches found in the last run."""

    kind = "transform pass"

    def _parsed(self, context: ir.Context) -> ModuleOp:
        if _ALLOWS in self.text:
            return super()._parsed(context)
        bare, self.text = self.text, f"module attributes {{{_ALLOWS}}} {{{self.text}\n}}"
        try:
            return super()._parsed(context)
        finally:
            self.text = bare

    def _verify(self, module: ModuleOp) -> None:
        operations = [op.operation for op in module.body.operations]
        names = [
            str(op.attributes["sym_name"]).strip('"')
            for op in operations
            if op.name == "transform.named_sequence"
        ]
        if _ENTRY not in names:
            found = f"; there is @{names[0]}" if names else ""
            raise PassError(
                f"pass {self.name} has no transform.named_sequence @{_ENTRY}{found}", where=self.source
            )

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir
        from torch_mlir.passmanager import PassManager

        self.fired = 0
        with program.context, ir.Location.unknown():
            stage = self._parsed(program.context)
            _say_what_matches(stage)
            # The interpreter takes script and payload in one module.
            payload = program.module.operation.clone()
            payload.attributes["transform.target_tag"] = ir.StringAttr.get(_PAYLOAD)
            stage.body.append(payload)
            options = f"entry-point={_ENTRY} debug-payload-root-tag={_PAYLOAD}"
            with self._listening(program.context):
                try:
                    PassManager.parse(f"builtin.module(transform-interpreter{{{options}}})").run(
                        stage.operation
                    )
                except ir.MLIRError as error:
                    raise self._failure(error) from None
            done = list(stage.body.operations)[-1].operation
            del done.attributes["transform.target_tag"]
            program.module = done.clone()

    @contextmanager
    def _listening(self, context: ir.Context) -> Iterator[None]:
        """Count what the script's matches say of the ops that they found."""

        def hear(diagnostic: ir.Diagnostic) -> bool:
            if not diagnostic.message.startswith(_MATCHED):
                return False
            self.fired += 1
            notes = " ".join(note.message for note in diagnostic.notes)
            match = _CURRENT.search(notes)
            line = diagnostic.message.removeprefix(_MATCHED)
            report_as(match[1] if match else "", diagnostic.location, f"line {line}")
            return True

        quiet, context.emit_error_diagnostics = context.emit_error_diagnostics, False
        handler = context.attach_diagnostic_handler(hear)
        try:
            yield
        finally:
            handler.detach()
            context.emit_error_diagnostics = quiet


def _say_what_matches(stage: ModuleOp) -> None:
    """After each match, a remark at every op that it found."""
    from torch_mlir import ir

    from ..ir.diagnostics import place_of

    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "transform.structured.match":
            found.append(operation)
        return ir.WalkResult.ADVANCE

    stage.operation.walk(visit)
    for operation in found:
        place = place_of(operation.location)
        with ir.InsertionPoint.after(operation), operation.location:
            ir.Operation.create(
                "transform.debug.emit_remark_at",
                operands=[operation.results[0]],
                attributes={"message": ir.StringAttr.get(f"{_MATCHED}{place[1] if place else 0}")},
            )


def transform_pass(name: str, text: str, *, phase: str = "input", filename: str | None = None) -> TransformPass:
    """Make a pass of a script of the transform dialect.

        tile = mt.transform_pass("tile-matmuls", '''
          transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
            %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
                : (!transform.any_op) -> !transform.any_op
            %tiled, %loops:2 = transform.structured.tile_using_for %matmul tile_sizes [8, 8]
                : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
            transform.yield
          }''')
        pipeline.insert(tile)

    The script is given the program's module. After a run `fired` is how many ops its `structured.match` found,
    and the run's steps say which.

    Args:
        name: the pass's name, as in the text of pipelines.
        text: `transform.named_sequence @__transform_main` and what it includes, in a module or bare.
        phase: one of `PHASES`.
        filename: what errors call the text; by default `<name>`.

    Raises:
        ParseError, VerificationError: the text is not valid; with its place.
        PassError: it has no entry.
    """
    return TransformPass(name, text, phase, filename)
