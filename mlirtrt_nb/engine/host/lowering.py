"""From a function of upstream dialects to a module of the LLVM dialect that can be compiled and called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from torch_mlir import ir
from torch_mlir.dialects import llvm
from torch_mlir.passmanager import PassManager

from ...errors import EngineBuildError, SourceSpan
from ...ir.bytecode import write_module
from ...ir.context import shown_name
from ...ir.diagnostics import found_in, place_of, span_at
from ...ir.locations import sources_of
from ...ir.walking import ops_where
from . import stages
from .checks import Failure, assert_divisors, assert_sizes, assertions_to_exits, bound_recursion
from .fragments import append_text
from .half_words import pass_as_words
from .narrowing import narrow_by_way_of_f32
from .reachable import alone
from .runtime_ir import GUARD, PREFIX, declarations, runtime
from .stablehlo_rest import convert_rest
from .stablehlo_scatter import scatters_to_loops
from .stablehlo_sort import sorts_to_loops
from .types import HostType, host_type
from .weights import binders_of, take_weights

__all__ = ["Lowered", "lower"]

_CIFACE = "_mlir_ciface_"
_EMIT = "llvm.emit_c_interface"
# What frontends must have turned into other dialects, and what may stand in a module that is compiled.
_INPUT = frozenset({"stablehlo", "chlo", "tosa", "torch", "torch_c", "tm_tensor", "tensorrt", "onnx", "plan"})
_COMPILED = frozenset({"llvm", "builtin"})
# What only engines run, and the control flow that they have in the place of native code's.
_OF_ENGINES = frozenset({"tensorrt", "onnx"})
_FOR_ENGINES = {"scf.for": "tensorrt.for", "scf.while": "tensorrt.while", "scf.if": "tensorrt.if"}


@dataclass(frozen=True)
class Lowered:
    """A function in the LLVM dialect. `weights` are the names of arrays to bind, in order, before a call."""

    bytecode: bytes
    inputs: tuple[HostType, ...]
    outputs: tuple[HostType, ...]
    weights: tuple[str, ...]
    failures: tuple[Failure, ...]


def lower(function: ir.Operation, weights: Mapping[str, np.ndarray], text: str | None = None) -> Lowered:
    """Lower a `func.func` and what it calls. The module that it is in stays as it is.

    `text` is the user's, for carets. Raises EngineBuildError naming the op that cannot be compiled.
    """
    with function.context, ir.Location.unknown():
        return _Lowering(function, weights, text).run()


class _Lowering:
    def __init__(self, function: ir.Operation, weights: Mapping[str, np.ndarray], text: str | None) -> None:
        self._name = ir.StringAttr(function.attributes["sym_name"]).value
        self._lines = (text or "").split("\n")
        self._weights = weights
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        self._inputs = self._types(kind.inputs, "argument")
        self._outputs = self._types(kind.results, "result")
        self._module, self._entry = alone(function)

    def _types(self, kinds: Iterable[ir.Type], what: str) -> tuple[HostType, ...]:
        made = []
        for number, kind in enumerate(kinds):
            try:
                made.append(host_type(kind))
            except EngineBuildError as error:
                raise EngineBuildError(
                    error.what, where=f"{what} {number} of @{self._name}", hint=error.hint
                ) from None
        return tuple(made)

    def run(self) -> Lowered:
        root = self._module.operation
        self._passes(stages.frontend_stages(_dialects(root)))
        convert_rest(root)
        sorts_to_loops(root)
        scatters_to_loops(root)
        self._refuse(lambda dialect: dialect in _INPUT)
        self._passes(stages.TO_TENSORS)
        names = take_weights(root, self._weights)
        self._passes(stages.VERIFY)
        assert_divisors(root)
        self._protect_inputs()
        self._passes(stages.TO_MEMORY)
        if not ops_where(root, lambda op: op.name == "memref.dealloc"):
            self._passes(("buffer-deallocation-pipeline",))
        self._passes(stages.TO_LOOPS)
        assert_sizes(root)
        self._declare()
        bound_recursion(root)
        failures = assertions_to_exits(root, self._span)
        narrow_by_way_of_f32(root)
        pass_as_words(root)
        self._passes(stages.TO_LLVM)
        self._refuse(lambda dialect: dialect not in _COMPILED)
        self._attach_runtime()
        return Lowered(write_module(self._module), self._inputs, self._outputs, names, tuple(failures))

    def _passes(self, pipelines: Iterable[str]) -> None:
        _register_passes()
        context = self._module.context
        quiet, context.emit_error_diagnostics = context.emit_error_diagnostics, False
        try:
            for pipeline in pipelines:
                PassManager.parse(f"builtin.module({pipeline})").run(self._module.operation)
        except ir.MLIRError as error:
            raise self._refusal(error) from None
        finally:
            context.emit_error_diagnostics = quiet

    def _refusal(self, error: ir.MLIRError) -> EngineBuildError:
        found = found_in(error, lambda location, _: self._span(location))
        if not found:
            return EngineBuildError(f"the host cannot compile it: {error}", where=f"@{self._name}")
        first = next((entry for entry in found if entry.span is not None), found[0])
        return EngineBuildError(
            f"the host cannot compile it: {_short(first.message)}", where=f"@{self._name}", span=first.span
        )

    def _span(self, location: ir.Location) -> SourceSpan | None:
        """The place in the user's text, if the location lies in it."""
        place = place_of(location)
        if place is None or not 0 < place[1] <= len(self._lines) or self._lines == [""]:
            return None
        return span_at(*place, self._lines[place[1] - 1])

    def _protect_inputs(self) -> None:
        """The caller's tensors are read only: what is changed in place is a copy."""
        entry = self._functions()[self._entry]
        kinds = ir.FunctionType(ir.TypeAttr(entry.attributes["function_type"]).value).inputs
        read_only = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
        entry.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [read_only if isinstance(kind, ir.RankedTensorType) else ir.DictAttr.get({}) for kind in kinds]
        )

    def _functions(self) -> dict[str, ir.Operation]:
        found = {}
        for op in self._module.body.operations:
            if "sym_name" in op.operation.attributes:
                found[ir.StringAttr(op.operation.attributes["sym_name"]).value] = op.operation
        return found

    def _declare(self) -> None:
        """Declare the runtime's functions, and give the entry and the binders names for C."""
        append_text(self._module.operation, declarations())
        functions = self._functions()
        for name in (self._entry, *binders_of(functions)):
            functions[name].attributes[_EMIT] = ir.UnitAttr.get()

    def _refuse(self, is_refused: Callable[[str], bool]) -> None:
        """Raise for the first op of a dialect that should be gone."""
        left = ops_where(self._module.operation, lambda op: is_refused(op.name.partition(".")[0]))
        if left:
            outer = left[0]
            while outer.parent is not None and is_refused(outer.parent.operation.name.partition(".")[0]):
                outer = outer.parent.operation
            span = self._span(outer.location)
            where = None if span else next(iter(sources_of(outer.location)), None)
            raise EngineBuildError(
                f"the host cannot compile {shown_name(outer.name)}",
                where=where or f"@{self._name}",
                span=span,
                hint=_instead(outer),
            )

    def _attach_runtime(self) -> None:
        functions = self._functions()
        for name in (f"{PREFIX}fail", f"{PREFIX}enter", f"{PREFIX}leave"):
            functions[name].erase()
        for name in _ALLOCATION & functions.keys():
            functions[name].erase()
        arguments, result = _c_interface(functions[_CIFACE + self._entry], len(self._inputs))
        text = runtime(self._entry, arguments, result, self._outputs)
        append_text(self._module.operation, text, self._functions().keys())
        self._keep_inside()
        self._refuse_missing()
        if not self._module.operation.verify():
            raise EngineBuildError(
                "the host cannot compile it: its LLVM IR is not valid", where=f"@{self._name}"
            )

    def _keep_inside(self) -> None:
        """Let only the ways in be seen from outside, so that LLVM need not compile the others by themselves."""
        internal = ir.Attribute.parse("#llvm.linkage<internal>")
        seen = {GUARD, *(_CIFACE + name for name in binders_of(self._functions()))}
        for name, function in self._functions().items():
            if function.name == "llvm.func" and function.regions[0].blocks and name not in seen:
                function.attributes["linkage"] = internal

    def _refuse_missing(self) -> None:
        """Every function that is only declared must be the C library's."""
        for name, function in self._functions().items():
            if function.name == "llvm.func" and not function.regions[0].blocks and not _in_process(name):
                raise EngineBuildError(
                    f"the host cannot compile it: this machine has no function {name}", where=f"@{self._name}"
                )


