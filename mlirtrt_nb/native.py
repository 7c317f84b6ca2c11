"""`jit` and `run`: functions of upstream dialects as native code of this process, called with arrays."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .errors import InputError, OptionError
from .kind_name import kind_name
from .program import Program, TensorSpec
from .runtime.host_argument import HostArgument
from .runtime.inputs import counted_inputs
from .worker import Isolation, isolation_of

if TYPE_CHECKING:
    from torch_mlir import ir

    from .engine.host.kernel import Kernel
    from .engine.host.lowering import Lowered
    from .engine.host.types import HostType
    from .runtime.session import Session

__all__ = ["HostFunction", "jit", "run"]


def jit(program: Program | Any, func: str | None = None) -> HostFunction:
    """Compile a function of `program` for this processor.

    The function may use any upstream dialect that computes (linalg, tensor, arith, math, scf, memref, affine,
    vector, complex, index, shape), stablehlo, chlo, tosa and torch. Tensors, memrefs and numbers go in and out
    as arrays and NumPy scalars; memrefs are changed in place. Accesses out of bounds, shapes that disagree,
    divisions by zero and assertions that do not hold are errors of the call.

    Args:
        program: a Program, or anything that `mt.load` takes.
        func: the function's name; by default `main`, else the only public one that no other calls.

    Raises:
        OptionError: there is no such function; SourceError: several, and none is `main`.
        EngineBuildError: it has an op that cannot be compiled for the host; the message names it.
    """
    from .frontends.load import load

    source = program if isinstance(program, Program) else load(program)
    return HostFunction(source, _function(source, func))


def run(
    program: Program | Any,
    *inputs: Any,
    func: str | None = None,
    isolate: bool | Isolation | None = None,
) -> Any:
    """Run a function of `program` on arrays: one result bare, several as a tuple, none as None.

    It is compiled at the first call and kept for as long as the program lives and its IR stays the same; see
    `jit` for what it may contain. A function of tensorrt or onnx ops is run by a Plan for "cpu".

    Args:
        program: a Program, or anything that `mt.load` takes.
        inputs: one array, number or list of numbers per argument; a model's dynamic dimensions are theirs.
        func: the function's name; by default `main`, else the only public one that no other calls.
        isolate: a program without weights runs in the worker process, where a crash is an error; False runs it
            in this one, which takes some milliseconds less a call. As for `mt.compile`.

    Raises:
        OptionError, SourceError, EngineBuildError: as `jit`.
        InputError: the inputs do not fit, or a check failed while it ran.
        WorkerCrashed, Cancelled: it crashed, took too long or was stopped.
    """
    from .frontends.load import load

    source = program if isinstance(program, Program) else load(program)
    limits = isolation_of(isolate)
    if limits is None or source.weights:  # a model is compiled once here, not for each call there
        return _run_here(source, *inputs, func=func)
    from .isolated_run import run_isolated

    given = zip(_function(source, func).regions[0].blocks[0].arguments, inputs, strict=False)
    memrefs = [number for number, (kind, _) in enumerate(given) if str(kind.type).startswith("memref")]
    if _needs_no_copies(inputs, memrefs):
        return _run_here(source, *inputs, func=func)
    return run_isolated(_run_here, source, inputs, func, memrefs, limits)


def _needs_no_copies(inputs: Sequence[Any], changed: Sequence[int]) -> bool:
    """Whether copies of the inputs would behave in another way: an array that is to be changed cannot be, or it
    lies in the memory of another, which reads what is written to it."""
    arrays = {number: value for number, value in enumerate(inputs) if isinstance(value, np.ndarray)}
    return any(
        not arrays[first].flags.writeable
        or any(np.may_share_memory(arrays[first], other) for n, other in arrays.items() if n != first)
        for first in changed
        if first in arrays
    )


def _run_here(source: Program, *inputs: Any, func: str | None) -> Any:
    from .ir.bytecode import write_module

    ir_now = write_module(source.module)
    kept = _KEPT.setdefault(source, {})
    if func not in kept or kept[func][0] != ir_now:
        kept[func] = (ir_now, _runnable(source, func))
    return kept[func][1](*inputs)


# Program -> function -> (IR that was compiled, what it became).
_KEPT: WeakKeyDictionary[Program, dict[str | None, tuple[bytes, Callable[..., Any]]]] = WeakKeyDictionary()
# Dialects whose ops are made into engines.
_ENGINES = frozenset({"tensorrt", "onnx"})


def _runnable(program: Program, func: str | None) -> Callable[..., Any]:
    """A function compiled alone, or the session of a Plan where it has ops that engines are built from."""
    from torch_mlir import ir

    from .engine.host.reachable import alone
    from .ir.symbols import functions

    function = _function(program, func)
    with program.context:
        module, name = alone(function)
        entry = next(op for _, op in functions(module) if op.name.value == name).operation
        entry.attributes["sym_name"] = ir.StringAttr.get("main")  # as engines are built for
        _keep_boundary(function, entry)
    part = Program(module, program.weights, name=program.name, source=program.source)
    if not _ENGINES & set(part.ops["dialect"]):
        return HostFunction(program, function)
    return _ModelFunction(part, ir.StringAttr(function.attributes["sym_name"]).value)


def _keep_boundary(function: ir.Operation, copy: ir.Operation) -> None:
    """Give a copy the arguments' names, as the model or the text has them, and what else is said of them."""
    from torch_mlir import ir

    if "res_attrs" in function.attributes:
        copy.attributes["res_attrs"] = function.attributes["res_attrs"]
    names = _argument_names(function)
    said = function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else [{}] * len(names)
    entries = []
    for name, attributes in zip(names, said, strict=True):
        known = {entry.name: entry.attr for entry in attributes}
        entries.append(ir.DictAttr.get({"plan.name": ir.StringAttr.get(name), **known}))
    if entries:
        copy.attributes["arg_attrs"] = ir.ArrayAttr.get(entries)


