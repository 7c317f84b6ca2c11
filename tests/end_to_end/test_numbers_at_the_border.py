"""What a Plan takes and gives where a function has numbers, indices, or types that no array has."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import InputError, PassError


def run(text: str, *inputs: object) -> dict[str, np.ndarray]:
    """The outputs of a function, compiled for the CPU, by name."""
    session = mt.compile(mt.from_mlir(text), "cpu", cache=False).session("cpu")
    named = dict(zip([signature.name for signature in session.inputs], inputs, strict=True))
    return dict(session.run(named))


def test_an_index_that_no_host_code_reads() -> None:
    """An index argument may be unused or returned as it is: it is an int64 of rank 0."""
    found = run("func.func @main(%x: f32, %i: index, %j: index) -> (f32, index) { return %x, %i : f32, index }",
                np.float32(2.5), 3, 4)  # fmt: skip
    assert [array.shape for array in found.values()] == [(), ()]
    assert [array.dtype for array in found.values()] == [np.float32, np.int64]
    assert [array.item() for array in found.values()] == [2.5, 3]


def test_tensors_of_indices() -> None:
    """A tensor of indices is an array of int64, passed through, constant or added to."""
    found = run(
        "func.func @main(%i: tensor<3xindex>) -> (tensor<3xindex>, tensor<3xindex>, tensor<3xindex>) {\n"
        "  %c = arith.constant dense<[5, 6, 7]> : tensor<3xindex>\n"
        "  %r = arith.addi %i, %c : tensor<3xindex>\n"
        "  return %i, %c, %r : tensor<3xindex>, tensor<3xindex>, tensor<3xindex>\n}",
        np.arange(3),
    )
    assert [array.tolist() for array in found.values()] == [[0, 1, 2], [5, 6, 7], [5, 7, 9]]
    assert {array.dtype for array in found.values()} == {np.dtype(np.int64)}


@pytest.mark.parametrize("kind", ["i5", "tensor<4xi5>", "vector<4xf32>", "memref<4xf32>"])
def test_types_that_no_array_has(kind: str) -> None:
    """A type that cannot be handed over is refused when compiling, with the argument that has it."""
    program = mt.from_mlir(f"func.func @main(%x: f32, %i: {kind}) -> f32 {{ return %x : f32 }}")
    with pytest.raises(PassError) as caught:
        mt.compile(program, "cpu", cache=False)
    assert f"argument 1 is of type {kind}; a Plan takes tensors and numbers" in str(caught.value)


def test_a_result_that_no_array_has() -> None:
    """A result is named as an argument is."""
    program = mt.from_mlir(
        "func.func @main(%x: i32) -> (i32, i5) { %y = arith.trunci %x : i32 to i5 return %x, %y : i32, i5 }"
    )
    with pytest.raises(PassError, match="result 1 is of type i5"):
        mt.compile(program, "cpu", cache=False)


def test_an_assertion_on_the_arguments() -> None:
    """A Plan checks `cf.assert` before it gives anything, though nothing reads what it asks about."""
    text = """func.func @main(%x: tensor<2xf32>, %i: index) -> tensor<2xf32> {
  %c = arith.constant 3 : index
  %ok = arith.cmpi slt, %i, %c : index
  cf.assert %ok, "i is too large"
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<2xf32>
  return %y : tensor<2xf32>
}"""
    session = mt.compile(mt.from_mlir(text), "cpu", cache=False).session("cpu")
    x = np.array([-1, 2], np.float32)
    assert session(x, 2).tolist() == [0, 2]
    with pytest.raises(InputError, match="i is too large"):
        session(x, 3)
