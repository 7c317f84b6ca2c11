"""precision-cast: what changes its type, where casts stand, and what stays as it was."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.pipeline import make_pass
from mlirtrt_nb.passes.precision.marks import REASON
from mlirtrt_nb.program import Program

from .programs import attributes_of, convolutions, op_types, text_program


def run(program: Program, *passes: str, **options: object) -> Program:
    """A copy of the program after the passes; `options` are those of precision-cast."""
    copy = program.clone()
    for name in passes:
        make_pass(name, options if name == "precision-cast" else {}).apply(copy, PassContext())
    assert copy.module.operation.verify()
    copy.verify()
    return copy


ACTIVATION = "tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>}"


@pytest.mark.parametrize(("to", "element"), [("fp16", "f16"), ("bf16", "bf16")])
def test_ops_in_between_and_types_at_the_edge(to: str, element: str) -> None:
    """Between one cast down and one cast up all is in the type; the interface is f32."""
    program = text_program(
        "%x: tensor<4xf32>",
        f"%a = {ACTIVATION} %x : tensor<4xf32>\n%b = {ACTIVATION} %a : tensor<4xf32>",
        "%b : tensor<4xf32>",
    )
    made = run(program, "precision-cast", to=to)
    types = [("cast", element), ("activation", element), ("activation", element), ("cast", "f32")]
    assert op_types(made) == types
    assert [spec.dtype for spec in (*made.inputs, *made.outputs)] == ["f32", "f32"]


def test_the_interface_too() -> None:
    """With io the program itself takes and gives the type, and no cast is left."""
    program = text_program("%x: tensor<4xf32>", f"%a = {ACTIVATION} %x : tensor<4xf32>", "%a : tensor<4xf32>")
    made = run(program, "precision-cast", "precision-simplify", io=True)
    assert op_types(made) == [("activation", "f16")]
    assert [spec.dtype for spec in (*made.inputs, *made.outputs)] == ["f16", "f16"]


def test_weights_are_cast_once_and_kept_in_the_type() -> None:
    """Two readers of one weight share its f16 form, and the f32 bytes are gone."""
    program = text_program(
        "%x: tensor<4x64xf32>",
        """
        %w = tensorrt.constant dense_resource<w> : tensor<4x64xf32>
        %a = tensorrt.element_wise <kSUM> (%x, %w : tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
        %b = tensorrt.element_wise <kPROD> (%a, %w : tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
        """,
        "%b : tensor<4x64xf32>",
    )
    values = np.linspace(-1, 1, 256, dtype=np.float32).reshape(4, 64)
    program.weights["w"] = values
    made = run(program, "precision-cast")
    (kept,) = made.weights.values()
    assert kept.dtype == np.float16
    np.testing.assert_array_equal(kept, values.astype(np.float16))
    assert [name for name, _ in op_types(made)].count("constant") == 1
    assert program.weights["w"] is values


def test_values_beyond_fp16_become_its_largest() -> None:
    """A finite constant stays finite, since infinity times 0 is NaN; infinity itself stays."""
    program = text_program(
        "%x: tensor<3xf32>",
        """
        %w = tensorrt.constant dense<[1.0e6, 0xFF800000, -1.0e6]> : tensor<3xf32>
        %a = tensorrt.element_wise <kSUM> (%x, %w : tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        """,
        "%a : tensor<3xf32>",
    )
    text = run(program, "precision-cast").text()
    assert "dense<[6.550400e+04, 0xFC00, -6.550400e+04]> : tensor<3xf16>" in text


def test_marked_ops_stay() -> None:
    """An op marked f32 is read and gives in f32; an op between two of them that only moves stays wide too."""
    program = text_program(
        "%x: tensor<2x8xf32>",
        f"""
        %r = {ACTIVATION} %x : tensor<2x8xf32>
        %s = tensorrt.softmax {{axis = 1 : i64}} %r : tensor<2x8xf32>
        %m = tensorrt.reshape %s : tensor<2x8xf32> to tensor<4x4xf32>
        %t = tensorrt.softmax {{axis = 1 : i64}} %m : tensor<4x4xf32>
        %o = {ACTIVATION} %t : tensor<4x4xf32>
        """,
        "%o : tensor<4x4xf32>",
    )
    made = run(program, "precision-assign", "precision-cast", "precision-simplify")
    assert op_types(made) == [
        ("cast", "f16"),
        ("activation", "f16"),
        ("cast", "f32"),
        ("softmax", "f32"),
        ("reshape", "f32"),
        ("softmax", "f32"),
        ("cast", "f16"),
        ("activation", "f16"),
        ("cast", "f32"),
    ]


def test_an_op_that_takes_f32_only() -> None:
    """The op stays in f32 and says why; what it reads and gives is cast around it."""
    program = text_program(
        "%x: tensor<8xf32>",
        """
        %i = tensorrt.linspace [0.0] [static] [1.0] : tensor<8xf32>
        %a = tensorrt.element_wise <kSUM> (%x, %i : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
        """,
        "%a : tensor<8xf32>",
    )
    made = run(program, "precision-cast", to="bf16")
    assert dict(op_types(made))["linspace"] == "f32"
    assert len(attributes_of(made, REASON)) == 1


def test_integers_and_the_users_casts_are_left_alone() -> None:
    """A cast from f32 to i32 goes on reading f32, and integer ops keep their types."""
    program = text_program(
        "%x: tensor<8xf32>",
        """
        %i = tensorrt.cast %x : tensor<8xf32> to tensor<8xi32>
        %j = tensorrt.element_wise <kSUM> (%i, %i : tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
        """,
        "%j : tensor<8xi32>",
    )
    assert op_types(run(program, "precision-cast")) == op_types(program)


def test_kernels_that_are_attributes() -> None:
    """Kernels and biases of convolutions are cast in their attributes."""
    plan = mt.compile(mt.load(convolutions()), precision="fp16", cache=False)
    assert {str(array.dtype) for array in plan.weights.values()} == {"float16"}
    assert "biasStatic = dense<" in plan.text() and "tensor<4xf16>" in plan.text()


def test_another_type_is_refused() -> None:
    """The pass casts to fp16 and bf16 only."""
    program = text_program("%x: tensor<4xf32>", f"%a = {ACTIVATION} %x : tensor<4xf32>", "%a : tensor<4xf32>")
    with pytest.raises(mt.PrecisionError, match="cannot cast to 'int8'"):
        run(program, "precision-cast", to="int8")
