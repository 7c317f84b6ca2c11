"""Programs and Plans as they are shown."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from pygments import lex
from pygments.token import Error

import mlirtrt_nb as mt
from mlirtrt_nb.display.lexer import MlirLexer
from mlirtrt_nb.display.plan import plan_card, plan_text, report_html, report_text
from mlirtrt_nb.display.shorten import fold_constants
from models.fetch import SHAPES, model

SMALL = ("squeezenet", "PP-OCRv6_det_small", "silero_vad_16k_sequence", "encoder")
RELU = """func.func @main(%x: tensor<?x4xf32> {plan.name = "x", tensorrt.dimension_names = {"0" = "batch"}})
    -> (tensor<?x4xf32> {plan.name = "y"}) {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
"""


@pytest.fixture(scope="module", params=SMALL)
def compiled(request: pytest.FixtureRequest) -> tuple[mt.Program, mt.Plan]:
    """A real model and its Plan for the cpu."""
    program = mt.load(model(request.param))
    return program, mt.compile(program, "cpu", shapes=SHAPES.get(request.param))


def test_no_error_token_in_any_ir(compiled: tuple[mt.Program, mt.Plan]) -> None:
    """The lexer knows all that is printed: custom and generic form, locations, before and after passes."""
    program, plan = compiled
    texts = [program.text(), program.text(locations=True), program.text(custom=False), plan.text()]
    for text in texts:
        wrong = [value for kind, value in lex(text, MlirLexer()) if kind is Error]
        assert wrong == []


def test_cards_of_real_models_are_bounded(compiled: tuple[mt.Program, mt.Plan]) -> None:
    """Weights of megabytes and hundreds of ops make outputs of at most some hundred kB."""
    program, plan = compiled
    for html in (program._repr_html_(), plan._repr_html_(), plan.report._repr_html_()):
        assert len(html) < 200_000
    for text in (str(program), str(plan), str(plan.report)):
        assert len(text) < 30_000


def test_program_text(golden: Callable[[str, str], None]) -> None:
    """A Program as text: named dimensions, weights, and its IR with the user's value names."""
    golden("display/program.txt", str(mt.from_mlir(RELU)))


def test_program_html_says_the_same() -> None:
    """What the text has, the HTML has."""
    program = mt.from_mlir(RELU)
    html = re.sub(r"<style>.*?</style>|<[^>]+>", "", program._repr_html_(), flags=re.S)
    assert "x: [batch, 4] f32" in html
    assert "%y = tensorrt.activation" in html


def test_repr_is_one_line() -> None:
    """In a list or a debugger, a Program and a Plan take one line."""
    program = mt.from_mlir(RELU)
    plan = mt.compile(program, shapes={"x": (2, 4)})
    assert "\n" not in repr(program) and "\n" not in repr(plan)


def normalised(text: str) -> str:
    """Without what changes from run to run."""
    text = re.sub(r"\d+(\.\d+)? (µs|ms|s)\b", "TIME", text)
    text = re.sub(r"(ONNX Runtime|TensorRT-RTX) [\d.]+", r"\1 VERSION", text)
    text = re.sub(r"__mye\d+", "__myeN", text)
    return re.sub(r" {2,}|─+", "  ", text)


def test_plan_text(golden: Callable[[str, str], None]) -> None:
    """A Plan for two targets as text: facts, engines, buffers and layers."""
    shapes = {"x": ("1x4", "2x4", "8x4")}
    plan = mt.compile(mt.from_mlir(RELU), ["cpu", "sm89"], shapes=shapes, cache=False)
    plan.name = "relu"
    golden("display/plan.txt", normalised(plan_text(plan)))
    assert report_text(plan).startswith("Report of relu")
    for html in (plan_card(plan), report_html(plan)):
        assert "TensorRT takes every op" in html
        assert "sm89" in html


def test_fallbacks_are_a_warning() -> None:
    """What TensorRT does not take is said at the top, and listed with its reason."""
    plan = mt.compile(_with_det(), ["cpu", "sm89"])
    text = plan_text(plan)
    assert "⚠ TensorRT does not take 1 op; ONNX Runtime runs it" in text
    assert "Not taken by TensorRT" in text
    assert plan.fallbacks["reason"][0] in plan_card(plan).replace("&#x27;", "'").replace("&quot;", '"')


STABLEHLO = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.add %0, %x : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


def test_a_card_without_engines() -> None:
    """Of a program that is all native code, the card says what runs it, that no engine is there, and that a
    precision changes nothing."""
    plan = mt.compile(mt.from_mlir(STABLEHLO), ["cpu", "sm89"], precision="int8", isolate=False)
    text = plan_text(plan)
    assert (
        "⚠ TensorRT does not take 2 ops, so that there is no engine for sm89; native code made by MLIR" in text
    )
    assert "⚠ precision int8 changes nothing: it is for TensorRT's ops, and there are none" in text
    assert "percentile" not in text and "made-up inputs" not in text
    assert "precision_unused" not in mt.compile(_with_det(), "cpu", precision="fp16", isolate=False).metadata


def _with_det() -> mt.Program:
    """An ONNX model with Relu, which TensorRT takes, and Det, which it does not."""
    from onnx import TensorProto, checker, helper

    nodes = [helper.make_node("Relu", ["x"], ["r"], name="r"), helper.make_node("Det", ["r"], ["y"], name="d")]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [3, 3]), ("y", []))]
    made = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    onnx_model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(onnx_model)
    return mt.load(onnx_model)


def test_runs_of_constants_are_folded() -> None:
    """Hundreds of weights take a few lines; short runs, and the other ops, are left as they are."""
    constants = [f"  %{n} = onnx.Constant dense<{n}> : tensor<f32>" for n in range(10)]
    text = "\n".join(["func.func @f() {", *constants, "  return", "}"])
    assert fold_constants(text).split("\n") == [
        "func.func @f() {",
        *constants[:3],
        "  // … 7 more constants",
        "  return",
        "}",
    ]
    short = "\n".join(constants[:4])
    assert fold_constants(short) == short
