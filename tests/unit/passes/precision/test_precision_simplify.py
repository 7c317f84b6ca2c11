"""precision-simplify: what undoes itself goes, and nothing else."""

from __future__ import annotations

from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.pipeline import make_pass
from mlirtrt_nb.program import Program

from .programs import op_types, text_program


def simplified(program: Program) -> list[tuple[str, str]]:
    make_pass("precision-simplify").apply(program, PassContext())
    program.verify()
    return op_types(program)


def test_up_and_down_again() -> None:
    """A cast from f16 to f32 and back is nothing; one from f32 to f16 and back loses digits, and stays."""
    up = text_program(
        "%x: tensor<4xf16>",
        "%a = tensorrt.cast %x : tensor<4xf16> to tensor<4xf32>\n"
        "%b = tensorrt.cast %a : tensor<4xf32> to tensor<4xf16>",
        "%b : tensor<4xf16>",
    )
    assert simplified(up) == []
    down = text_program(
        "%x: tensor<4xf32>",
        "%a = tensorrt.cast %x : tensor<4xf32> to tensor<4xf16>\n"
        "%b = tensorrt.cast %a : tensor<4xf16> to tensor<4xf32>",
        "%b : tensor<4xf32>",
    )
    assert simplified(down) == [("cast", "f16"), ("cast", "f32")]


def pair(second: str) -> Program:
    return text_program(
        "%x: tensor<4x4xi8>",
        f"""
        %s = tensorrt.constant dense<0.5> : tensor<f32>
        %t = tensorrt.constant dense<0.25> : tensor<f32>
        %a = tensorrt.dequantize in(%x : tensor<4x4xi8>) scale(%s : tensor<f32>) -> tensor<4x4xf32>
        %b = tensorrt.quantize in(%a : tensor<4x4xf32>) scale({second} : tensor<f32>) -> tensor<4x4xi8>
        """,
        "%b : tensor<4x4xi8>",
    )


def test_rounding_again_with_the_same_scale() -> None:
    """Rounded numbers rounded again by their own scale are the same; by another scale they are not."""
    assert "quantize" not in dict(simplified(pair("%s")))
    assert "quantize" in dict(simplified(pair("%t")))


def padded(fill: str) -> Program:
    """What is cast down, sliced beyond its end, and cast up again."""
    return text_program(
        "%x: tensor<4xf32>",
        f"""
        %f = tensorrt.constant dense<9.0> : tensor<f16>
        %a = tensorrt.cast %x : tensor<4xf32> to tensor<4xf16>
        %s = tensorrt.slice %a[0][6][1] {fill} {{mode = #tensorrt.slice_mode<kFILL>}}
          : tensor<4xf16> to tensor<6xf16>
        %b = tensorrt.cast %s : tensor<6xf16> to tensor<6xf32>
        """,
        "%b : tensor<6xf32>",
    )


def test_moves_between_casts_stay_wide() -> None:
    """Except one that is given a number of its own, which is narrow."""
    assert ("slice", "f32") in simplified(padded(""))
    assert ("slice", "f16") in simplified(padded("fill(%f : tensor<f16>)"))
