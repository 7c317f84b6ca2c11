"""`pdl_pass`: patterns written in MLIR's pattern language as a step like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import OptionError, PassError, SourceSpan
from ..program import Program
from .base import PassContext
from .pdl_calls import NATIVE, Calls, Function, text_of
from .script import ScriptPass, ops_called

if TYPE_CHECKING:
    from torch_mlir import ir
    from torch_mlir.dialects.builtin import ModuleOp

__all__ = ["PdlPass", "pdl_pass"]

# More rewrites than this are patterns that undo each other.
_MOST_REWRITES = 20_000


class PdlPass(ScriptPass):
    """Applies PDL patterns to the whole module until none matches; `fired` counts the last run's rewrites."""

    kind = "PDL pass"

    def __init__(
        self, name: str, text: str, functions: Mapping[str, Function], phase: str, filename: str | None
    ) -> None:
        if not isinstance(functions, Mapping) or not all(map(callable, functions.values())):
            raise OptionError(f"functions= of pass {name} is not a mapping from names to functions")
        self.functions = dict(functions)
        super().__init__(name, text, phase, filename)

    def _verify(self, module: ModuleOp) -> None:
        if not ops_called("pdl.pattern", module):
            raise PassError(f"pass {self.name} has no pdl.pattern", where=self.source)
        self._verify_names(module)
        self._verify_attributes(module)
        self._verify_replacements(module)
        for kind in NATIVE:
            for operation in ops_called(kind, module):
                name = text_of(operation, "name")
                if name is not None and name not in self.functions:
                    raise OptionError(
                        f"pass {self.name} calls {name!r}, which was not given",
                        hint=f"pdl_pass(..., functions={{{name!r}: a function of the values}})",
                        span=self._span(operation.location),
                    )

    def _verify_names(self, module: ModuleOp) -> None:
        """A pattern of an op that does not exist would never match."""
        from ..ir.hints import near_ops

        for operation in ops_called("pdl.operation", module):
            name = text_of(operation, "opName")
            if name is not None and not module.context.is_registered_operation(name):
                raise OptionError(
                    f"pass {self.name}: no op named {name!r}",
                    hint=near_ops(name),
                    span=self._span(operation.location),
                )

    def _verify_attributes(self, module: ModuleOp) -> None:
        """Nor would one of an attribute that its op does not have. Those with a dot any op may carry."""
        from ..ir.context import op_named
        from ..ir.hints import nearest

        for operation in ops_called("pdl.operation", module):
            definition = op_named(text_of(operation, "opName") or "")
            if definition is None:
                continue
            known = [attribute.name for attribute in definition.attrs]
            for name in _texts(operation, "attributeValueNames"):
                if name not in known and "." not in name:
                    raise OptionError(
                        f"pass {self.name}: {definition.name} has no attribute {name!r}",
                        hint=nearest(name, known),
                        span=self._span(operation.location),
                    )

    def _verify_replacements(self, module: ModuleOp) -> None:
        """MLIR takes further values than an op has results without a word, and drops them."""
        for operation in ops_called("pdl.replace", module):
            count, given = _result_count(operation.operands[0].owner), list(operation.operands)[1:]
            if count is None or any(str(value.type) != "!pdl.value" for value in given):
                continue
            if given and len(given) != count:
                results = f"{count} result{'s' if count != 1 else ''}"
                raise OptionError(
                    f"pass {self.name}: {len(given)} values cannot replace an op of {results}",
                    hint="give one value for each result, in their order",
                    span=self._span(operation.location),
                )

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir
        from torch_mlir.rewrite import GreedyRewriteConfig, PDLModule, apply_patterns_and_fold_greedily

        from ..ir.bytecode import write_module

        self.fired = 0
        calls = Calls(self)
        with program.context, ir.Location.unknown():
            module = self._parsed(program.context)
            used = calls.instrument(module)
            # The patterns are freed with this module: it must be held until they have been applied.
            held = ir.Module.parse(write_module(module))
            patterns = PDLModule(held)
            for name, kind in used.items():
                calls.register(patterns, name, kind)
            config = GreedyRewriteConfig()
            config.enable_folding = False
            config.enable_constant_cse = False
            config.max_num_rewrites = _MOST_REWRITES
            try:
                apply_patterns_and_fold_greedily(program.module.operation, patterns.freeze(), config)
            except ir.MLIRError as error:
                raise self._failure(error) from None
            except RuntimeError as error:
                if calls.error is None:
                    raise PassError(
                        f"pass {self.name} does not come to an end: {error}",
                        where=self.source,
                        hint="two patterns undo each other, or one matches what it makes",
                    ) from None
            del held
        calls.reraise()
        self.fired = calls.fired
        self._verify_result(program, calls.fired_at)

    def _verify_result(self, program: Program, fired_at: set[SourceSpan | None]) -> None:
        """Raise what is wrong with the IR now, at the pattern that it is from if only one has fired."""
        from torch_mlir import ir

        from ..ir.diagnostics import found_in

        try:
            program.module.operation.verify()
        except ir.MLIRError as error:
            found = found_in(error, lambda *_: None)
            message = found[0].message if found else str(error).splitlines()[0]
            span = next(iter(fired_at)) if len(fired_at) == 1 else None
            raise PassError(
                f"pass {self.name} left invalid IR: {message}",
                where=None if span else self.source,
                hint="pdl.erase takes ops whose results nobody uses" if "null operand" in message else None,
                span=span,
            ) from None


