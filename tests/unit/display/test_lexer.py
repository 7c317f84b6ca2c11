"""The MLIR lexer: no error token on real IR, and the kinds that colours depend on."""

import pytest
from pygments import lex
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Name, Number, String

from mlirtrt_nb.display.lexer import MlirLexer
from mlirtrt_nb.ir.context import definitions

HARD = r"""
#profile = #tensorrt.shape_profile<min = [1, 3], opt = [1, 3], max = [4, 3]>
!alias = tensor<?x3x0x4xf32, #plan.memory_space<host>>
#map = affine_map<(d0, d1)[s0] -> (d0 mod 4, d1 floordiv 2 - s0)>
#set = affine_set<(d0) : (d0 - 1 >= 0, d0 * 2 == 0)>
module @"quoted \"name\" \0A" attributes {onnx.opset_import = {"" = 17 : i64, "ai.onnx.ml" = 3 : i64}} {
  func.func private @main(%arg0: tensor<1x3x224x224xf32> {plan.name = "x"}) -> (tensor<*xf32>, tensor<[4]xi1>) {
    %0:2 = "onnx.split"(%arg0, %c#1) <{axis = -1 : i64, s = [1.0e-5, 0x7FC00000 : f32, -2., 0xFF]}> : (!alias)
    %w = onnx.Constant {value = dense_resource<"conv1.w"> : tensor<64x3x7x7xf8E4M3FN>}
    %d = arith.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi4>
    %1 = tensorrt.slice %arg0[0, 0][1, 1][1, 1] {mode = #tensorrt.slice_mode<kDEFAULT>} : tensor<4xf32> to !a
    %2 = arith.cmpi slt, %a, %b : index
    cf.cond_br %2, ^bb1(%2 : i1), ^bb0
  ^bb1(%x: i1):  // pred: ^bb0
    %q = quant.qcast %arg0 : tensor<2x!quant.uniform<i8:f32:1, {0.1:-3, 2.0e+2}>>
    %t = "torch.aten.add"(%x) : (!torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32>
    %m = memref.alloc(%n) : memref<?x4xf32, strided<[?, 1], offset: ?>, 3>
    plan.enqueue @trt_engines::@"back-bone" on %s0 ins(%in) outs(%f) workspace(%w) {a.b = unit, "w-d" = 3 : ui8}
    return loc(fused<"pass">["a.py":1:2, callsite(unknown at "b")])
  }
}
// -----
{-#
  dialect_resources: { builtin: { w: "0x04000000AAAA" } }
#-}
"""


def kinds(text: str) -> list[tuple[object, str]]:
    return [(kind, value) for kind, value in lex(text, MlirLexer()) if value.strip()]


def errors(text: str) -> list[str]:
    return [value for kind, value in lex(text, MlirLexer()) if kind is Error]


def test_hard_text_has_no_error_token() -> None:
    """Escapes, aliases, quoted symbols, packs, resources and locations are all MLIR."""
    assert errors(HARD) == []


def test_lexing_keeps_every_character() -> None:
    """The tokens put together are the text."""
    assert "".join(value for _, value in lex(HARD, MlirLexer(stripnl=False))) == HARD


@pytest.mark.parametrize("dialect", ["tensorrt", "plan"])
def test_the_example_of_every_op(dialect: str) -> None:
    """No op's own example has an error token."""
    examples = [op.example for op in definitions()[dialect].ops.values() if op.example]
    assert examples
    assert {text: errors(text) for text in examples if errors(text)} == {}


def test_what_is_not_mlir_is_an_error() -> None:
    """Characters that MLIR lacks outside strings are errors, so that the tests above can fail."""
    assert errors("%0 = a.b ` %1 ~ '") == ["`", "~", "'"]


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("%0 = tensorrt.slice %x", "tensorrt.slice", Name.Function),
        ('"onnx.conv"(%x)', '"onnx.conv"', Name.Function),
        ("%x#1 = a.b", "%x#1", Name.Variable),
        ("tensor<0x3xf32>", "0x3x", Number.Integer),
        ("tensor<0x3xf32>", "f32", Keyword.Type),
        ("0x3F : i8", "0x3F", Number.Hex),
        ("{axis = 1 : i64}", "axis", Name.Attribute),
        ("{plan.name = 1}", "plan.name", Name.Attribute),
        ("<kRELU>", "kRELU", Name.Constant),
        ("call @a::@b", "@b", Name.Entity),
        ("^bb0(%x: i1):", "^bb0", Name.Label),
        ("!quant.any", "!quant.any", Keyword.Type),
        ("#map1", "#map1", Name.Decorator),
        ("// note", "// note", Comment.Single),
        (r'"a\0Ab"', r"\0A", String.Escape),
    ],
)
def test_kind_of_a_token(text: str, value: str, kind: object) -> None:
    """Each part of the syntax has its own kind."""
    assert (kind, value) in kinds(text)


def test_the_installed_package_offers_the_lexer_to_pygments() -> None:
    """Pygments finds the lexer by its entry point, so nbconvert and Sphinx do."""
    assert isinstance(get_lexer_by_name("mlir"), MlirLexer)


def test_a_long_line_is_lexed_in_linear_time() -> None:
    """A constant of a hundred thousand digits is one token, not a hang."""
    assert kinds("1" * 100_000) == [(Number.Integer, "1" * 100_000)]
