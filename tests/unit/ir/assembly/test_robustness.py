"""Broken text of every kind: always an error with a place, never another exception, a hang or a crash."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_mlir import ir

from mlirtrt_nb.errors import ParseError, VerificationError
from mlirtrt_nb.ir.assembly import parse_module, print_module
from mlirtrt_nb.ir.assembly.limits import MAX_DEPTH
from mlirtrt_nb.ir.context import definitions
from mlirtrt_nb.ir.verifier import verify

CORPUS = [
    op.example
    for dialect in definitions().values()
    for op in dialect.ops.values()
    if "func.func" in op.example or "plan.program" in op.example
]
TOKEN = re.compile(r'"[^"]*"|[%#!@^]?[\w.]+|\s+|.', re.DOTALL)
TOKENS = [
    *[
        "{",
        "}",
        "(",
        ")",
        "<",
        ">",
        "[",
        "]",
        '"',
        "//",
        "->",
        ":",
        "=",
        ",",
        "?",
        "%x",
        "%0",
        "#a",
        "@f",
        "^bb0:",
        "\n",
        "{-#",
        "#-}",
        "-1",
        "0x",
        "loc(",
        "yield",
    ],
    "99999999999999999999",
    "array<i64: 1>",
    "dense<1> : tensor<4xf32>",
    "dense_resource<__elided__> : tensor<4xf32>",
    "tensor<",
    "tensorrt.foo",
    "tensorrt.if",
    "tensorrt.for",
    "func.func",
    "plan.program",
]


def survives(text: str, context: ir.Context) -> None:
    """Parses, or fails with an error that has a place and can be shown."""
    try:
        module = parse_module(text, "cell", context)
        verify(module, text, "cell")
    except (ParseError, VerificationError) as error:
        assert error.span is not None, str(error)
        assert str(error)
    else:
        print_module(module)


def test_cut_anywhere(context: ir.Context) -> None:
    """Each text of the corpus cut after every so many bytes, a different place in each; some at every byte."""
    for number, text in enumerate(CORPUS):
        step = 1 if number % 16 == 0 else 4
        for end in range(number % step, len(text), step):
            survives(text[:end], context)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_tokens(data: st.DataObject) -> None:
    """Tokens deleted, doubled, swapped, and put in the place of others."""
    tokens = TOKEN.findall(data.draw(st.sampled_from(CORPUS)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(tokens) - 1))
        other = data.draw(st.integers(0, len(tokens) - 1))
        match data.draw(st.integers(0, 4)):
            case 0:
                tokens[at] = ""
            case 1:
                tokens.insert(at, tokens[other])
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = data.draw(st.sampled_from(TOKENS))
            case 4:
                tokens.insert(at, data.draw(st.sampled_from(TOKENS)))
    survives("".join(tokens), _shared())


_CONTEXTS: list[ir.Context] = []


def _shared() -> ir.Context:
    """Hypothesis wants no fixtures."""
    if not _CONTEXTS:
        from mlirtrt_nb.ir.context import new_context

        _CONTEXTS.append(new_context())
    return _CONTEXTS[0]


DEEP = MAX_DEPTH - 12


@pytest.mark.parametrize(
    "text",
    [
        "module {" * DEEP + "}" * DEEP,
        f"module attributes {{a.b = {'[' * DEEP}{']' * DEEP}}} {{}}",
        f"func.func private @f({'tuple<' * DEEP}i32{'>' * DEEP})",
        "func.func @f(%c: tensor<i1>) {\n"
        + "tensorrt.if (%c : tensor<i1>) -> {\n" * (DEEP // 2)
        + "} else {}\n" * (DEEP // 2)
        + "return\n}",
    ],
    ids=["regions", "attributes", "types", "own regions"],
)
def test_deep_nesting(text: str, context: ir.Context) -> None:
    """Nesting up to the limit is read, or refused for another reason; beyond it, it is refused at once."""
    survives(text, context)
    with pytest.raises(ParseError, match=f"nest more than {MAX_DEPTH} deep"):
        parse_module(re.sub(r"[<\[{]", lambda m: m.group() * MAX_DEPTH, text, count=1), "cell", context)


def test_long_lines(context: ir.Context) -> None:
    """Thousands of ops on one line, and an op with hundreds of operands."""
    ops = " ".join(f"%v{n} = tensorrt.softmax {{axis = 0}} %x : tensor<4xf32>" for n in range(2000))
    module = parse_module(f"func.func @f(%x: tensor<4xf32>) {{ {ops} return }}", "cell", context)
    assert print_module(module).count("tensorrt.softmax") == 2000
    values, types = ", ".join(["%x"] * 256), ", ".join(["tensor<4xf32>"] * 256)
    op = "%0 = tensorrt.concatenation {{axis = 0}} ins({} : {}) -> tensor<1024xf32>"
    parse_module(f"func.func @f(%x: tensor<4xf32>) {{ {op.format(values, types)} return }}", "cell", context)
    with pytest.raises(ParseError, match="257 values; at most 256"):
        text = op.format(values + ", %x", types + ", tensor<4xf32>")
        parse_module(f"func.func @f(%x: tensor<4xf32>) {{ {text} return }}", "cell", context)
