"""PDL patterns and transform scripts take part like built-in passes."""

from __future__ import annotations

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import OptionError, ParseError, PassError, VerificationError

RELUS = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  %1 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %0 : tensor<4xf32>
  %2 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %1 : tensor<4xf32>
  %3 = tensorrt.activation {activationType = #tensorrt.activation_type<kTANH>} %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}
"""
RELU_OF_RELU = """
pdl.pattern @relu_of_relu : benefit(1) {
  %kind = pdl.attribute = #tensorrt.activation_type<kRELU>
  %type = pdl.type
  %x = pdl.operand
  %inner = pdl.operation "tensorrt.activation"(%x : !pdl.value)
      {"activationType" = %kind} -> (%type : !pdl.type)
  %y = pdl.result 0 of %inner
  %outer = pdl.operation "tensorrt.activation"(%y : !pdl.value)
      {"activationType" = %kind} -> (%type : !pdl.type)
  pdl.rewrite %outer {
    pdl.replace %outer with (%y : !pdl.value)
  }
}
"""
CALLS = """
pdl.pattern @chosen : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %op = pdl.operation "tensorrt.activation"(%x : !pdl.value) -> (%type : !pdl.type)
  pdl.apply_native_constraint "wanted"(%op : !pdl.operation)
  pdl.rewrite %op with "replacement"(%x : !pdl.value)
}
"""
MATMUL = """func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>)
                     outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}"""
TILE = """
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %t, %l:2 = transform.structured.tile_using_for %m tile_sizes [2, 2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
"""


def run(pass_, text=RELUS, **options):
    """The run of one pass."""
    return mt.Pipeline().insert(pass_).run(mt.from_mlir(text), **options)


@pytest.mark.parametrize("isolate", [True, False])
def test_pdl_patterns_are_a_step(isolate) -> None:
    """Applied to the package's own ops, counted, with what fired where; the program given stays."""
    drop = mt.pdl_pass("drop-relu", RELU_OF_RELU)
    made = run(drop, isolate=isolate)
    assert made.program.text().count("kRELU") == 1
    assert drop.fired == 2 and drop.source == "<drop-relu>:2"
    (step,) = made.steps
    assert step.name == "drop-relu" and step.changed and step.op_delta == {"tensorrt.activation": -2}
    assert {(f.rule, f.op) for f in step.fired} == {("relu_of_relu", "tensorrt.activation")}
    assert {f.sources for f in step.fired} == {("<cell>:4:8",), ("<cell>:5:8",)}


def test_functions_that_patterns_call() -> None:
    """A constraint says whether, a rewrite returns what takes the op's place."""
    drop = mt.pdl_pass(
        "drop-tanh", CALLS, functions={"wanted": lambda op: "kTANH" in str(op), "replacement": lambda op, x: x}
    )
    made = run(drop)
    assert "kTANH" not in made.program.text() and made.program.text().count("kRELU") == 3
    assert drop.fired == 1


def test_an_exception_in_a_function_points_at_its_line() -> None:
    """Nothing crashes, and the last good IR is kept."""

    def wanted(op):
        raise ZeroDivisionError("oh")

    drop = mt.pdl_pass("fails", CALLS, functions={"wanted": wanted, "replacement": lambda op, x: x})
    with pytest.raises(PassError, match="ZeroDivisionError in pass fails: oh") as caught:
        run(drop)
    assert caught.value.span.text.strip() == 'raise ZeroDivisionError("oh")'
    assert caught.value.last_good.text() == mt.from_mlir(RELUS).text()


def test_patterns_without_an_end() -> None:
    """A pattern that matches what it makes is stopped."""
    text = """pdl.pattern : benefit(1) {
      %type = pdl.type
      %kind = pdl.attribute
      %x = pdl.operand
      %op = pdl.operation "tensorrt.activation"(%x : !pdl.value)
          {"activationType" = %kind} -> (%type : !pdl.type)
      pdl.rewrite %op {
        %new = pdl.operation "tensorrt.activation"(%x : !pdl.value)
            {"activationType" = %kind} -> (%type : !pdl.type)
        pdl.replace %op with %new
      }
    }"""
    with pytest.raises(PassError, match="pass again does not come to an end"):
        run(mt.pdl_pass("again", text))


@pytest.mark.parametrize(
    ("text", "error", "message", "line"),
    [
        ("pdl.pattern : benefit(1) {\n  %t = pdl.typ\n}", ParseError, "unknown op pdl.typ", 2),
        ("func.func @f() { return }", PassError, "has no pdl.pattern", None),
        (CALLS, OptionError, "calls 'wanted', which was not given", 6),
        (
            RELU_OF_RELU.replace('"tensorrt.activation"(%y', '"onnx.Relu"(%y'),
            OptionError,
            r"pass bad: no op named 'onnx.Relu'\n(.*\n)*  hint: did you mean onnx.relu",
            9,
        ),
        (
            CALLS.replace("activation", "activaton"),
            OptionError,
            r"no op named 'tensorrt.activaton'\n(.*\n)*  hint: did you mean tensorrt.activation",
            5,
        ),
        (
            RELU_OF_RELU.replace("activationType", "activation_type"),
            OptionError,
            r"has no attribute 'activation_type'\n(.*\n)*  hint: did you mean activationType",
            6,
        ),
        (
            RELU_OF_RELU.replace("with (%y : !pdl.value)", "with (%y, %x : !pdl.value, !pdl.value)"),
            OptionError,
            r"2 values cannot replace an op of 1 result\n(.*\n)*  hint: give one value for each result",
            12,
        ),
    ],
)
def test_mistakes_in_pdl(text, error, message, line) -> None:
    """They are found when the pass is made, at the line of its text."""
    with pytest.raises(error, match=message) as caught:
        mt.pdl_pass("bad", text)
    assert line is None or caught.value.span.line == line


@pytest.mark.parametrize(
    ("rewrite", "message"),
    [
        ("pdl.erase %op", "null operand found\n(.*\n)*  hint: pdl.erase takes ops whose results nobody uses"),
        (
            """%wide = pdl.type : tensor<9xf32>
      %new = pdl.operation "tensorrt.identity"(%x : !pdl.value) -> (%wide : !pdl.type)
      pdl.replace %op with %new""",
            r"'tensor<9xf32>'",
        ),
    ],
)
def test_a_pattern_that_leaves_invalid_ir(rewrite, message) -> None:
    """The error points at its rewrite."""
    text = """pdl.pattern : benefit(1) {
    %kind = pdl.attribute = #tensorrt.activation_type<kTANH>
    %type = pdl.type
    %x = pdl.operand
    %op = pdl.operation "tensorrt.activation"(%x : !pdl.value) {"activationType" = %kind} -> (%type : !pdl.type)
    pdl.rewrite %op {
      REWRITE
    }
  }""".replace("REWRITE", rewrite)
    with pytest.raises(PassError, match=f"pass bad left invalid IR: (.*){message}") as caught:
        run(mt.pdl_pass("bad", text), isolate="erase" in rewrite)
    assert (caught.value.span.line, caught.value.span.text.strip()) == (6, "pdl.rewrite %op {")


@pytest.mark.parametrize("isolate", [True, False])
def test_a_transform_script_is_a_step(isolate) -> None:
    """With what its match found, and where; the rest of the pipeline goes on from there."""
    tile = mt.transform_pass("tile", TILE)
    made = mt.Pipeline().insert(tile).insert("canonicalize").run(mt.from_mlir(MATMUL), isolate=isolate)
    assert made.program.text().count("scf.for") == 2 and "transform" not in made.program.text()
    assert tile.fired == 1
    (firing,) = made.steps[0].fired
    assert (firing.rule, firing.op, firing.sources) == ("line 3", "linalg.matmul", ("<cell>:2:8",))


@pytest.mark.parametrize(
    ("text", "error", "message", "line"),
    [
        (TILE.replace("[2, 2]", "[2, 2, 2, 2]"), VerificationError, "expected number of loops to tile", 4),
        (TILE.replace("linalg.matmul", "func.func"), PassError, "only ops implementing TilingInterface", 4),
        (TILE.replace("__transform_main", "main"), PassError, "@__transform_main; there is @main", None),
        (TILE.replace("tile_sizes", "tile_size"), ParseError, "tile_size", 4),
        (TILE.replace("linalg.matmul", "linalg.matmull"), OptionError, "did you mean linalg.matmul", 3),
        (
            TILE.replace("transform.yield", "transform.structured.vectorize %t : !transform.any_op")
            + "// no yield",
            ParseError,
            "expected 'transform.yield'",
            2,
        ),
    ],
)
def test_mistakes_in_scripts(text, error, message, line) -> None:
    """Those of the text when the pass is made, those of a run at the script's own line."""
    with pytest.raises(error, match=message) as caught:
        run(mt.transform_pass("bad", text), MATMUL, isolate=False)
    assert line is None or caught.value.span.line == line


def test_a_script_that_fails_where_mlir_does_not_say() -> None:
    """Its op is found by running the script again."""
    text = TILE[TILE.index("transform.named") : TILE.index("  %t,")] + (
        "  transform.structured.vectorize %m vector_sizes [4] : !transform.any_op\n  transform.yield\n}"
    )
    with pytest.raises(PassError, match="Attempted to vectorize, but failed") as caught:
        run(mt.transform_pass("bad", text), MATMUL, isolate=False)
    assert (caught.value.span.line, caught.value.span.column) == (3, 3)
    assert caught.value.last_good.text() == mt.from_mlir(MATMUL).text()


def test_a_mistake_in_a_scripts_first_line() -> None:
    """Line and caret are those of the text, which the pass itself puts into a module."""
    text = TILE[TILE.index("transform.named") :].replace("@__transform_main", "@__transform_main2, ")
    with pytest.raises(ParseError) as caught:
        mt.transform_pass("bad", text)
    assert caught.value.span.text == text.split("\n")[0]
    assert text.split("\n")[0][caught.value.span.column - 1] == ","


def test_the_users_passes_have_names() -> None:
    """The text of a pipeline can name them, the list has them, and they take no options."""
    mt.pdl_pass("named-relu", RELU_OF_RELU)

    @mt.rewrite("tensorrt.activation", name="named-tanh")
    def named_tanh(op):
        """Drop tanh."""
        return op.operand("input") if op.attr("activationType") == "kTANH" else None

    pipeline = mt.Pipeline.parse("named-relu,-named-tanh,canonicalize")
    assert str(pipeline) == "named-relu,-named-tanh,canonicalize"
    assert pipeline.run(mt.from_mlir(RELUS)).program.text().count("activation {") == 2
    listed = mt.passes().set_index("name")
    assert listed.loc["named-tanh", "help"] == "Drop tanh."
    with pytest.raises(OptionError, match="pass named-relu has no options"):
        mt.Pipeline.parse("named-relu{x=1}")
    with pytest.raises(OptionError, match=r"did you mean .*named-relu"):
        mt.Pipeline.parse("named-rely")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda op, x: None, "returned 0 values"),
        (lambda op, x: 3, "returned an int for"),
        (lambda op, x: [x, x], "returned 2 values"),
        (lambda op, x: op.results[0], "by itself"),
        (lambda op, x: exit(2), "called exit"),
    ],
)
def test_what_cannot_replace_the_root(returned, message) -> None:
    """A function that is a rewrite as a whole gives as many values as the op has results, of their types."""
    functions = {"wanted": lambda op: True, "replacement": returned}
    with pytest.raises(PassError, match=f"pass replaces-badly .*{message}"):
        mt.Pipeline().insert(mt.pdl_pass("replaces-badly", CALLS, functions=functions)).run(mt.from_mlir(RELUS))


def test_arguments_of_another_kind() -> None:
    """The text is text, and the functions are functions by name."""
    with pytest.raises(OptionError, match="the text of pass x is None"):
        mt.transform_pass("x", None)
    with pytest.raises(OptionError, match="not a mapping from names to functions"):
        mt.pdl_pass("x", CALLS, functions=[abs])
