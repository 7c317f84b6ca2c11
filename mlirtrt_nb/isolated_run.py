"""Running a function of a program in the worker process: native code made from text can crash too."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from .program import Program
from .worker import Isolation, Unsendable, call, inside

__all__ = ["run_isolated"]

Run = Callable[..., Any]

_KEPT_PROGRAMS = 8


def run_isolated(
    run: Run,
    program: Program,
    inputs: Sequence[Any],
    func: str | None,
    memrefs: Sequence[int],
    isolation: Isolation,
) -> Any:
    """`run(program, *inputs, func=func)` in the worker, which keeps what it compiled for the next call.

    `memrefs` are the inputs that the function changes: they are changed here. Raises what `run` raises;
    WorkerCrashed, Cancelled.
    """
    state = program.__reduce__()[1]
    name = f"function @{(func or 'main').lstrip('@')}"
    try:
        outcome = call(_serve, run, state, list(inputs), func, list(memrefs), what=name, isolation=isolation)
    except Unsendable:
        return run(program, *inputs, func=func)  # nothing that it takes: it says what it expected
    results, changed = outcome.value
    for number, after in changed.items():
        np.copyto(inputs[number], after)
    return tuple(map(_own, results)) if isinstance(results, tuple) else _own(results)


def _own(value: Any) -> Any:
    """A result that can be written to, as those of this process can."""
    return np.array(value) if isinstance(value, np.ndarray) and not value.flags.writeable else value


# In the worker ------------------------------------------------------------------------------------------------

_programs: OrderedDict[tuple[bytes, str | None], Program] = OrderedDict()


def _serve(
    run: Run, state: tuple[Any, ...], inputs: list[Any], func: str | None, memrefs: list[int]
) -> tuple[Any, dict[int, Any]]:
    """The results, and what became of the inputs that were changed."""
    for number in memrefs:
        inputs[number] = _own(inputs[number])
    name = f"function @{(func or 'main').lstrip('@')}"
    with inside.doing(name):
        results = run(_program(state), *inputs, func=func)
    return results, {number: inputs[number] for number in memrefs}


def _program(state: tuple[Any, ...]) -> Program:
    """The program, which is the one of an earlier call if it has no weights and the same IR."""
    from .program import _restored

    bytecode, weights, meta = state
    key = (blake2b(bytecode, digest_size=16).digest(), meta["text_source"])
    program = _programs.pop(key, None) or _restored(*state)
    if not weights:
        _programs[key] = program
        if len(_programs) > _KEPT_PROGRAMS:
            _programs.popitem(last=False)
    return program
