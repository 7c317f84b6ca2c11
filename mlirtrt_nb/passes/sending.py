"""The user's own passes on their way to the worker: what goes with them, and what cannot."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

import cloudpickle

from ..errors import PassError, span_of_function
from ..worker import Unsendable
from ..worker.call import LIBRARIES
from .base import Pass, available
from .mlir_pass import MlirPass

__all__ = ["by_value", "is_own", "results_of"]

_HINT = "make it inside the function, or run with isolate=False, which stays in this process"
_registering = threading.RLock()  # cloudpickle's list of modules is global


@contextmanager
def by_value(passes: Sequence[Pass]) -> Iterator[None]:
    """Send the user's own functions and classes as they are in this process.

    Those of a cell go so in any case. Those of a module of the user's own would go by name, and the worker
    would import the file, which may have been edited since. Raises PassError for a pass that cannot be sent.
    """
    modules = {id(module): module for pass_ in passes if (module := _own_module(pass_)) is not None}
    with _registering:
        listed = cloudpickle.list_registry_pickle_by_value()
        added = [module for module in modules.values() if module.__name__ not in listed]
        for module in added:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        except Unsendable as error:
            raise _why_unsendable(passes, error) from error.__cause__
        finally:
            for module in added:
                with suppress(ValueError):
                    cloudpickle.unregister_pickle_by_value(module)


def is_own(pass_: Pass) -> bool:
    """Whether the pass is the user's own, so that its name says nothing to another process."""
    if isinstance(pass_, MlirPass):
        return False
    kind = type(pass_)
    registered = available().get(pass_.name) is kind and kind.__module__ != "__main__"
    return not registered or _own_module(pass_) is not None


def _own_module(pass_: Pass) -> ModuleType | None:
    """The module of a pass that is neither of this package nor of an installed one."""
    name = getattr(getattr(pass_, "function", None), "__module__", None) or type(pass_).__module__
    module = sys.modules.get(name)
    if module is None or name == "__main__" or name.split(".")[0] == __package__.split(".")[0]:
        return None
    file = getattr(module, "__file__", None) or ""
    return None if file.startswith(LIBRARIES) else module


def _why_unsendable(passes: Sequence[Pass], error: Exception) -> PassError:
    """An error that names the pass, and the variable, that cannot go to the worker."""
    for pass_ in passes:
        problem = _problem(pass_)
        if problem is not None:
            function = getattr(pass_, "function", None)
            name = _culprit(function) if callable(function) else None
            uses = f"it uses {name}, and {problem}" if name else problem
            return PassError(
                f"pass {pass_.name} cannot go to the worker process: {uses}",
                span=span_of_function(function),
                hint=_HINT,
            )
    return PassError(str(error.args[0] if error.args else error), hint=_HINT)


def results_of(pass_: Pass) -> dict[str, Any]:
    """What a run wrote to the pass, to be sent back. Raises PassError for what cannot be sent."""
    found = {name: getattr(pass_, name) for name in pass_.results}
    for name, value in found.items():
        problem = _problem(value)
        if problem is not None:
            raise PassError(
                f"pass {pass_.name}: its {name!r} cannot come back from the worker process: {problem}",
                hint="keep numbers, text or arrays in it, or run the passes with isolate=False",
            )
    return found


def _problem(value: Any) -> str | None:
    """Why a value cannot be pickled; None if it can."""
    try:
        cloudpickle.dumps(value)
    except Exception as error:
        return next(iter(str(error).splitlines()), type(error).__name__)
    return None


def _culprit(function: Callable[..., Any]) -> str | None:
    """The variable of a function, or of those around it, that cannot be pickled."""
    with suppress(TypeError, ValueError):
        used = inspect.getclosurevars(function)
        for name, value in {**used.globals, **used.nonlocals}.items():
            if _problem(value) is not None:
                return name
    return None
