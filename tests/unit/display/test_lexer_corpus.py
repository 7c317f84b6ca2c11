"""No error token on IR of upstream dialects, as users write it and as each stage of lowering prints it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pygments import lex
from pygments.token import Error

import mlirtrt_nb as mt
from mlirtrt_nb.display.lexer import MlirLexer
from tests.unit.engine.host.stablehlo_cases import CASES

NOTEBOOKS = Path(__file__).parent.parent.parent.parent / "notebooks"

# Syntax that is peculiar to a dialect. All of it is read by MLIR, which the test checks first.
WRITTEN = {
    "affine": """
#tile = affine_map<(d0)[s0] -> (d0, d0 + 32, s0)>
#inside = affine_set<(d0, d1)[s0] : (d0 * 2 - d1 + s0 >= 0, d0 mod 4 == 0)>
func.func @f(%m: memref<?x?xf32>, %n: index) {
  affine.for %i = 0 to min #tile(%n)[%n] step 2 {
    affine.for %j = max affine_map<(d0) -> (d0 - 1, 0)>(%i) to %n {
      affine.if #inside(%i, %j)[%n] {
        %0 = affine.load %m[%i floordiv 2, %j ceildiv 3] : memref<?x?xf32>
        affine.store %0, %m[%i + symbol(%n), %j * 2] : memref<?x?xf32>
      } else {
        %1 = affine.apply affine_map<()[s0] -> (-s0 mod 7)>()[%n]
      }
    }
  }
  return
}""",
    "vector": """
func.func @f(%m: memref<8x?xf32>, %v: vector<[4]xf32>, %i: index, %s: f32) -> vector<4xi1> {
  %0 = vector.transfer_read %m[%i, %i], %s {in_bounds = [true]} : memref<8x?xf32>, vector<[4]xf32>
  %1 = vector.broadcast %s : f32 to vector<1x4xf32>
  %2 = vector.extract %1[0] : vector<4xf32> from vector<1x4xf32>
  %3 = vector.shuffle %2, %2 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
  %4 = vector.create_mask %i : vector<4xi1>
  %5 = vector.mask %4 { vector.reduction <add>, %3, %s : vector<4xf32> into f32 } : vector<4xi1> -> f32
  vector.print %5 : f32
  return %4 : vector<4xi1>
}""",
    "memref": """
memref.global "private" constant @w : memref<2xf32> = dense<[0x7FC00000, -1.0e-3]>
func.func @f(%n: index) -> memref<?xf32, strided<[1], offset: ?>> {
  %0 = memref.alloca(%n) {alignment = 64 : i64} : memref<?x4xf32, affine_map<(d0, d1) -> (d1, d0)>, 3 : i32>
  %1 = memref.alloc(%n) : memref<?xf32>
  %2 = memref.subview %1[1] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 1>>
  %3 = memref.cast %2 : memref<?xf32, strided<[1], offset: 1>> to memref<?xf32, strided<[1], offset: ?>>
  %4 = memref.cast %1 : memref<?xf32> to memref<*xf32>
  return %3 : memref<?xf32, strided<[1], offset: ?>>
}""",
    "scf and cf": """
