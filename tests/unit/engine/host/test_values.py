"""Functions of upstream dialects on arrays: every type, every shape, every way of giving results."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

import mlirtrt_nb as mt


def run(text: str, *inputs):
    """The results of a text's function."""
    return mt.jit(mt.from_mlir(text))(*inputs)


ARITHMETIC = """func.func @f(%x: TYPE, %y: tensor<?xTYPE>) -> (TYPE, tensor<?xTYPE>) {
  %0 = arith.OP %x, %x : TYPE
  %1 = arith.OP %y, %y : tensor<?xTYPE>
  return %0, %1 : TYPE, tensor<?xTYPE>
}"""


@pytest.mark.parametrize(
    ("kind", "dtype", "op"),
    [
        ("f32", np.float32, "addf"),
        ("f64", np.float64, "addf"),
        ("f16", np.float16, "addf"),
        ("bf16", ml_dtypes.bfloat16, "addf"),
        ("i1", np.bool_, "andi"),
        ("i4", ml_dtypes.int4, "addi"),
        ("i8", np.int8, "addi"),
        ("i16", np.int16, "addi"),
        ("i32", np.int32, "addi"),
        ("i64", np.int64, "addi"),
        ("index", np.int64, "addi"),
    ],
)
def test_numbers_and_tensors_of_each_type(kind, dtype, op) -> None:
    """A number and a tensor go in and come out with their dtype, an empty tensor too."""
    program = mt.from_mlir(ARITHMETIC.replace("TYPE", kind).replace("OP", op))
    one, three = np.array(1, dtype)[()], np.array([0, 1, 3], dtype)
    number, tensor = mt.jit(program)(one, three)
    wanted = three if kind == "i1" else (three.astype(np.float64) * 2).astype(dtype)
    assert number.dtype == tensor.dtype == np.dtype(dtype)
    assert number == (one if kind == "i1" else np.array(2, dtype)[()])
    np.testing.assert_array_equal(tensor, wanted)
    _, empty = mt.jit(program)(one, np.zeros(0, dtype))
    assert empty.shape == (0,) and empty.dtype == np.dtype(dtype)


def test_complex_numbers() -> None:
    """Numbers and tensors of complex<f32> and complex<f64>."""
    text = """func.func @f(%x: complex<f32>, %y: tensor<3xcomplex<f64>>)
        -> (complex<f32>, tensor<3xcomplex<f64>>) {
      %0 = complex.mul %x, %x : complex<f32>
      %e = tensor.empty() : tensor<3xcomplex<f64>>
      %1 = linalg.map ins(%y : tensor<3xcomplex<f64>>) outs(%e : tensor<3xcomplex<f64>>)
        (%a: complex<f64>, %o: complex<f64>) {
          %s = complex.add %a, %a : complex<f64>
          linalg.yield %s : complex<f64>
        }
      return %0, %1 : complex<f32>, tensor<3xcomplex<f64>>
    }"""
    x, y = np.complex64(1 + 2j), np.array([1j, 2, 3 + 1j])
    number, tensor = run(text, x, y)
    assert number == x * x and number.dtype == np.complex64
    np.testing.assert_array_equal(tensor, y + y)


def test_f64_is_rounded_to_sixteen_bits_once() -> None:
    """By way of f32 the first two would be rounded up twice; infinities, NaN and small numbers too."""
    text = """func.func @f(%x: tensor<?xf64>) -> (tensor<?xf16>, tensor<?xbf16>) {
      %0 = arith.truncf %x : tensor<?xf64> to tensor<?xf16>
      %1 = arith.truncf %x : tensor<?xf64> to tensor<?xbf16>
      return %0, %1 : tensor<?xf16>, tensor<?xbf16>
    }"""
    hard = [1 + 2.0**-11 - 2.0**-40, 1 + 2.0**-8 - 2.0**-40, -1 - 2.0**-11 + 2.0**-45, 1e300, 6e-8, 1e-60, -0.0]
    x = np.array([*hard, np.inf, np.nan, *np.random.default_rng(0).normal(size=500) * 100])
    half, brain = run(text, x)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(half, x.astype(np.float16))
    assert brain[1] == 1 and np.isnan(brain[8].astype(float))


