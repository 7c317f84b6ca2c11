"""What is said about text that is wrong: the message, the place, the hint; and all of it at once."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from mlirtrt_nb.errors import MlirTrtError, ParseError, VerificationError
from mlirtrt_nb.ir.assembly import parse_module
from mlirtrt_nb.ir.context import load_chlo, new_context
from mlirtrt_nb.ir.stablehlo_names import STABLEHLO_NAMES
from mlirtrt_nb.ir.verifier import errors_of


def failure(text: str, context: ir.Context) -> MlirTrtError:
    with pytest.raises((ParseError, VerificationError)) as caught:
        parse_module(text, "cell", context)
    return caught.value


def wrapped(op: str) -> str:
    return f"func.func @f(%x: tensor<4xf32>) {{\n  {op}\n  return\n}}"


@pytest.mark.parametrize(
    ("op", "message", "hint", "marked"),
    [
        (
            "%0 = tensorrt.sofmax {axis = 0} %x : tensor<4xf32>",
            "unknown op tensorrt.sofmax",
            "tensorrt.softmax",
            "tensorrt.sofmax",
        ),
        (
            "%0 = onnx.Rellu(%x) : (tensor<4xf32>) -> tensor<4xf32>",
            "unknown op onnx.Rellu",
            "onnx.Relu",
            "onnx.Rellu",
        ),
        ("%0 = arith.adf %x, %x : tensor<4xf32>", "unknown op arith.adf", "arith.addf", "arith.adf"),
        (
            "%0 = stablehlo.tanhh %x : tensor<4xf32>",
            "unknown op stablehlo.tanhh",
            "did you mean stablehlo.tanh",
            "stablehlo.tanhh",
        ),
        ("%0 = arih.addf %x, %x : tensor<4xf32>", "unknown dialect arih", "arith", "arih.addf"),
        (
            '"arih.addf"(%x) {a = "b"} : (tensor<4xf32>) -> ()',
            "op arih.addf is of an unknown",
            "arith",
            '"arih.addf"',
        ),
        ('"my.op"', "op my.op is of an unknown dialect", "unregistered=True", '"my.op"'),
        (
            '"my.op"(%x) : (tensor<4xf32>) -> ()',
            "op my.op is of an unknown dialect",
            "unregistered=True",
            '"my.op"',
        ),
        (
            "%0 = tensorrt.softmax {axs = 0} %x : tensor<4xf32>",
            "tensorrt.softmax has no attribute axs",
            "axis",
            "axs",
        ),
        (
            "%0 = tensorrt.softmax {axis = 0, axis = 1} %x : tensor<4xf32>",
            "attribute axis is given twice",
            None,
            "axis",
        ),
        (
            "%0 = tensorrt.element_wise <kADD>(%x, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
            "has no value kADD",
            "kAND",
            "<kADD>"[:4],
        ),
        (
            "%0 = tensorrt.softmax {axis = 0} %x tensor<4xf32>",
            "expected ':'",
            "written %0 = tensorrt.softmax",
            "t",
        ),
        ("%0 = tensorrt.softmax {axis = 0} : tensor<4xf32>", "expected the value input", None, ":"),
        ("%0 = tensorrt.softmax {axis = 0} %x : ]", "expected a type", None, "]"),
        (
            "%0 = tensorrt.element_wise (%x, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
            "expected elementwiseOperation, as in <kSUM>",
            None,
            "(",
        ),
        (
            "%0 = tensorrt.element_wise <kSUM>(%x, %x : tensor<4xf32>) -> tensor<4xf32>",
            "2 operands but 1 types",
            "it is written",
            None,
        ),
        (
            "%0 = tensorrt.concatenation {axis = 0 : i32} ins(%x, %x : tensor<4xf32>) -> tensor<8xf32>",
            "tensorrt.concatenation: inputs has 2 values but 1 types",
            "it is written",
            "tensorrt.concatenation",
        ),
        ("%0 = tensorrt.shape %x", "expected ':'", "it is written %0 = tensorrt.shape", ""),
        (
            "%0 = tensorrt.softmax {axis = 0} %y : tensor<4xf32>",
            "use of undeclared SSA value name %y",
            None,
            "%y",
        ),
        (
            "%0 = arith.addf\u00a0%x, %x : tensor<4xf32>",
            "unexpected character U+00A0 (NO-BREAK SPACE)",
            "ASCII",
            "\u00a0",
        ),
        ("%0 = arith.addf ; %x, %x : tensor<4xf32>", "unexpected character ';'", None, ";"),
        (
            "%0 = tensorrt.softmax {axis = 0} %x : tensor<5xf32>",
            "expects different type than prior uses",
            None,
            "%x",
        ),
        ("%0 = tensorrt.softmax {axis = 0} %x : tensor<4xf3>", "expected", None, None),
        ("%0 = tensorrt.softmax {axis = 9} %x : memref<4xf32>", "cannot be inferred", None, "tensorrt.softmax"),
        ("plan.return %zz", "%zz is not defined before it is used here", None, "%zz"),
        ("%0 = arith.cmpi sltt, %x, %x : i32", "enum values", "slt", "sltt"),
        (
            "%0 = tensorrt.call_alloc @a(%x : tensor<4xf32>) -> tensor<4xf32, #plan.memory_space<hosst>>",
            "has no value hosst",
            "host",
            None,
        ),
        (
            "%0 = tensorrt.constant {weights = dense<[1.0, 2.0> : tensor<2xf32>}",
            "weights is wrong",
            None,
            None,
        ),
    ],
)
def test_one_mistake(op: str, message: str, hint: str | None, marked: str | None, context: ir.Context) -> None:
    """The message, the nearest name, and the caret under what is wrong on the user's own line."""
    error = failure(wrapped(op), context)
    assert message in error.what
    if hint is not None:
        assert hint in (error.hint or "")
    assert error.span is not None
    assert error.span.filename == "cell"
    assert error.span.line in (2, 3)
    if marked is not None:
        assert error.span.line == 2
        assert error.span.text == f"  {op}"
        assert error.span.text[error.span.column - 1 :].startswith(marked)