func.func @f(%a: i32, %n: index, %t: tensor<4xf32>) -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  %0:2 = scf.while (%x = %a, %y = %n) : (i32, index) -> (i32, index) {
    %c = arith.cmpi slt, %x, %x : i32
    scf.condition(%c) %x, %y : i32, index
  } do {
  ^bb0(%x: i32, %y: index):
    scf.yield %x, %y : i32, index
  }
  %1 = scf.index_switch %0#1 -> f32
  case -2 { %u = arith.constant 0xFF800000 : f32 scf.yield %u : f32 }
  default { %u = ub.poison : f32 scf.yield %u : f32 }
  %2 = scf.forall (%i) in (%n) shared_outs(%o = %t) -> (tensor<4xf32>) {
    %e = tensor.extract_slice %o[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %e into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  cf.switch %a : i32, [ default: ^done(%2 : tensor<4xf32>), -1: ^done(%t : tensor<4xf32>) ]
^done(%r: tensor<4xf32>):
  return %r : tensor<4xf32>
}""",
    "complex, index, shape": """
func.func @f(%x: complex<f32>, %s: !shape.shape, %z: !shape.size) -> complex<f32> {
  %0 = complex.constant [1.0 : f32, -2.5e+1 : f32] : complex<f32>
  %1 = complex.mul %x, %0 fastmath<contract,nnan> : complex<f32>
  %2 = index.constant -5
  %3 = shape.const_shape [1, 2, 3] : tensor<3xindex>
  %4 = arith.constant dense<(1.0, -2.0)> : tensor<2xcomplex<f32>>
  return %1 : complex<f32>
}""",
    "torch": """
func.func @f(%x: !torch.vtensor<[?,4],f32>, %l: !torch.list<int>)
    -> !torch.vtensor<*,si64> attributes {torch.onnx_meta.opset_version = 17 : si64} {
  %none = torch.constant.none
  %int-1 = torch.constant.int -1
  %float1 = torch.constant.float 1.000000e-05
  %str = torch.constant.str "a\\22b"
  %0 = torch.vtensor.literal(dense<[1, -2]> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
  %1 = torch.prim.ListConstruct %int-1, %int-1 : (!torch.int, !torch.int) -> !torch.list<int>
  %2 = torch.operator "onnx.Relu"(%x) {torch.onnx.axis = 1 : si64}
      : (!torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32>
  %3 = torch.aten.view %0, %1 : !torch.vtensor<[2],si64>, !torch.list<int> -> !torch.vtensor<*,si64>
  return %3 : !torch.vtensor<*,si64>
}""",
    "tosa": """
func.func @f(%x: tensor<1x4x4x2xi8>, %y: tensor<2x1x1x2xi8>) -> tensor<1x4x4x2xi32> {
  %b = "tosa.const"() <{values = dense<0> : tensor<2xi32>}> : () -> tensor<2xi32>
  %z = "tosa.const"() <{values = dense<-1> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.conv2d %x, %y, %b, %z, %z
      {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>,
      stride = array<i64: 1, 1>} : (tensor<1x4x4x2xi8>, tensor<2x1x1x2xi8>, tensor<2xi32>, tensor<1xi8>,
      tensor<1xi8>) -> tensor<1x4x4x2xi32>
  return %0 : tensor<1x4x4x2xi32>
}""",
    "pdl": """
pdl.pattern @fold : benefit(3) {
  %type = pdl.type : tensor<4xf32>
  %attribute = pdl.attribute = #tensorrt.activation_type<kRELU>
  %x = pdl.operand : %type
  %op = pdl.operation "tensorrt.activation"(%x : !pdl.value)
      {"activationType" = %attribute} -> (%type : !pdl.type)
  %r = pdl.result 0 of %op
  pdl.apply_native_constraint "is.small"(%r : !pdl.value)
  pdl.rewrite %op {
    pdl.replace %op with (%x : !pdl.value)
  }
}""",
    "transform": """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %0 = transform.structured.match ops{["linalg.generic"]} attributes{a = 1 : i32} in %root
        : (!transform.any_op) -> !transform.op<"linalg.generic">
    %1, %loops:2 = transform.structured.tile_using_for %0 tile_sizes [4, [8]] interchange = [1, 0]
        : (!transform.op<"linalg.generic">) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %p = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.sequence %1 : !transform.any_op failures(suppress) {
    ^bb0(%arg: !transform.any_op):
      transform.apply_patterns to %arg { transform.apply_patterns.canonicalization } : !transform.any_op
    }
    transform.yield
  }
}""",
    "gpu and llvm": """
gpu.module @kernels {
  gpu.func @k(%m: memref<?xf32, #gpu.address_space<global>>) workgroup(%s : memref<32xf32, 3>) kernel {
    %t = gpu.thread_id x
    gpu.return
  }
}
llvm.mlir.global internal constant @text("hi\\0A\\00") {addr_space = 0 : i32}
llvm.func @printf(!llvm.ptr, ...) -> i32 attributes {passthrough = ["noinline", ["frame-pointer", "all"]]}
llvm.func @f(%p: !llvm.ptr<1> {llvm.noalias}, %x: !llvm.struct<"s", (i32, ptr, array<4 x f32>)>)
    -> vector<4xf32> {
  %0 = llvm.mlir.undef : vector<4xf32>
  %1 = llvm.extractvalue %x[2, 1] : !llvm.struct<"s", (i32, ptr, array<4 x f32>)>
  %2 = llvm.getelementptr inbounds %p[0, 1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, !llvm.struct<(i32, f64)>
  %3 = llvm.icmp "eq" %p, %p : !llvm.ptr<1>
  llvm.cond_br %3 weights([1, 2000]), ^a, ^a {loop_annotation = #llvm.loop_annotation<disableNonforced = true>}
^a:
  llvm.return %0 : vector<4xf32>
}""",
    "sparse and quant": """
#csr = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed(nonunique)), posWidth = 32 }>
func.func @f(%x: tensor<8x8xf32, #csr>, %q: tensor<4x!quant.uniform<i8<-127:127>:f32:0, {0.1:3, 2.0e-2:-4}>>)
    -> index {
  %0 = sparse_tensor.number_of_entries %x : tensor<8x8xf32, #csr>
  return %0 : index
}""",
    "places": """
#loc1 = loc("dir/net.py":3:7 to :9)
func.func @"quoted name"(%x: i1 loc("x"("<cell>":1:2))) -> i1 {
  %0 = "test.op"(%x) : (i1) -> i1 loc(fused<{a = 1}>["a", callsite("b" at #loc1)])
  return %0 : i1 loc(unknown)
} loc(#loc1)
#loc = loc("-":0:0)""",
}


def errors(text: str) -> list[str]:
    """The error tokens, each with the line that it is on."""
    found, line = [], 1
    for kind, value in lex(text, MlirLexer(stripnl=False)):
        if kind is Error:
            found.append(f"{value!r} in: {text.splitlines()[line - 1]}")
        line += value.count("\n")
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_what_users_write(name: str) -> None:
    """The text, what the package prints of it, and MLIR's generic form with locations."""
    from torch_mlir import ir

    from mlirtrt_nb.ir.assembly import parse_module, print_module
    from mlirtrt_nb.ir.context import new_context

    text = WRITTEN[name]
    context = new_context()
    context.allow_unregistered_dialects = True
    assert errors(text) == []
    module = parse_module(text, "<cell>", context)
    with context, ir.Location.unknown():
        for custom in (True, False):
            assert errors(print_module(module, custom=custom, locations=True)) == []
        assert errors(module.operation.get_asm(enable_debug_info=True, pretty_debug_info=True)) == []


STAGED = ["unary bf16", "binary ui8", "gather", "while", "convolution", "select_and_scatter"]


@pytest.mark.parametrize("name", STAGED)
def test_every_stage_of_lowering(name: str) -> None:
    """From StableHLO to the LLVM dialect, with its runtime, and the LLVM IR's own module."""
    from torch_mlir import ir

    from mlirtrt_nb.engine.host.lowering import lower
    from mlirtrt_nb.ir.inspect import entry_function

    text = CASES[name]
    program = mt.from_mlir(text)
    assert errors(text) == errors(program.text(custom=False)) == []
    stage = program
    for name in ("stablehlo-legalize-to-linalg", "generate-runtime-verification", "canonicalize"):
        stage = mt.Pipeline.parse(name).run(stage, isolate=False).program
        assert errors(stage.text(locations=True)) == []
    with ir.Context():
        lowered = lower(entry_function(program.module.operation), {})
        assert errors(str(ir.Module.parse(lowered.bytecode))) == []


def test_the_notebooks() -> None:
    """Every cell of MLIR in the notebooks."""
    cells = []
    for path in NOTEBOOKS.glob("*.ipynb"):
        sources = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
        cells += [source.partition("\n")[2] for source in sources if source.startswith("%%mlir")]
    assert len(cells) > 10
    assert [found for cell in cells for found in errors(cell)] == []
