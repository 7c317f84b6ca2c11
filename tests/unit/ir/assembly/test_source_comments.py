"""Source nodes at the ends of printed lines."""

from __future__ import annotations

import pytest
from torch_mlir import ir

import mlirtrt_nb as mt
from mlirtrt_nb.ir.assembly.source_comments import with_source_comments
from mlirtrt_nb.ir.locations import sources_of

LOCATIONS = (
    "unknown",
    '"conv1"',
    '"a (b) at c"',
    '"relu"("file.py":3:4)',
    'fused["conv1", "relu1", "conv1"]',
    'fused<"pass">["x", "model.py":3:4]',
    'callsite("callee" at "caller")',
    'callsite("outer"("inner"("f":1:2)) at fused["x", "y"])',
    'callsite(callsite("a" at "b") at "c")',
    '"quo\\22te"',
    '"caf\\C3\\A9"',
)


@pytest.mark.parametrize("location", LOCATIONS)
def test_names_are_those_of_the_location(location: str) -> None:
    """What is read in the text is what MLIR's own objects say."""
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        op = ir.Operation.parse(f'"a.b"() : () -> () loc({location})')
        printed = op.get_asm(enable_debug_info=True, use_local_scope=True, print_generic_op_form=True)
        names = ", ".join(sources_of(op.location))
    shown = with_source_comments(printed.rstrip())
    assert shown == ('"a.b"() : () -> ()' + (f"  // {names}" if names else ""))


def test_arguments_and_strings() -> None:
    """Locations of arguments go without a trace; text that only looks like one stays."""
    lines = (
        'func.func @f(%a: f32 loc("a"), %b: f32 loc(unknown)) {',
        '  x.y {s = " loc(\\"z\\")"} loc("n")',
        '} loc("f {")',
    )
    assert with_source_comments("\n".join(lines)).split("\n") == [
        "func.func @f(%a: f32, %b: f32) {",
        '  x.y {s = " loc(\\"z\\")"}  // n',
        "}  // f",
    ]


def test_a_program_with_its_sources_is_the_same_program() -> None:
    """The comments are comments: the text parses back to the same module."""
    from onnx import TensorProto, helper

    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu 1")], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    program = mt.load(model)
    text = program.text(locations="sources")
    assert [line for line in text.split("\n") if line.endswith("  // relu 1")]
    assert mt.from_mlir(text).text(custom=False) == program.text(custom=False)
    assert "// relu 1" in str(program) and "// relu 1" in program._repr_html_()
