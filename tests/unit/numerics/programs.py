"""Small programs in tensorrt text, in fp32 and as precision passes would make them."""

from __future__ import annotations

import mlirtrt_nb as mt
from mlirtrt_nb.program import Program

__all__ = ["exponential", "half_exponential", "noisy", "quantized_product"]

_NONE = "op0 = #tensorrt.matrix_operation<kNONE>, op1 = #tensorrt.matrix_operation<kNONE>"


def exponential() -> Program:
    """exp(x @ w) for x of 2x8, w all 0.3; the nodes are called `mm` and `exp`."""
    return mt.from_mlir(f"""
func.func @main(%x: tensor<2x8xf32> {{plan.name = "x"}}) -> (tensor<2x4xf32> {{plan.name = "y"}}) {{
  %w = tensorrt.constant dense<0.3> : tensor<8x4xf32> loc("w")
  %0 = tensorrt.matrix_multiply {{{_NONE}}} ins(%x, %w : tensor<2x8xf32>, tensor<8x4xf32>)
      -> tensor<2x4xf32> loc("mm")
  %1 = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<kEXP>}} %0 : tensor<2x4xf32> loc("exp")
  return %1 : tensor<2x4xf32>
}}""")


def half_exponential() -> Program:
    """`exponential` in f16, with f32 at its ends."""
    return mt.from_mlir(f"""
func.func @main(%x: tensor<2x8xf32> {{plan.name = "x"}}) -> (tensor<2x4xf32> {{plan.name = "y"}}) {{
  %w = tensorrt.constant dense<0.3> : tensor<8x4xf16> loc("w")
  %h = tensorrt.cast %x : tensor<2x8xf32> to tensor<2x8xf16>
  %0 = tensorrt.matrix_multiply {{{_NONE}}} ins(%h, %w : tensor<2x8xf16>, tensor<8x4xf16>)
      -> tensor<2x4xf16> loc("mm")
  %1 = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<kEXP>}} %0 : tensor<2x4xf16> loc("exp")
  %2 = tensorrt.cast %1 : tensor<2x4xf16> to tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}}""")


def quantized_product() -> Program:
    """x @ w with x quantized to i8 by 0.05 and w, all 0.3, by 0.01; the product is called `mm`."""
    return mt.from_mlir(f"""
func.func @main(%x: tensor<2x8xf32> {{plan.name = "x"}}) -> (tensor<2x4xf32> {{plan.name = "y"}}) {{
  %w = tensorrt.constant dense<30> : tensor<8x4xi8> loc("w")
  %ws = tensorrt.constant dense<0.01> : tensor<f32>
  %xs = tensorrt.constant dense<0.05> : tensor<f32>
  %q = tensorrt.quantize in(%x : tensor<2x8xf32>) scale(%xs : tensor<f32>) -> tensor<2x8xi8>
  %d = tensorrt.dequantize in(%q : tensor<2x8xi8>) scale(%xs : tensor<f32>) -> tensor<2x8xf32>
  %dw = tensorrt.dequantize in(%w : tensor<8x4xi8>) scale(%ws : tensor<f32>) -> tensor<8x4xf32>
  %0 = tensorrt.matrix_multiply {{{_NONE}}} ins(%d, %dw : tensor<2x8xf32>, tensor<8x4xf32>)
      -> tensor<2x4xf32> loc("mm")
  return %0 : tensor<2x4xf32>
}}""")


def noisy() -> Program:
    """x @ w for x of 2x8, w all 0.3, and exp of it with random numbers added: `mm`, `noise`, `sum`, `exp`."""
    return mt.from_mlir(f"""
func.func @main(%x: tensor<2x8xf32> {{plan.name = "x"}})
    -> (tensor<2x4xf32> {{plan.name = "clean"}}, tensor<2x4xf32> {{plan.name = "y"}}) {{
  %w = tensorrt.constant dense<0.3> : tensor<8x4xf32> loc("w")
  %0 = tensorrt.matrix_multiply {{{_NONE}}} ins(%x, %w : tensor<2x8xf32>, tensor<8x4xf32>)
      -> tensor<2x4xf32> loc("mm")
  %1 = tensorrt.random_uniform {{static_low = 0.0 : f64, static_high = 1.0 : f64}}
      -> tensor<2x4xf32> loc("noise")
  %2 = tensorrt.element_wise <kSUM>(%0, %1 : tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> loc("sum")
  %3 = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<kEXP>}} %2 : tensor<2x4xf32> loc("exp")
  return %0, %3 : tensor<2x4xf32>, tensor<2x4xf32>
}}""")