def test_an_op_of_an_unknown_dialect_at_the_end(context: ir.Context) -> None:
    """Where MLIR points behind the last line, the name that it means is marked."""
    error = failure('"hello"\n\n', context)
    assert error.what == "op hello is of an unknown dialect"
    assert error.span is not None
    assert (error.span.line, error.span.column, error.span.text) == (1, 1, '"hello"')


def test_names_of_stablehlo_are_those_of_its_ops(context: ir.Context) -> None:
    """Each name that is offered is of an op that MLIR has."""
    load_chlo(context)
    assert len(STABLEHLO_NAMES) == len(set(STABLEHLO_NAMES))
    assert [name for name in STABLEHLO_NAMES if not context.is_registered_operation(name)] == []


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("softmax {axis = 0 : i32} %x : tensor<4xf32>", "axis = 0 : i32 is not of kind i64; write 0 : i64"),
        (
            "reduce <kSUM> %x {reduceAxes = [0]} : tensor<4xf32> -> tensor<f32>",
            "reduceAxes = [0] is not of kind array<i64>; write array<i64: 0>",
        ),
        (
            "reduce <kSUM> %x {reduceAxes = array<i32: 0>} : tensor<4xf32> -> tensor<f32>",
            "reduceAxes = array<i32: 0> is not of kind array<i64>; write array<i64: 0>",
        ),
        ("softmax {axis = 0.5 : f32} %x : tensor<4xf32>", "axis = 5.000000e-01 : f32 is not of kind i64"),
        (
            "activation {activationType = #tensorrt.activation_type<kELU>, alpha = 1 : i64} %x : tensor<4xf32>",
            "alpha = 1 : i64 is not of kind f32; write 1.0 : f32",
        ),
    ],
)
def test_attribute_of_another_kind(op: str, message: str, context: ir.Context) -> None:
    """The message says how to write the value."""
    module = parse_module(wrapped(f"%0 = tensorrt.{op}"), "cell", context)
    assert [error.what.partition(": ")[2] for error in errors_of(module)] == [message]


def test_broken_rule(context: ir.Context) -> None:
    """What MLIR's verifier finds is a broken rule, not a mistake in the text."""
    error = failure("func.func @f(%x: i32) -> f32 {\n  return %x : i32\n}", context)
    assert isinstance(error, VerificationError)
    assert error.span is not None and (error.span.line, error.span.column) == (2, 3)