class _ModelFunction:
    """A function of a model's ops, compiled to a Plan for each set of shapes of its dynamic inputs."""

    _KEPT_SHAPES = 8

    def __init__(self, program: Program, name: str) -> None:
        self._program = program
        self._name = name
        self._specs = program.inputs
        self._sessions: OrderedDict[tuple[tuple[int, ...], ...], Session] = OrderedDict()

    def __call__(self, *inputs: Any) -> Any:
        if len(inputs) != len(self._specs):
            raise InputError(
                f"@{self._name} takes {counted_inputs(self._specs)}, got {len(inputs)}",
                hint="inputs: " + (", ".join(map(str, self._specs)) or "none"),
            )
        arrays = [_plain_numbers(spec, value) for spec, value in zip(self._specs, inputs, strict=True)]
        shapes = {
            spec.name: tuple(value.shape)
            for spec, value in zip(self._specs, arrays, strict=True)
            if hasattr(value, "shape") and not all(isinstance(dim, int) for dim in spec.shape)
        }
        return self._session(shapes)(*arrays)

    def _session(self, shapes: dict[str, tuple[int, ...]]) -> Session:
        from .compilation import compile as compile_program

        key = tuple(shapes.values())
        if key not in self._sessions:
            self._sessions[key] = compile_program(self._program, shapes=shapes or None).session("cpu")
            if len(self._sessions) > self._KEPT_SHAPES:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(key)
        return self._sessions[key]


def _plain_numbers(spec: TensorSpec, value: Any) -> Any:
    """Python's numbers as the array that a tensor takes; anything else as it is, for the session to check."""
    if hasattr(value, "dtype") or spec.dtype.startswith("!") or "..." in spec.shape:
        return value
    from .engine.host.types import HostType

    shape = tuple(dim if isinstance(dim, int) else -1 for dim in spec.shape)
    return HostArgument(spec.name, HostType("tensor", shape, spec.dtype))(value)


def _function(program: Program, name: str | None) -> ir.Operation:
    from .entry_point import only_entry
    from .ir.symbols import functions

    found = {path: op for path, op in functions(program.module) if not op.is_external}
    if name is None:
        if "main" in found:
            return found["main"].operation
        return only_entry(program.module.operation, "give func=")
    if not isinstance(name, str):
        raise OptionError(f"func= is {kind_name(name)}", hint="give the name of a function")
    if name.lstrip("@") in found:
        return found[name.lstrip("@")].operation
    close = get_close_matches(name, list(found), 1)
    meant = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(found) or 'none'}"
    raise OptionError(f"program {program.name!r} has no function {name!r}", hint=meant)


class HostFunction:
    """A function that has been compiled for this processor. Call it with one array or number per argument.

    Attributes:
        name: the function's name.
        lower_seconds, compile_seconds: wall time of MLIR's passes, and of LLVM.
    """

    def __init__(self, program: Program, function: ir.Operation) -> None:
        from torch_mlir import ir

        from .engine.host.kernel import Kernel
        from .engine.host.lowering import lower

        self.name = ir.StringAttr(function.attributes["sym_name"]).value
        names = _argument_names(function)
        started = time.perf_counter()
        self._lowered: Lowered = lower(function, program.weights, program.text_source)
        lowered = time.perf_counter()
        self._kernel: Kernel = Kernel(self._lowered, program.weights, self.name)
        self.lower_seconds = lowered - started
        self.compile_seconds = time.perf_counter() - lowered
        self._checks = [
            HostArgument(name, kind) for name, kind in zip(names, self._lowered.inputs, strict=True)
        ]

    @property
    def inputs(self) -> list[TensorSpec]:
        """The arguments, by the names that they have in the text."""
        return [_spec(check.name, check.kind) for check in self._checks]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The results."""
        return [_spec(f"result{n}", kind) for n, kind in enumerate(self._lowered.outputs)]

    @cached_property
    def llvm(self) -> str:
        """The code as LLVM IR, before LLVM's own optimisations."""
        from torch_mlir import ir
        from torch_mlir.dialects.llvm import translate_module_to_llvmir

        with ir.Context():
            return translate_module_to_llvmir(ir.Module.parse(self._lowered.bytecode).operation)

    def __call__(self, *inputs: Any) -> Any:
        """Run on arrays and numbers. Raises InputError: they do not fit, or a check failed while it ran."""
        if len(inputs) != len(self._checks):
            raise InputError(
                f"@{self.name} takes {counted_inputs(self._checks)}, got {len(inputs)}", hint=self._signature()
            )
        results = self._kernel([check(value) for check, value in zip(self._checks, inputs, strict=True)])
        return results[0] if len(results) == 1 else tuple(results) or None

    def _signature(self) -> str:
        return "inputs: " + (", ".join(f"{check.name}: {check.kind}" for check in self._checks) or "none")

    def __repr__(self) -> str:
        inputs = ", ".join(f"{check.name}: {check.kind}" for check in self._checks)
        return f"<HostFunction @{self.name}({inputs}) -> ({', '.join(map(str, self._lowered.outputs))})>"


def _argument_names(function: ir.Operation) -> list[str]:
    """The names of a function's arguments: as they were given in the text, else by number."""
    from torch_mlir import ir

    names = []
    for number, argument in enumerate(function.regions[0].blocks[0].arguments):
        location = argument.location
        names.append(location.name_str if isinstance(location, ir.NameLoc) else f"arg{number}")
    return names


def _spec(name: str, kind: HostType) -> TensorSpec:
    return TensorSpec(name, tuple(None if dim < 0 else dim for dim in kind.shape), kind.dtype)
