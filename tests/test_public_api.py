"""The public names are those promised, exist, and are documented."""

from __future__ import annotations

import inspect

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb import errors

PROMISED = {
    "Pipeline", "Plan", "Program", "benchmark", "compile", "doctor", "from_mlir", "from_onnx", "load",
    "module_pass", "passes", "rewrite",
}  # fmt: skip


def test_promised_names_are_public() -> None:
    """What notebooks are written against is in __all__."""
    assert set(mt.__all__) >= PROMISED


def test_no_name_twice() -> None:
    """__all__ lists each name once."""
    assert len(mt.__all__) == len(set(mt.__all__))


@pytest.mark.parametrize("name", mt.__all__)
def test_each_name_exists_and_is_documented(name: str) -> None:
    """Every public name can be had, is listed by dir(), and has a docstring."""
    value = getattr(mt, name)
    assert name in dir(mt)
    assert inspect.getdoc(value)


@pytest.mark.parametrize("name", mt._EXPORTS)
def test_functions_stay_functions(name: str) -> None:
    """Importing the module that defines a name does not put the module in its place."""
    assert not inspect.ismodule(getattr(mt, name))
    assert callable(getattr(mt, name))


@pytest.mark.parametrize("name", errors.__all__)
def test_errors_are_public(name: str) -> None:
    """Each error can be caught as mt.<Name> and is listed."""
    assert getattr(mt, name) is getattr(errors, name)
    assert name in dir(mt)


def test_public_callables_are_annotated() -> None:
    """Every parameter and result of a public function has a type."""
    functions = [getattr(mt, name) for name in mt.__all__ if inspect.isfunction(getattr(mt, name))]
    assert functions
    for function in functions:
        signature = inspect.signature(function)
        missing = [p.name for p in signature.parameters.values() if p.annotation is inspect.Parameter.empty]
        assert not missing, f"{function.__name__}: {missing}"
        assert signature.return_annotation is not inspect.Signature.empty, function.__name__


def test_unknown_name() -> None:
    """A name that does not exist is an AttributeError, so that hasattr works."""
    assert not hasattr(mt, "no_such_name")