_ALLOCATION = frozenset(
    {"_mlir_memref_to_llvm_alloc", "_mlir_memref_to_llvm_aligned_alloc", "_mlir_memref_to_llvm_free"}
)


def _instead(operation: ir.Operation) -> str | None:
    """What to do about an engine's op that stands in a region of native code."""
    dialect, parent = operation.name.partition(".")[0], operation.parent
    if dialect not in _OF_ENGINES or parent is None:
        return None
    around = parent.operation.name
    if around in _FOR_ENGINES:
        return f"what is in {around} is native code; engines have {_FOR_ENGINES[around]} instead"
    if around == "func.func":
        return "mt.run and mt.compile make an engine of it where the entry function itself has it"
    return f"write it outside {around}, or in ops of MLIR's own dialects or stablehlo"


def _short(message: str) -> str:
    """A diagnostic without the op that some repeat in full."""
    return message.partition(" that was explicitly marked illegal")[0].split("\n")[0]


@cache
def _in_process(name: str) -> bool:
    """Whether a library that is loaded in this process has a function of that name."""
    return hasattr(ctypes.CDLL(None), name)


@cache
def _register_passes() -> None:
    from torch_mlir._mlir_libs import _stablehlo

    _stablehlo.register_stablehlo_passes()


def _dialects(root: ir.Operation) -> set[str]:
    found: set[str] = set()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.add(operation.name.partition(".")[0])
        if operation.name == "torch.operator" and str(operation.attributes["name"]).startswith('"onnx.'):
            found.add("torch.onnx")
        elif operation.name == "func.func" and "!torch." in str(operation.attributes["function_type"]):
            found.add("torch")
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def _c_interface(function: ir.Operation, count: int) -> tuple[list[str], str | None]:
    """The LLVM types of the last `count` arguments, and of the result unless that is void."""
    made = llvm.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    arguments = [str(entry) for entry in made.inputs][-count:] if count else []
    returned = str(made.return_type)
    return arguments, None if returned == "!llvm.void" else returned
