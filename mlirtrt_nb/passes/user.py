"""The user's own passes: a function over one op, or over a whole module, as a step like any other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import MlirTrtError, OptionError, PassError, SourceSpan, span_of_function, span_of_line
from ..kind_name import kind_name
from ..program import Program
from ..worker.call import LIBRARIES
from .base import PHASES, Pass, PassContext
from .firing import report
from .users import check_name, remember

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["ModulePass", "RewritePass", "failure_in", "module_pass", "replacement", "rewrite"]

# What a rewrite returns: nothing (leave the op), or the values that take its results' place.
Rewriter = Callable[[Any], Any]
_MESSAGE_CHARACTERS = 2000
_MAY_RETURN = "return None to leave the op, or what replaces its results: a value, an op, or several values"


class _UserPass(Pass):
    """A pass around one function of the user's. `source` is where the function stands ("cell [3], line 12");
    `given` is what the function is called with."""

    given: ClassVar[str]

    def __init__(self, function: Callable[..., Any], name: str, phase: str) -> None:
        if phase not in PHASES:
            raise OptionError(f"phase {phase!r} is not one of {', '.join(PHASES)}")
        self.function = function
        self.name = name  # type: ignore[misc]
        self.phase = phase  # type: ignore[misc]
        if not (inspect.isfunction(function) or inspect.ismethod(function)):
            raise OptionError(f"pass {name} is made of {kind_name(function)}", hint="give a function")
        code = function.__code__
        span = span_of_line(code.co_filename, code.co_firstlineno)
        try:
            inspect.signature(function).bind(None)
        except TypeError:
            hint = f"write def {code.co_name}({self.given}):" if code.co_name.isidentifier() else None
            raise OptionError(
                f"the function of pass {name} cannot be called with one argument, the {self.given}",
                span=span,
                hint=hint,
            ) from None
        self.source = span.place if span.cell else f"{span.filename}:{span.line}"
        self.__doc__ = inspect.getdoc(function) or f"The user's own pass, from {self.source}."
        remember(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} from {self.source}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself, so that a decorated function can still be called."""
        return self.function(*args, **kwargs)

    def _call(self, *args: Any) -> Any:
        """Call the user's function; what it raises points at the user's own line."""
        try:
            return self.function(*args)
        except (Exception, SystemExit) as error:
            raise failure_in(self.name, error) from error


def failure_in(name: str, error: BaseException) -> PassError:
    """What the user's own code raised in the pass `name`, as an error at their own line."""
    if isinstance(error, SystemExit):
        return PassError(f"pass {name} called exit", span=_line_of(error))
    if isinstance(error, MlirTrtError):
        said = f"pass {name}: {error.what}"[:_MESSAGE_CHARACTERS]
        return PassError(said, span=_line_of(error), where=error.where, hint=error.hint)
    said = next(iter(str(error).splitlines()), "")[:_MESSAGE_CHARACTERS]
    what = f"{type(error).__name__} in pass {name}"
    return PassError(f"{what}: {said}" if said else what, span=_line_of(error), hint=_meant(error))


# What ops are asked for in other libraries, by how an `Op` or a `Program` is asked.
_OF_OPS = {
    "operands": 'op.operand("name")',
    "inputs": 'op.operand("name")',
    "results": "op.operation.results",
    "result": "op.operation.results[0]",
    "outputs": "op.operation.results",
    "attributes": 'op.attr("name")',
    "attrs": 'op.attr("name")',
    "location": "op.operation.location",
    "loc": "op.operation.location",
    "regions": "op.operation.regions",
    "parent": "op.operation.parent",
}
_OF_PROGRAMS = {
    "walk": "program.module.operation.walk",
    "body": "program.module.body",
    "operation": "program.module.operation",
    "functions": "program.module.body.operations",
}


