"""The example of each op, as the reference shows it."""

import pytest

from mlirtrt_nb.dialects.tensorrt import DIALECT
from mlirtrt_nb.ir.assembly import parse_module, print_module
from mlirtrt_nb.ir.context import new_context
from mlirtrt_nb.ir.verifier import errors_of


@pytest.fixture(scope="module")
def context():
    return new_context()


@pytest.mark.parametrize("name", DIALECT.ops)
def test_example(name, context):
    """It holds the op, parses, verifies, and reads the same after printing."""
    text = DIALECT.ops[name].example
    assert f"{name} " in text
    module = parse_module(text, "<example>", context)
    assert errors_of(module) == []
    printed = print_module(module)
    assert name in printed
    assert print_module(parse_module(printed, "<printed>", context)) == printed