def test_shapes_that_vary() -> None:
    """One compiled function serves every size, and results have the sizes that they come out with."""
    text = """func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %z = arith.constant 0.0 : f32
      %m = tensor.dim %a, %c0 : tensor<?x?xf32>
      %n = tensor.dim %b, %c1 : tensor<?x?xf32>
      %e = tensor.empty(%m, %n) : tensor<?x?xf32>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
      %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
                         outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
      return %r : tensor<?x?xf32>
    }"""
    function = mt.jit(mt.from_mlir(text))
    rng = np.random.default_rng(0)
    for m, k, n in ((2, 3, 4), (1, 7, 1), (5, 0, 2), (0, 3, 3)):
        a, b = rng.normal(size=(m, k)).astype("f4"), rng.normal(size=(k, n)).astype("f4")
        np.testing.assert_allclose(function(a, b), a @ b, 1e-5, 1e-6)


def test_inputs_stay_as_they_are() -> None:
    """A tensor that is changed is a copy; one that is returned as it came is one too."""
    text = """func.func @f(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
      %c0 = arith.constant 0 : index
      %v = arith.constant 9.0 : f32
      %y = tensor.insert %v into %x[%c0] : tensor<3xf32>
      return %y, %x, %y : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
    }"""
    x = np.array([1, 2, 3], "f4")
    changed, same, again = run(text, x)
    assert changed.tolist() == again.tolist() == [9, 2, 3]
    assert same.tolist() == x.tolist() == [1, 2, 3]
    same[:] = 0
    changed[:] = 5
    assert x.tolist() == [1, 2, 3] and again.tolist() == [9, 2, 3]


def test_results_outlive_the_function() -> None:
    """Their memory is their own: it stays when the program and its code are gone."""
    text = """func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
      %y = arith.addf %x, %x : tensor<?xf32>
      return %y : tensor<?xf32>
    }"""
    x = np.arange(100_000, dtype="f4")
    results = [run(text, x) for _ in range(3)]
    gc.collect()
    for result in results:
        np.testing.assert_array_equal(result, x + x)
        assert result.flags.writeable and result.flags.c_contiguous


def test_memrefs_are_changed_in_place() -> None:
    """Also through strides, where the type allows them."""
    text = """func.func @f(%x: memref<?xf32, strided<[?], offset: ?>>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = arith.constant 7.0 : f32
      scf.for %i = %c0 to %n step %c1 {
        memref.store %v, %x[%i] : memref<?xf32, strided<[?], offset: ?>>
      }
      return
    }"""
    x = np.zeros(6, "f4")
    assert run(text, x[1::2], 3) is None
    assert x.tolist() == [0, 7, 0, 7, 0, 7]


def test_weights_are_read_where_they_lie() -> None:
    """A constant in the weight table is not copied into the code: a change shows at the next call."""
    program = mt.from_mlir("""func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {
      %w = arith.constant dense_resource<__elided__> : tensor<64xf32>
      %y = arith.addf %x, %w : tensor<64xf32>
      return %y : tensor<64xf32>
    }""")
    (name,) = program.weights
    weight = program.weights[name] = np.arange(64, dtype="f4")
    x = np.ones(64, "f4")
    np.testing.assert_array_equal(mt.run(program, x), weight + 1)
    weight[0] = 100
    assert mt.run(program, x)[0] == 101