def _meant(error: BaseException) -> str | None:
    """How to ask an op or a program for what the user's code asked it for by a name that it lacks, and how to
    change what cannot be written to."""
    from ..ir.builder import Op
    from ..ir.context import shown_name
    from ..ir.hints import nearest

    if isinstance(error, ValueError) and "read-only" in str(error):
        return "weights are not changed in place: give a new array, program.weights[name] = ..."
    wanted, asked = getattr(error, "obj", None), getattr(error, "name", None)
    if not isinstance(error, AttributeError) or not isinstance(asked, str):
        return None
    if isinstance(wanted, Program):
        known = _OF_PROGRAMS.get(asked)
        return f"write {known}" if known else nearest(asked, _public(Program))
    if not isinstance(wanted, Op):
        return None
    if any(entry.name == asked for entry in wanted.definition.operands):
        return f"write op.operand({asked!r})"
    if wanted.definition.attr(asked) is not None:
        return f"write op.attr({asked!r})"
    operands = ", ".join(entry.name for entry in wanted.definition.operands)
    attributes = ", ".join(entry.name for entry in wanted.definition.attrs)
    has = f"{shown_name(wanted.name)} has operands {operands or 'none'}; attributes {attributes or 'none'}"
    known = _OF_OPS.get(asked)
    if known is not None:
        return f"write {known}: {has}"
    close = get_close_matches(asked, _public(Op), 1)
    return f"did you mean {close[0]}?" if close else has


def _public(cls: type) -> list[str]:
    return [name for name in dir(cls) if not name.startswith("_")]


def _line_of(error: BaseException) -> SourceSpan | None:
    """The innermost line of the traceback that is the user's own: not of this package or another library.

    Of a pass that is installed itself, the innermost line that is not of this package or MLIR's bindings.
    """
    own = installed = None
    trace = error.__traceback__
    while trace is not None:
        name, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        if not name.startswith(__file__.removesuffix("passes/user.py")) and "torch_mlir" not in name:
            if name.startswith((*LIBRARIES, "<frozen")):
                installed = name, line
            else:
                own = name, line
        trace = trace.tb_next
    found = own or installed
    return None if found is None else span_of_line(*found)


class RewritePass(_UserPass):
    """Calls a function on every op of one kind. `fired` counts how often it replaced one in the last run."""

    results = frozenset({"fired"})
    given = "op"

    def __init__(self, function: Rewriter, op_name: str, name: str, phase: str) -> None:
        super().__init__(function, name, phase)
        self.op_name = op_name
        self.fired = 0

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        self.fired = 0
        loose: set[int] = set()
        matches: list[ir.Operation] = []

        def collect(operation: ir.Operation) -> ir.WalkResult:
            if operation.name == self.op_name:
                matches.append(operation)
            return ir.WalkResult.ADVANCE

        with program.context:
            program.module.operation.walk(collect)
            for operation in matches:
                self._rewrite(operation, loose)
            if loose and not self.fired:
                self._refuse_unused(program.module.operation, loose)

    def _refuse_unused(self, root: ir.Operation, loose: set[int]) -> None:
        """Raise PassError if an op that was made is of no use: a function that never returns one forgot to."""
        from ..ir.context import shown_name
        from ..ir.made import taken

        found = taken()
        unused = None if found is None else found[0].unused(root, loose)
        if found is None or unused is None:
            return
        place = found[0].place(unused)
        raise PassError(
            f"pass {self.name} made {shown_name(unused.name)} for nothing: it always returned None",
            span=None if place is None else span_of_line(*place),
            hint="return what takes the place of the op's results: a value, an op, or several values",
        )

    def _rewrite(self, operation: ir.Operation, loose: set[int]) -> None:
        """Call the function on an op. `loose` gets what it made where it returned nothing."""
        from torch_mlir import ir

        from ..ir.made import taken
        from .own_op import Op

        with ir.InsertionPoint(operation), operation.location:
            returned = self._call(Op.of(operation))
        found = taken()
        if returned is None:
            loose.update(found[1] if found is not None else ())
            return
        values = replacement(operation, returned, self.name, self.function)
        for old, new in zip(operation.results, values, strict=True):
            old.replace_all_uses_with(new)
        report(operation)
        operation.erase()
        self.fired += 1