def _result_count(matched: ir.OpView) -> int | None:
    """How many results the op of a `pdl.operation` has; None if the pattern leaves that open."""
    from torch_mlir import ir

    from ..ir.context import op_named

    sizes = list(ir.DenseI32ArrayAttr(matched.operation.attributes["operandSegmentSizes"]))
    types = list(matched.operation.operands)[sum(sizes[:2]) :]
    if types:
        return len(types) if all(str(value.type) == "!pdl.type" for value in types) else None
    definition = op_named(text_of(matched.operation, "opName") or "")
    if definition is None or any(result.variadic for result in definition.results):
        return None
    return len(definition.results)


def _texts(operation: ir.Operation, key: str) -> list[str]:
    from torch_mlir import ir

    return [ir.StringAttr(entry).value for entry in ir.ArrayAttr(operation.attributes[key])]


def pdl_pass(
    name: str,
    text: str,
    *,
    functions: Mapping[str, Function] | None = None,
    phase: str = "tensorrt",
    filename: str | None = None,
) -> PdlPass:
    """Make a pass of patterns in PDL, MLIR's pattern language.

        drop = mt.pdl_pass("drop-relu-of-relu", '''
          pdl.pattern : benefit(1) {
            %kind = pdl.attribute = #tensorrt.activation_type<kRELU>
            %type = pdl.type
            %x = pdl.operand
            %inner = pdl.operation "tensorrt.activation"(%x : !pdl.value)
                {"activationType" = %kind} -> (%type : !pdl.type)
            %y = pdl.result 0 of %inner
            %outer = pdl.operation "tensorrt.activation"(%y : !pdl.value)
                {"activationType" = %kind} -> (%type : !pdl.type)
            pdl.rewrite %outer {
              pdl.replace %outer with (%y : !pdl.value)
            }
          }''')
        pipeline.insert(drop, after="onnx-to-tensorrt")

    Op names are MLIR's: `onnx.conv`, not `onnx.Conv`. The patterns are applied until none matches; nothing else
    is folded. After a run `fired` is how often they did, and the run's steps say where.

    Args:
        name: the pass's name, as in the text of pipelines.
        text: one or more `pdl.pattern`.
        functions: Python functions that the patterns call by name, with the values (ops, values, types,
            attributes) that they are given: a constraint returns whether it holds, a rewrite its results; the
            function of `pdl.rewrite %op with "name"` returns what replaces the op's results.
        phase: one of `PHASES`.
        filename: what errors call the text; by default `<name>`.

    Raises:
        ParseError, VerificationError: the text is not valid; with its place.
        OptionError: a function that the patterns call is missing, no dialect has an op that they name, or an op
            has no such attribute.
    """
    return PdlPass(name, text, functions or {}, phase, filename)