def test_calls_recursion_loops_and_branches() -> None:
    """Functions call each other, and a name of the C library's is the user's own."""
    text = """func.func @main(%n: i64) -> i64 {
      %r = call @exp(%n) : (i64) -> i64
      return %r : i64
    }
    func.func private @exp(%n: i64) -> i64 {
      %c1 = arith.constant 1 : i64
      %stop = arith.cmpi sle, %n, %c1 : i64
      %r = scf.if %stop -> i64 { scf.yield %c1 : i64 } else {
        %m = arith.subi %n, %c1 : i64
        %f = func.call @exp(%m) : (i64) -> i64
        %q = arith.muli %f, %n : i64
        scf.yield %q : i64
      }
      return %r : i64
    }"""
    assert run(text, 10) == 3628800


TOSA = """func.func @f(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = tosa.add %x, %y : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = tosa.tanh %0 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}"""
CHLO = """func.func @f(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = stablehlo.add %x, %y : tensor<1x4xf32>
  %1 = chlo.sinh %0 : tensor<1x4xf32> -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}"""
TORCH = """func.func @f(%x: !torch.vtensor<[?,4],f32>, %y: !torch.vtensor<[?,4],f32>)
    -> !torch.vtensor<[?,4],f32> {
  %int1 = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %y, %int1 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>, !torch.int
      -> !torch.vtensor<[?,4],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  return %1 : !torch.vtensor<[?,4],f32>
}"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(TOSA, np.tanh), (CHLO, np.sinh), (TORCH, lambda x: np.maximum(x, 0))],
    ids=["tosa", "chlo", "torch"],
)
def test_frontend_dialects(text, wanted) -> None:
    """Dialects that are lowered to linalg first."""
    x, y = np.array([[1, -2, 0.5, 0]], "f4"), np.array([[0.5, 1, -1, 0]], "f4")
    np.testing.assert_allclose(run(text, x, y), wanted(x + y), 1e-5, 1e-6)


def test_tensorrt_ops_run_by_a_plan() -> None:
    """A function of the package's own ops runs too, whichever function of the program it is."""
    program = mt.from_mlir("""
    func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
    func.func @act(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }""")
    assert mt.run(program, np.array([-1, 2, -3, 4], "f4"), func="act").tolist() == [0, 2, 0, 4]


def test_a_changed_program_is_compiled_again() -> None:
    """`run` keeps what it compiled only for as long as the IR is the same."""
    program = mt.from_mlir("""func.func @f(%x: f32) -> f32 {
      %c = arith.constant 2.0 : f32
      %y = arith.mulf %x, %c : f32
      return %y : f32
    }""")
    assert mt.run(program, 3.0) == 6
    from torch_mlir import ir

    with program.context, ir.Location.unknown():
        constant = next(iter(program.module.body.operations[0].regions[0].blocks[0].operations)).operation
        constant.attributes["value"] = ir.FloatAttr.get(ir.F32Type.get(), 5.0)
    assert mt.run(program, 3.0) == 15


@pytest.mark.parametrize("name", ["größe ☃", r"a\"b", "a$b", "."])
def test_names_in_quotes(name: str) -> None:
    """A function may have any name that MLIR takes, and so may what it calls."""
    text = f"""
    func.func @"{name}"(%x: f32) -> f32 {{ %y = call @"{name}."(%x) : (f32) -> f32  return %y : f32 }}
    func.func private @"{name}."(%x: f32) -> f32 {{ %y = arith.addf %x, %x : f32  return %y : f32 }}"""
    function = mt.jit(mt.from_mlir(text))
    assert function.name == name.replace("\\", "") and function(2.0) == 4


def test_a_function_says_what_it_is() -> None:
    """Names from the text, types, and the LLVM IR."""
    function = mt.jit(
        mt.from_mlir("func.func @f(%rate: f32, %x: tensor<?x4xui8>) -> f32 { return %rate : f32 }")
    )
    assert repr(function) == "<HostFunction @f(rate: f32, x: tensor<?x4xui8>) -> (f32)>"
    assert [str(spec) for spec in function.inputs] == ["rate: f32", "x: ?x4xui8"]
    assert "define" in function.llvm and function.lower_seconds > 0 < function.compile_seconds