def replacement(
    operation: ir.Operation, returned: Any, name: str, function: Callable[..., Any]
) -> list[ir.Value]:
    """The values that take the place of an op's results, from what the user's `function` of the pass `name`
    returned: an op, a value, a sequence of values, or None for none.

    Raises PassError, at the function, if they cannot.
    """
    from torch_mlir import ir

    from ..ir.context import shown_name

    span = span_of_function(function)
    op_name = shown_name(operation.name)

    def failure(what: str, hint: str | None = _MAY_RETURN) -> PassError:
        return PassError(f"pass {name} {what}", span=span, hint=hint)

    if isinstance(returned, ir.Value):
        values = [returned]
    elif isinstance(returned, ir.Operation | ir.OpView):
        values = list(returned.operation.results)
    elif isinstance(returned, Iterable):
        values = list(returned)
    else:
        values = [] if returned is None else [returned]
    for value in values:
        if not isinstance(value, ir.Value):
            raise failure(f"returned {kind_name(value)} for {op_name}")
    if len(values) != len(operation.results):
        raise failure(
            f"returned {len(values)} values for {op_name}, which has {len(operation.results)} results"
        )
    for old, new in zip(operation.results, values, strict=True):
        if old.type != new.type:
            raise failure(f"replaces a value of type {old.type} by one of type {new.type}", None)
        if any(new == result for result in operation.results):
            raise failure(f"replaces a result of {op_name} by itself", "return None to leave the op")
    return values


class ModulePass(_UserPass):
    """Calls a function on the program."""

    given = "program"

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        with program.context, ir.Location.unknown():
            returned = self._call(program)
        if returned is not None and returned is not program:
            raise PassError(
                f"pass {self.name} returned {kind_name(returned)}, which nobody takes",
                span=span_of_function(self.function),
                hint="change the program that it is given, in place, and return nothing",
            )


def rewrite(
    op_name: str, *, name: str | None = None, phase: str = "tensorrt"
) -> Callable[[Rewriter], RewritePass]:
    """Make a pass of a function of one op.

        @mt.rewrite("tensorrt.activation")
        def drop_clips(op):
            if op.attr("activationType") == "kCLIP":
                return op.operand("input")

    The function gets an `Op` (read it by names: `op.operand("input")`, `op.attr("axis")`) with the insertion
    point set before it, and returns None to leave it, or what replaces its results: a value, an op, or a
    sequence of values. Put the pass into a pipeline: `pipeline.insert(drop_clips, after="onnx-to-tensorrt")`.

    Args:
        op_name: full name of the ops ("tensorrt.softmax", "onnx.Relu" or "onnx.relu").
        name: the pass's name; the function's with `-` for `_` if left out.
        phase: one of `PHASES`.

    Raises:
        OptionError: no dialect of the package has such an op; a name as for `module_pass`.
    """
    mlir_name = _op_name(op_name)

    def decorate(function: Rewriter) -> RewritePass:
        own = getattr(function, "__name__", "rewrite").replace("_", "-")
        return RewritePass(function, mlir_name, own if name is None else name, phase)

    return decorate


def _op_name(op_name: str) -> str:
    """MLIR's name of an op. Raises OptionError if no dialect of the package has it."""
    from ..ir.context import op_named
    from ..ir.hints import near_ops

    if not isinstance(op_name, str):
        raise OptionError(f"the op's name is {kind_name(op_name)}", hint='write @mt.rewrite("dialect.op")')
    found = op_named(op_name)
    if found is None:
        raise OptionError(f"no op named {op_name!r}", hint=near_ops(op_name))
    return found.name


def module_pass(name: str, *, phase: str = "tensorrt") -> Callable[[Callable[[Program], None]], ModulePass]:
    """Make a pass of a function that changes a Program in place; the pipeline has made a copy for it.

    Args:
        name: the pass's name.
        phase: one of `PHASES`.

    Raises:
        OptionError: a name that the text of a pipeline cannot have, or that is one of the package's passes.
    """
    check_name(name)

    def decorate(function: Callable[[Program], None]) -> ModulePass:
        return ModulePass(function, name, phase)

    return decorate
