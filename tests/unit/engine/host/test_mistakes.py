"""Mistakes are errors with a place, and the process lives on: wrong inputs, and checks that fail."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import EngineBuildError, InputError, OptionError

X = np.arange(5, dtype="f4")

# name: (text, inputs that go through, inputs that fail, message, line)
CHECKED = {
    "tensor.extract": (
        "func.func @f(%x: tensor<?xf32>, %i: index) -> f32 {\n  %e = tensor.extract %x[%i] : tensor<?xf32>\n"
        "  return %e : f32\n}",
        (X, 4),
        [(X, 5), (X, -1), (X[:0], 0)],
        "out-of-bounds access in tensor.extract",
        2,
    ),
    "tensor.insert": (
        "func.func @f(%x: tensor<?xf32>, %i: index) -> tensor<?xf32> {\n  %v = arith.constant 1.0 : f32\n"
        "  %e = tensor.insert %v into %x[%i] : tensor<?xf32>\n  return %e : tensor<?xf32>\n}",
        (X, 0),
        [(X, 5)],
        "out-of-bounds access in tensor.insert",
        3,
    ),
    "memref.store": (
        "func.func @f(%x: memref<?xf32>, %i: index) {\n  %v = arith.constant 1.0 : f32\n"
        "  memref.store %v, %x[%i] : memref<?xf32>\n  return\n}",
        (X.copy(), 0),
        [(X.copy(), 5)],
        "out-of-bounds access in memref.store",
        3,
    ),
    "slice": (
        "func.func @f(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {\n"
        "  %s = tensor.extract_slice %x[1] [%n] [2] : tensor<?xf32> to tensor<?xf32>\n"
        "  return %s : tensor<?xf32>\n}",
        (X, 2),
        [(X, 3)],
        "runs out-of-bounds along dimension 0 in tensor.extract_slice",
        2,
    ),
    "shapes that disagree": (
        "func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %e = arith.addf %x, %y : tensor<?xf32>\n  return %e : tensor<?xf32>\n}",
        (X, X),
        [(X, X[:3]), (X[:3], X)],
        "incompatible with inferred dimension size in arith.addf",
        2,
    ),
    "cast to another size": (
        "func.func @f(%x: tensor<?xf32>) -> tensor<5xf32> {\n"
        "  %e = tensor.cast %x : tensor<?xf32> to tensor<5xf32>\n  return %e : tensor<5xf32>\n}",
        (X,),
        [(X[:3],)],
        "size mismatch",
        2,
    ),
    "division": (
        "func.func @f(%x: i32, %y: i32) -> i32 {\n  %e = arith.divsi %x, %y : i32\n  return %e : i32\n}",
        (7, 2),
        [(7, 0)],
        "division by zero in arith.divsi",
        2,
    ),
    "division that overflows": (
        "func.func @f(%x: i32, %y: i32) -> i32 {\n  %e = arith.remsi %x, %y : i32\n  return %e : i32\n}",
        (-(2**31), 2),
        [(-(2**31), -1)],
        "overflow in arith.remsi",
        2,
    ),
    "division of tensors": (
        "func.func @f(%x: tensor<?xi32>, %y: tensor<?xi32>) -> tensor<?xi32> {\n"
        "  %e = arith.floordivsi %x, %y : tensor<?xi32>\n  return %e : tensor<?xi32>\n}",
        (np.array([7, -7], "i4"), np.array([2, 2], "i4")),
        [(np.array([7, 7], "i4"), np.array([2, 0], "i4"))],
        "division by zero in arith.floordivsi",
        2,
    ),
    "division of vectors": (
        "func.func @f(%x: i32, %y: i32) -> i32 {\n  %a = vector.broadcast %x : i32 to vector<2x2xi32>\n"
        "  %b = vector.broadcast %y : i32 to vector<2x2xi32>\n  %c = arith.divui %a, %b : vector<2x2xi32>\n"
        "  %r = vector.extract %c[0, 0] : i32 from vector<2x2xi32>\n  return %r : i32\n}",
        (7, 2),
        [(7, 0)],
        "division by zero in arith.divui",
        4,
    ),
    "assertion": (
        'func.func @f(%x: i1) -> i1 {\n  cf.assert %x, "x must be true"\n  return %x : i1\n}',
        (True,),
        [(False,)],
        "x must be true",
        2,
    ),
    "in a loop": (
        "func.func @f(%x: tensor<?xf32>, %n: index) -> f32 {\n  %c0 = arith.constant 0 : index\n"
        "  %c1 = arith.constant 1 : index\n  %z = arith.constant 0.0 : f32\n"
        "  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> f32 {\n"
        "    %e = tensor.extract %x[%i] : tensor<?xf32>\n    %t = arith.addf %s, %e : f32\n"
        "    scf.yield %t : f32\n  }\n  return %r : f32\n}",
        (X, 5),
        [(X, 6)],
        "out-of-bounds access in tensor.extract",
        6,
    ),
    "in a function that is called": (
        "func.func @f(%x: tensor<?xf32>, %i: index) -> f32 {\n"
        "  %r = call @g(%x, %i) : (tensor<?xf32>, index) -> f32\n  return %r : f32\n}\n"
        "func.func private @g(%x: tensor<?xf32>, %i: index) -> f32 {\n"
        "  %e = tensor.extract %x[%i] : tensor<?xf32>\n  return %e : f32\n}",
        (X, 1),
        [(X, 7)],
        "out-of-bounds access in tensor.extract",
        6,
    ),
}


@pytest.mark.parametrize("name", CHECKED)
def test_a_check_that_fails_is_an_error_at_the_users_line(name) -> None:
    """And the same compiled function works before and after."""
    text, good, failing, message, line = CHECKED[name]
    function = mt.jit(mt.from_mlir(text))
    first = function(*good)
    for inputs in failing:
        with pytest.raises(InputError) as caught:
            function(*inputs)
        assert message in caught.value.what
        assert caught.value.span.line == line
    np.testing.assert_array_equal(function(*good), first)


@pytest.mark.parametrize(
    ("size", "message"),
    [(1 << 50, "not enough memory"), ((1 << 63) - 1, "not enough memory"), (-1, "negative dimension")],
)
def test_memory_that_cannot_be_had(size, message) -> None:
    """A tensor that is too large or of a negative size is an error, not a crash."""
    text = """func.func @f(%n: index) -> tensor<?xf32> {
      %v = arith.constant 1.0 : f32
      %e = tensor.splat %v[%n] : tensor<?xf32>
      return %e : tensor<?xf32>
    }"""
    function = mt.jit(mt.from_mlir(text))
    with pytest.raises(InputError, match=message):
        function(size)
    assert function(3).tolist() == [1, 1, 1]


def test_calls_without_an_end() -> None:
    """Endless recursion ends with an error before the stack does."""
    text = """func.func @f(%n: i64) -> i64 {
      %r = call @g(%n) : (i64) -> i64
      return %r : i64
    }
    func.func private @g(%n: i64) -> i64 {
      %r = call @f(%n) : (i64) -> i64
      %s = arith.addi %r, %n : i64
      return %s : i64
    }"""
    function = mt.jit(mt.from_mlir(text), "f")
    for _ in range(2):
        with pytest.raises(InputError, match="call each other too deeply"):
            function(1)


def test_memory_is_freed_when_a_check_fails() -> None:
    """What was allocated before the failure does not pile up."""
    import resource

    text = """func.func @f(%x: tensor<?xf32>, %i: index) -> (tensor<?xf32>, f32) {
      %y = arith.addf %x, %x : tensor<?xf32>
      %e = tensor.extract %y[%i] : tensor<?xf32>
      return %y, %e : tensor<?xf32>, f32
    }"""
    function = mt.jit(mt.from_mlir(text))
    x = np.ones(4_000_000, "f4")
    function(x, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(40):
        with pytest.raises(InputError):
            function(x, -1)
        function(x, 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB; 80 leaks would be 1.3 GB


def test_memory_that_is_freed_twice() -> None:
    """A second `memref.dealloc` is an error."""
    text = """func.func @f(%n: index) -> f32 {
      %m = memref.alloc(%n) : memref<?xf32>
      %v = arith.constant 1.0 : f32
      %c0 = arith.constant 0 : index
      memref.store %v, %m[%c0] : memref<?xf32>
      %r = memref.load %m[%c0] : memref<?xf32>
      memref.dealloc %m : memref<?xf32>
      memref.dealloc %m : memref<?xf32>
      return %r : f32
    }"""
    with pytest.raises(InputError, match="deallocated twice"):
        mt.jit(mt.from_mlir(text))(3)


SIGNATURE = """func.func @f(%x: tensor<2x?xf32>, %n: i8, %m: memref<2xf32>) { return }"""
GOOD = (np.zeros((2, 3), "f4"), 5, np.zeros(2, "f4"))


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (0, np.zeros((3, 3), "f4"), "input 'x' has shape 3x3, expected 2x?"),
        (0, np.zeros(2, "f4"), "input 'x' has shape 2, expected 2x?"),
        (0, np.zeros((2, 3)), "input 'x' has dtype float64, expected float32"),
        (0, object(), "input 'x'"),
        (1, 300, "input 'n' is 300, which i8 does not hold"),
        (1, 1.5, "input 'n' is a float, expected i8"),
        (1, np.int64(3), "input 'n' is an int64, expected i8"),
        (1, np.zeros(2, "i1"), "input 'n' has shape 2, expected a number"),
        (2, [1.0, 2.0], "a memref is changed in place"),
        (2, np.broadcast_to(np.float32(1), 2), "cannot be written"),
        (2, np.zeros(4, "f4")[::2], "not contiguous"),
    ],
)
def test_inputs_that_do_not_fit(position, value, message) -> None:
    """Each is named with what was expected; none reaches the code."""
    function = mt.jit(mt.from_mlir(SIGNATURE))
    inputs = [*GOOD]
    assert function(*inputs) is None
    inputs[position] = value
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        function(*inputs)


@pytest.mark.parametrize(
    ("kind", "value", "lost"),
    [
        ("i4", 8, "is 8"),
        ("ui2", 4, "is 4"),
        ("f32", 1e39, r"is 1e\+39"),
        ("tensor<?xi8>", [1, 300], "has 300"),
        ("tensor<?xui4>", [-1], "has -1"),
        ("tensor<?xf16>", [65504, 65520], "has 65520"),
        ("tensor<?xbf16>", [1e39], r"has 1e\+39"),
    ],
)
def test_numbers_that_a_type_lacks(kind, value, lost) -> None:
    """A number, and one in a list, is refused rather than wrapped or made infinite."""
    function = mt.jit(mt.from_mlir(f"func.func @f(%x: {kind}) {{ return }}"))
    with pytest.raises(InputError, match=f"input 'x' {lost}, which {kind.split('x')[-1][:-1]}.* does not hold"):
        function(value)
    assert function([] if isinstance(value, list) else 1) is None


def test_a_function_of_another_type() -> None:
    """What names no function is an option of the wrong type."""
    with pytest.raises(OptionError, match="func= is an int"):
        mt.run(mt.from_mlir(SIGNATURE), func=3)


def test_too_few_inputs_and_unknown_functions() -> None:
    """The message has the signature, or the nearest name."""
    program = mt.from_mlir(SIGNATURE)
    with pytest.raises(
        InputError, match=r"@f takes 3 inputs, got 1\n  hint: inputs: x: tensor<2x\?xf32>, n: i8"
    ):
        mt.run(program, 1)
    with pytest.raises(OptionError, match=r"no function 'ff'\n  hint: did you mean 'f'"):
        mt.run(program, func="ff")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f(%x: vector<4xf32>) { return }", "vector<4xf32> cannot be handed over"),
        ("func.func @f(%x: i24) { return }", "i24 cannot be handed over"),
        ("func.func @f(%x: tensor<*xf32>) { return }", "cannot be handed over"),
        ("func.func @f(%x: memref<4xf32, strided<[2]>>) { return }", "layout"),
        ("func.func @f() { call @g() : () -> () return }\nfunc.func private @g()", "@g has no body"),
        (
            "func.func @f() { gpu.barrier return }",
            "the host cannot compile it: ops with unknown memory side effects",
        ),
    ],
)
def test_what_cannot_be_compiled(text, message) -> None:
    """Types that NumPy lacks, functions without a body, ops of other machines."""
    with pytest.raises(EngineBuildError, match=message.replace("*", r"\*")):
        mt.jit(mt.from_mlir(text), "f")


@pytest.mark.parametrize(
    ("around", "hint"),
    [
        (
            "scf.if %c -> tensor<4xf32> { BODY } else { scf.yield %x : tensor<4xf32> }",
            "engines have tensorrt.if",
        ),
        (
            "scf.for %i = %n to %m step %n iter_args(%a = %x) -> tensor<4xf32> { BODY }",
            "engines have tensorrt.for",
        ),
        (
            "scf.index_switch %n -> tensor<4xf32> case 1 { BODY } default { scf.yield %x : tensor<4xf32> }",
            "write it outside scf.index_switch",
        ),
    ],
)
def test_an_engines_op_in_native_control_flow(around, hint) -> None:
    """The error names it as the text does, and what to write in the place of the loop or branch around it."""
    for op in (
        "tensorrt.element_wise <kSUM>(%x, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
        "onnx.Det(%x) : (tensor<4xf32>) -> tensor<4xf32>",
    ):
        body = f"%1 = {op}\nscf.yield %1 : tensor<4xf32>"
        text = f"""func.func @main(%x: tensor<4xf32>, %c: i1, %n: index, %m: index) -> tensor<4xf32> {{
          %0 = {around.replace("BODY", body)}
          return %0 : tensor<4xf32>
        }}"""
        with pytest.raises(
            EngineBuildError, match=f"the host cannot compile {op.split()[0].split('(')[0]}"
        ) as caught:
            mt.compile(mt.from_mlir(text), isolate=False)
        assert hint in caught.value.hint
        assert caught.value.span.line in (2, 3)