def test_all_of_a_text(context: ir.Context) -> None:
    """Mistakes of both layers in several functions, inside and outside a module, in the text's order."""
    error = failure(
        """func.func @a(%x: f32) -> f32 {
  %0 = arith.adf %x, %x : f32
  return %0 : f32
}
func.func @b(%x: tensor<4xf32>) attributes {plan.x = "}"} {
  %0 = tensorrt.softmx {axis = 0} %x : tensor<4xf32>
  %1 = tensorrt.softmax {axs = 0} %x : tensor<4xf32>
  return
}
module @n {
  func.func @c(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %zz : tensor<4xf32>
  }
  func.func @d(%x: tensor<4xf32>) -> tensor<5xf32> {
    return %x : tensor<4xf32>
  }
  func.func @fine() {
    return
  }
}
""",
        context,
    )
    assert isinstance(error, ParseError)
    everything = [error, *error.others]
    assert [e.span.line for e in everything if e.span] == [2, 6, 7, 12, 15]
    assert [e.what.split()[0] for e in everything] == ["unknown", "unknown", "tensorrt.softmax", "use", "type"]
    shown = str(error)
    assert shown.count("^") == 5 and "did you mean arith.addf" in shown


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("func.func @f() {", "this '{' is never closed", (1, 16)),
        ("func.func @f() {\n  return\n}}", "this '}' closes nothing", (3, 2)),
        ("module {\n  tensorrt.module @e {\n}", "this '{' is never closed", (1, 8)),
        ("module {}\n{-# dialect_resources: {", "'{-#' is never closed", (2, 1)),
        ("module {}\n#a =", "expected what #a stands for", (2, 5)),
        ("a\0b", "a character that is not allowed (U+0000)", (1, 2)),
        ("a\n\ud800b", "a character that is not allowed (U+D800)", (2, 1)),
    ],
)
def test_broken_text(text: str, message: str, place: tuple[int, int], context: ir.Context) -> None:
    """Text that is no program at all, with the place to look at."""
    error = failure(text, context)
    assert message in error.what
    assert error.span is not None
    assert (error.span.line, error.span.column) == place


def test_columns_count_characters(context: ir.Context) -> None:
    """A caret stands right behind characters that take several bytes."""
    line = '  "a"() {s = "äöü€"} : () -> () %broken'
    error = failure(f"func.func @f() {{\n{line}\n}}", context)
    assert error.span is not None
    assert error.span.text == line
    assert error.span.column <= len(line)


def test_bytes_become_characters(context: ir.Context) -> None:
    """MLIR counts bytes; the user sees characters."""
    line = '  %0 = arith.constant {s = "äöü€"} 1.0 : f33'
    error = failure(f"func.func @f() {{\n{line}\n  return\n}}", context)
    assert error.span is not None
    assert error.span.text[error.span.column - 1 :].startswith("f33")


def test_an_op_where_none_can_stand(context: ir.Context) -> None:
    """What MLIR refuses without a word has a place and a message all the same."""
    error = failure(wrapped("tensorrt.for = tensorrt.softmax {axis = 0} %x : tensor<4xf32>"), context)
    assert error.what == "tensorrt.for does not belong here"
    assert error.span is not None and (error.span.line, error.span.column) == (2, 3)


def test_a_brace_of_an_op_that_was_given_up() -> None:
    """An op with a region and a wrong attribute is one error: the end of its region is none of its own."""
    text = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = plan.cluster target(#plan.host_backend<benefit = 1>) attributes {a = 1 : i32} -> tensor<4xf32> {
    yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}"""
    with pytest.raises(ParseError, match=r"plan\.cluster has no attribute a") as caught:
        parse_module(text, "<cell>", new_context())
    assert caught.value.others == ()
    with pytest.raises(ParseError, match="this '}' closes nothing"):
        parse_module("func.func @f() { return }\n}", "<cell>", new_context())


def test_a_note_says_where() -> None:
    """Where MLIR's note says "here", the line of it is told."""
    function = "func.func @f() { return }\n"
    with pytest.raises(VerificationError, match="redefinition of symbol named 'f'") as caught:
        parse_module(f"\n{function}{function}", "<cell>", new_context())
    assert caught.value.hint == "see existing symbol definition here: line 2"
