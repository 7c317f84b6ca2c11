"""`pdl_pass`: patterns written in MLIR's pattern language as a step like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, PassError
from ..program import Program
from .base import PassContext
from .firing import report
from .script import ScriptPass

if TYPE_CHECKING:
    from torch_mlir import ir
    from torch_mlir.dialects.builtin import ModuleOp

__all__ = ["PdlPass", "pdl_pass"]

Function = Callable[..., Any]

# More rewrites than this are patterns that undo each other.
_MOST_REWRITES = 20_000
_FIRED = "mlirtrt_nb.fired"


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
        if not _ops(module, "pdl.pattern"):
            raise PassError(f"pass {self.name} has no pdl.pattern", where=self.source)
        self._verify_names(module)
        for kind in _NATIVE:
            for operation in _ops(module, kind):
                name = _text(operation, "name")
                if name is not None and name not in self.functions:
                    raise OptionError(
                        f"pass {self.name} calls {name!r}, which was not given",
                        hint=f"pdl_pass(..., functions={{{name!r}: a function of the values}})",
                        span=self._span(operation.location),
                    )

    def _verify_names(self, module: ModuleOp) -> None:
        """A pattern of an op that does not exist would never match."""
        from ..ir.hints import near_ops

        for operation in _ops(module, "pdl.operation"):
            name = _text(operation, "opName")
            if name is not None and not module.context.is_registered_operation(name):
                raise OptionError(
                    f"pass {self.name}: no op named {name!r}",
                    hint=near_ops(name),
                    span=self._span(operation.location),
                )

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir
        from torch_mlir.rewrite import GreedyRewriteConfig, PDLModule, apply_patterns_and_fold_greedily

        from ..ir.bytecode import write_module

        self.fired = 0
        calls = _Calls(self)
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


_NATIVE = ("pdl.apply_native_constraint", "pdl.apply_native_rewrite", "pdl.rewrite")


class _Calls:
    """Python's side of the patterns: the counting of rewrites, and the user's functions.

    An exception must not go through MLIR's driver: it is kept, nothing more is done, and it is raised then.
    """

    def __init__(self, pass_: PdlPass) -> None:
        self._pass = pass_
        self.fired = 0
        self.error: Exception | SystemExit | None = None

    def instrument(self, module: ModuleOp) -> dict[str, str]:
        """Let each pattern say when it rewrites; the functions that the patterns call, and of which kind."""
        from torch_mlir import ir

        used: dict[str, str] = {}
        for kind in _NATIVE:
            for operation in _ops(module, kind):
                name = _text(operation, "name")
                if name is not None:
                    used[name] = kind
        for operation in _ops(module, "pdl.rewrite"):
            root = _root(operation)
            if root is None or not operation.regions[0].blocks:
                continue
            name = f"{_FIRED}.{_text(operation.parent.operation, 'sym_name') or ''}"
            used[name] = _FIRED
            with ir.InsertionPoint.at_block_begin(operation.regions[0].blocks[0]), operation.location:
                ir.Operation.create(
                    "pdl.apply_native_rewrite", operands=[root], attributes={"name": ir.StringAttr.get(name)}
                )
        return used

    def register(self, patterns: Any, name: str, kind: str) -> None:
        """Give MLIR the function of that name. To MLIR, what a function returns says whether it failed."""
        if kind == _FIRED:
            rule = name.removeprefix(f"{_FIRED}.")
            patterns.register_rewrite_function(name, lambda _, __, values: self._note(values[0], rule))
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
        self._note(root, getattr(function, "__name__", ""))
        rewriter.replace_op(root, made)

    def reraise(self) -> None:
        """Raise what a function of the user's raised, at its own line."""
        from .user import failure_in

        if isinstance(self.error, PassError):
            raise self.error
        if self.error is not None:
            raise failure_in(self._pass.name, self.error) from self.error


def _ops(module: ModuleOp, name: str) -> list[ir.Operation]:
    from torch_mlir import ir

    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == name:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _text(operation: ir.Operation, key: str) -> str | None:
    from torch_mlir import ir

    return ir.StringAttr(operation.attributes[key]).value if key in operation.attributes else None


def _root(rewrite: ir.Operation) -> ir.Value | None:
    """The op that a rewrite replaces: its operand, else the last one that the pattern describes."""
    if len(rewrite.operands):
        return rewrite.operands[0]
    before = [op.operation for op in rewrite.block.operations if op.operation.name == "pdl.operation"]
    return before[-1].results[0] if before else None


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
        OptionError: a function that the patterns call is missing, or no dialect has an op that they name.
    """
    return PdlPass(name, text, functions or {}, phase, filename)
