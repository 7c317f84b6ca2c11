"""Ops in MLIR-TensorRT's syntax: read, printed in the same spelling, and stable."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Body = Callable[[str, str], str]

# Arguments, and an op exactly as it is printed.
OPS = [
    ("%x: tensor<2x4xf32>", "%0 = tensorrt.softmax {axis = 1 : i64} %x : tensor<2x4xf32>"),
    ("", "%0 = tensorrt.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>"),
    ("", '%0 = tensorrt.constant dense_resource<"a b"> : tensor<2xf32>'),
    (
        "%x: tensor<2xf32>",
        "%0 = tensorrt.activation {activationType = #tensorrt.activation_type<kCLIP>, "
        "alpha = 0.000000e+00 : f32, beta = 6.000000e+00 : f32} %x : tensor<2xf32>",
    ),
    (
        "%x: tensor<2xf32>",
        "%0 = tensorrt.element_wise <kSUM>(%x, %x : tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>",
    ),
    (
        "%x: tensor<?x8xf32>",
        "%0 = tensorrt.reduce <kSUM> %x {keepDimensions = true, reduceAxes = array<i64: 1>} "
        ": tensor<?x8xf32> -> tensor<?x1xf32>",
    ),
    (
        "%x: tensor<?x8xf32>",
        "%0 = tensorrt.slice %x[0, 0][2, 4][1, 2] : tensor<?x8xf32> to tensor<2x4xf32>",
    ),
    (
        "%x: tensor<?x8xf32>, %s: tensor<2xi32>, %f: tensor<f32>",
        "%0 = tensorrt.slice %x[%s: tensor<2xi32>][%s: tensor<2xi32>][1, 1] fill(%f : tensor<f32>) "
        "{mode = #tensorrt.slice_mode<kFILL>} : tensor<?x8xf32> to tensor<?x?xf32>",
    ),
    (
        "%x: tensor<8xf32>, %s: tensor<2xi32>",
        "%0 = tensorrt.broadcast %x broadcast_dims<1> shape(%s : tensor<2xi32>) : tensor<8xf32> "
        "to tensor<?x8xf32>",
    ),
    (
        "%x: tensor<2x8xf32>, %w: tensor<16x8xf32>",
        "%0 = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>, "
        "op1 = #tensorrt.matrix_operation<kTRANSPOSE>} ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) "
        "-> tensor<2x16xf32>",
    ),
    (
        "%x: tensor<1x3x8x8xf32>, %b: tensor<4xf32>",
        "%0 = tensorrt.convolution {kernelStatic = dense<1.000000e+00> : tensor<4x3x3x3xf32>, "
        "post_padding = array<i64: 1, 1>, pre_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>} "
        "in(%x : tensor<1x3x8x8xf32>) bias(%b : tensor<4xf32>) -> tensor<1x4x8x8xf32>",
    ),
    (
        "%d: tensor<4x4xf32>, %n: tensor<2x1xi32>, %u: tensor<2x4xf32>",
        "%0 = tensorrt.scatter_nd data(%d : tensor<4x4xf32>) indices(%n : tensor<2x1xi32>) "
        "updates(%u : tensor<2x4xf32>)",
    ),
    (
        "%d: tensor<4x4xf32>, %n: tensor<2x1xi32>",
        "%0 = tensorrt.gather_nd data(%d) indices(%n) : (tensor<4x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>",
    ),
    (
        "%x: tensor<2x8xf32>, %s: tensor<8xf32>",
        "%0 = tensorrt.quantize {axis = 1 : i32} in(%x : tensor<2x8xf32>) scale(%s : tensor<8xf32>) "
        "-> tensor<2x8xi8>",
    ),
    (
        "%a: tensor<f32>, %b: tensor<1xf32>",
        "%0 = tensorrt.linspace[%a : tensor<f32>] [static] [%b : tensor<1xf32>] : tensor<4xf32>",
    ),
    ("", "%0 = tensorrt.linspace[0.000000e+00] [static] [1.000000e+00] : tensor<4xf32>"),
    (
        "%x: tensor<2x2xf32>, %s: tensor<1xi32>",
        "%0 = tensorrt.reshape %x shape(%s: tensor<1xi32>) : tensor<2x2xf32> to tensor<?xf32>",
    ),
    (
        "%x: tensor<2x3xf32>",
        "%0 = tensorrt.concatenation {axis = 1 : i32} ins(%x, %x, %x : tensor<2x3xf32>, tensor<2x3xf32>, "
        "tensor<2x3xf32>) -> tensor<2x9xf32>",
    ),
    (
        "%x: tensor<4xf32>",
        "%0 = plan.transfer %x : tensor<4xf32> to tensor<4xf32, #plan.memory_space<host>>",
    ),
    (
        "%x: tensor<2xi32>, %a: i32, %b: i32",
        "%0 = plan.with_values %x(%a, %b) : tensor<2xi32>",
    ),
    ("%x: tensor<4xf32>, %d: index", "%0 = plan.with_shape %x(%d) : (tensor<4xf32>, index) -> tensor<4xf32>"),
    (
        "%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>",
        "%0 = onnx.NoValue\n"
        "%1 = onnx.Conv(%x, %w, %0) {strides = array<i64: 2, 2>} : "
        "(tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x3x3xf32>",
    ),
    ("", "%0 = onnx.Constant dense<1> : tensor<2xi64>"),
    (
        "%x: tensor<4xf32>",
        '%0 = onnx.Custom(%x) {alpha = 1 : i64, domain = "my", op_type = "Foo"} : '
        "(tensor<4xf32>) -> tensor<4xf32>",
    ),
]


@pytest.mark.parametrize(("arguments", "op"), OPS, ids=[op.split(" = ", 1)[1].split()[0] for _, op in OPS])
def test_op(arguments: str, op: str, body: Body) -> None:
    """An op in its printed spelling is printed as it was."""
    assert body(arguments, op) == op


def test_defaults_are_left_out(body: Body) -> None:
    """Attributes equal to their default, and segment sizes, are not printed."""
    given = "%0 = tensorrt.reduce <kMAX> %x {keepDimensions = false, reduceAxes = array<i64: 1>} "
    types = ": tensor<2x8xf32> -> tensor<2xf32>"
    assert body("%x: tensor<2x8xf32>", given + types) == given.replace("keepDimensions = false, ", "") + types


def test_widths_are_added(body: Body) -> None:
    """A number without a type gets the one that the op declares."""
    printed = body(
        "%x: tensor<4xf32>", "%0 = tensorrt.concatenation {axis = 0} ins(%x : tensor<4xf32>) -> tensor<4xf32>"
    )
    assert "axis = 0 : i32" in printed


def test_comments_and_line_breaks_anywhere(body: Body) -> None:
    """An op may be spread over lines, with comments between any two tokens."""
    given = """%0 // the result
      = tensorrt.reduce // }
        <kSUM>
        %x {
          // which axes
          reduceAxes = array<i64: 1>, keepDimensions =
            true // kept
        }
        : tensor<2x8xf32>
        -> tensor<2x1xf32>"""
    assert body("%x: tensor<2x8xf32>", given) == (
        "%0 = tensorrt.reduce <kSUM> %x {keepDimensions = true, reduceAxes = array<i64: 1>} "
        ": tensor<2x8xf32> -> tensor<2x1xf32>"
    )


def test_complex_types(body: Body) -> None:
    """Types whose brackets hold arrows, strings and brackets."""
    kind = "memref<?x4xf32, affine_map<(d0, d1)[s0] -> (d0 * s0 + d1)>>"
    assert body(f"%m: {kind}", f"plan.constraint(%m) : {kind}").endswith(
        "plan.constraint(%m) : memref<?x4xf32, #map>"
    )
    quantized = "tensor<2x!quant.uniform<i8:f32, 1.000000e-01>>"
    op = f"%0 = tensorrt.identity %x : {quantized} to {quantized}"
    assert body(f"%x: {quantized}", op) == op


def test_regions(shown: Callable[[str], str]) -> None:
    """Regions of if, while and for, nested, with values from above and block arguments."""
    text = """module {
  func.func @f(%c: tensor<i1>, %n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tensorrt.if(%c : tensor<i1>) -> tensor<4xf32> {
      %1 = tensorrt.for %i = %n to %n step %n init(%a = %x) -> (tensor<4xf32>) {
        tensorrt.yield %a : tensor<4xf32>
      }
      tensorrt.yield %1 : tensor<4xf32>
    } else {
      %1 = tensorrt.while(%x : tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%a: tensor<4xf32>):
        tensorrt.condition(%c : tensor<i1>) %a : tensor<4xf32>
      }, {
      ^bb0(%b: tensor<4xf32>):
        tensorrt.yield %b : tensor<4xf32>
      }
      tensorrt.yield %1 : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
}
"""
    assert shown(text) == text


def test_bare_yield_belongs_to_plan_regions(shown: Callable[[str], str]) -> None:
    """`yield` stands for plan.yield in a region of a plan op, and is shown so; elsewhere it is not ours."""
    text = """module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = plan.cluster target(#plan.host_backend<benefit = 1>) -> tensor<4xf32> {
      yield %x : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
}
"""
    assert shown(text) == text
    assert shown(text.replace("      yield", "      plan.yield")) == text


def test_engines_module(shown: Callable[[str], str]) -> None:
    """tensorrt.module is a marked builtin.module to MLIR and keeps its own name in text."""
    text = """module {
  tensorrt.module @trt_engines attributes {a.b = 1 : i64} {
    func.func @main_0(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tensorrt.call_alloc @trt_engines::@main_0(%x : tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""
    assert shown(text) == text


def test_types_that_the_syntax_leaves_out(shown: Callable[[str], str]) -> None:
    """A schedule names values without types; they come from where the values are defined."""
    text = """module {
  plan.program @main(%x: memref<4xf32> {plan.name = "x"}) -> memref<4xf32> {plan.name = "y"} \
attributes {arena_bytes = 16 : i64, device = "cuda", peak_live_bytes = 16 : i64, targets = ["sm89"]} {
    %s = plan.stream 0
    %b = plan.buffer at 0 size 16 live [0, 2] : memref<4xf32>
    plan.copy %x to %b on %s
    plan.enqueue @trt_engines::@main_0 on %s ins(%b) outs(%b)
    plan.return %b
  }
}
"""
    assert shown(text) == text


def test_other_dialects_are_left_alone(shown: Callable[[str], str]) -> None:
    """Ops of func, arith, scf, tensor, linalg and stablehlo stand beside the package's own."""
    text = """module {
  func.func @f(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
    %c1 = arith.constant 1 : index
    %0 = tensorrt.softmax {axis = 0 : i64} %x : tensor<4xf32>
    %1 = scf.if %c -> (tensor<4xf32>) {
      %5 = tensorrt.softmax {axis = 0 : i64} %0 : tensor<4xf32>
      scf.yield %5 : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    %2 = stablehlo.add %1, %0 : tensor<4xf32>
    %3 = tensor.empty() : tensor<4xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} \
ins(%2 : tensor<4xf32>) outs(%3 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4xf32>
    return %4 : tensor<4xf32>
  }
}
"""
    assert shown("#map = affine_map<(d0) -> (d0)>\n" + text) == "#map = affine_map<(d0) -> (d0)>\n" + text
