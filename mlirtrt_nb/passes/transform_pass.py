"""`transform_pass`: a script of the transform dialect as a step like any other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import OptionError, ParseError, PassError, SourceSpan, VerificationError
from ..program import Program
from .base import PassContext
from .firing import report_as
from .script import ScriptPass, ops_called

if TYPE_CHECKING:
    from torch_mlir import ir
    from torch_mlir.dialects.builtin import ModuleOp

__all__ = ["TransformPass", "transform_pass"]

_ENTRY = "__transform_main"
_ALLOWS = "transform.with_named_sequence"
_OPENING = f"module attributes {{{_ALLOWS}}} {{"
_MATCH = "transform.structured.match"
_PAYLOAD = "mlirtrt_nb.payload"
_BEGUN = "mlirtrt_nb.begun:"
_MATCHED = "mlirtrt_nb.matched:"
_CURRENT = re.compile(r"see current operation: (?:%\S+ = )?\"?([a-z_]\w*(?:\.\w+)+)")


class TransformPass(ScriptPass):
    """Runs a transform script on the module; `fired` counts what its matches found in the last run."""

    kind = "transform pass"

    def _parsed(self, context: ir.Context) -> ModuleOp:
        if _ALLOWS in self.text:
            return super()._parsed(context)
        bare, self.text = self.text, f"{_OPENING}{self.text}\n}}"
        try:
            return super()._parsed(context)
        except (ParseError, VerificationError) as error:
            for each in (error, *error.others):
                each.span = each.span and _in_script(each.span, bare)
            raise
        finally:
            self.text = bare

    def _span(self, location: ir.Location) -> SourceSpan | None:
        span = super()._span(location)
        return span if span is None or _ALLOWS in self.text else _in_script(span, self.text)

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
        self._verify_matches(module)

    def _verify_matches(self, module: ModuleOp) -> None:
        """A match of ops that do not exist would never find one."""
        from torch_mlir import ir

        from ..ir.hints import near_ops

        for operation in ops_called(_MATCH, module):
            names = operation.attributes.get("ops", [])
            for name in (ir.StringAttr(entry).value for entry in names):
                if not module.context.is_registered_operation(name):
                    raise OptionError(
                        f"pass {self.name}: no op named {name!r}",
                        hint=near_ops(name),
                        span=self._span(operation.location),
                    )

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        self.fired = 0
        with program.context, ir.Location.unknown():
            stage = self._parsed(program.context)
            _say_what_matches(stage)
            try:
                program.module = self._interpreted(stage, program)
            except ir.MLIRError as error:
                failure = self._failure(error)
                failure.span = failure.span or self._place_in_run(program)
                failure.where = None if failure.span else failure.where
                raise failure from None

    def _interpreted(self, stage: ModuleOp, program: Program) -> ModuleOp:
        """What the script in `stage` makes of a copy of the program's module."""
        from torch_mlir import ir
        from torch_mlir.passmanager import PassManager

        # The interpreter takes script and payload in one module.
        payload = program.module.operation.clone()
        payload.attributes["transform.target_tag"] = ir.StringAttr.get(_PAYLOAD)
        stage.body.append(payload)
        options = f"entry-point={_ENTRY} debug-payload-root-tag={_PAYLOAD}"
        with self._listening(program.context):
            PassManager.parse(f"builtin.module(transform-interpreter{{{options}}})").run(stage.operation)
        done = list(stage.body.operations)[-1].operation
        del done.attributes["transform.target_tag"]
        return done.clone()

    def _place_in_run(self, program: Program) -> SourceSpan | None:
        """Where the script fails, if MLIR does not say: run it again, each op saying that it begins."""
        from torch_mlir import ir

        stage = self._parsed(program.context)
        begun = _say_what_begins(stage)
        last: list[int] = []

        def hear(diagnostic: ir.Diagnostic) -> bool:
            message = diagnostic.message
            if message.startswith(_BEGUN):
                last[:] = [int(message.removeprefix(_BEGUN).split()[0])]
            return message.startswith(_BEGUN)

        handler = program.context.attach_diagnostic_handler(hear)
        try:
            self._interpreted(stage, program)
        except ir.MLIRError:
            return self._span(begun[last[0]]) if last else None
        finally:
            handler.detach()
        return None

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

    for operation in ops_called(_MATCH, stage):
        place = place_of(operation.location)
        with ir.InsertionPoint.after(operation), operation.location:
            ir.Operation.create(
                "transform.debug.emit_remark_at",
                operands=[operation.results[0]],
                attributes={"message": ir.StringAttr.get(f"{_MATCHED}{place[1] if place else 0}")},
            )


def _say_what_begins(stage: ModuleOp) -> list[ir.Location]:
    """Before each op of a sequence, a remark with its number; the ops' places by number."""
    from torch_mlir import ir

    begun: list[ir.Location] = []
    kind = ir.Type.parse("!transform.param<i64>")
    for sequence in ops_called("transform.named_sequence", stage):
        for operation in [op.operation for block in sequence.regions[0] for op in block]:
            with ir.InsertionPoint(operation), operation.location:
                number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(begun))
                made = ir.Operation.create(
                    "transform.param.constant", results=[kind], attributes={"value": number}
                )
                ir.Operation.create(
                    "transform.debug.emit_param_as_remark",
                    operands=[made.result],
                    attributes={"message": ir.StringAttr.get(_BEGUN)},
                )
            begun.append(operation.location)
    return begun


def _in_script(span: SourceSpan, text: str) -> SourceSpan:
    """A place in a bare script that was put into a module, in front of its first line."""
    if span.line != 1:
        return span
    return replace(span, column=max(1, span.column - len(_OPENING)), text=text.split("\n")[0])


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
        OptionError: no dialect has an op that it matches.
    """
    return TransformPass(name, text, phase, filename)
