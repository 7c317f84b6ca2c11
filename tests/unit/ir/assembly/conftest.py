"""A context and short ways to parse and print in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from torch_mlir import ir

from mlirtrt_nb.ir.assembly import parse_module, print_module
from mlirtrt_nb.ir.context import new_context


@pytest.fixture(scope="session")
def context() -> ir.Context:
    """One context for all; each test parses modules of its own."""
    return new_context()


@pytest.fixture
def shown(context: ir.Context) -> Callable[[str], str]:
    """What is printed for a text; checks that printing it again changes nothing, in each form."""

    def show(text: str) -> str:
        module = parse_module(text, "cell", new_context() if "dense_resource" in text else context)
        printed = print_module(module)
        for form in ({}, {"custom": False}, {"locations": True}):
            # A context keeps the names of weights, so that the same one would get another name there.
            fresh = new_context() if "dense_resource" in text else context
            again = parse_module(print_module(module, **form), "again", fresh)
            assert print_module(again) == printed
            assert str(again) == str(module)
        return printed

    return show


@pytest.fixture
def body(shown: Callable[[str], str]) -> Callable[[str, str], str]:
    """The lines printed for ops in a function with the given arguments, without its first and last lines."""

    def show(arguments: str, ops: str) -> str:
        printed = shown(f"func.func @f({arguments}) {{\n{ops}\nreturn\n}}")
        lines = printed.splitlines()[2:-3]
        return "\n".join(line[4:] for line in lines)

    return show
