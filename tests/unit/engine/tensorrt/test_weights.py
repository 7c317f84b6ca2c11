"""Weights go to the builder as pointers into the program's arrays."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest
from torch_mlir import ir

from mlirtrt_nb.engine.tensorrt import import_tensorrt
from mlirtrt_nb.engine.tensorrt.weights import WeightBank
from mlirtrt_nb.errors import EngineBuildError


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    """An MLIR context for the attributes."""
    with ir.Context(), ir.Location.unknown():
        yield


def bank(**table: np.ndarray) -> WeightBank:
    return WeightBank(import_tensorrt(), table)


def handle(name: str, kind: str) -> ir.Attribute:
    return ir.Attribute.parse(f'dense_resource<"{name}"> : tensor<{kind}>')


def test_an_array_is_aliased() -> None:
    """A change in the array shows in the weights: there is one copy."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    weights = bank(w=array).weights(handle("w", "2x3xf32"))
    array[1, 2] = 42
    assert weights.size == 6
    assert weights.numpy()[5] == 42


def test_an_unaligned_map_of_a_file_is_aliased() -> None:
    """Weights at an odd offset of a mapped file, as in ONNX files, are read where they are."""
    with tempfile.TemporaryFile() as file:
        file.write(b"abc" + np.arange(5, dtype=np.float32).tobytes())
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            array = np.ndarray((5,), np.float32, mapped, 3)
            address = array.__array_interface__["data"][0]
            held = bank(w=array)
            weights = held.weights(handle("w", "5xf32"))
            assert held._kept[-1].__array_interface__["data"][0] == address
            assert weights.nbytes == 20
            del array, held, weights


@pytest.mark.parametrize("text", ["dense<[1.0, 2.0, 3.0]> : tensor<3xf32>", "dense<2.5> : tensor<2x2xf32>"])
def test_dense_attributes(text: str) -> None:
    """Values that stand in the IR, splats too, arrive as they are."""
    attribute = ir.Attribute.parse(text)
    found = bank().weights(attribute).numpy()
    assert found.tolist() == np.array(attribute).reshape(-1).tolist()


@pytest.mark.parametrize(
    ("element", "dtype", "nbytes"),
    [
        ("bf16", ml_dtypes.bfloat16, 6),
        ("f8E4M3FN", ml_dtypes.float8_e4m3fn, 3),
        ("f16", np.float16, 6),
        ("i1", np.bool_, 3),
        ("i64", np.int64, 24),
        ("ui8", np.uint8, 3),
    ],
)
def test_element_types(element: str, dtype: type, nbytes: int) -> None:
    """Each element type is handed over with its own size."""
    weights = bank(w=np.array([1, 0, 1]).astype(dtype)).weights(handle("w", f"3x{element}"))
    assert (weights.size, weights.nbytes) == (3, nbytes)


def test_four_bit_values_are_packed_low_nibble_first() -> None:
    """Two values a byte, an odd count padded; packed arrays pass through."""
    held = bank(w=np.array([1, -2, 7], ml_dtypes.int4), p=np.array([0xE1, 0x07], np.uint8))
    assert held.weights(handle("w", "3xi4")).size == 3
    assert held._kept[-1].tolist() == [0xE1, 0x07]
    held.weights(handle("p", "3xi4"))
    assert held._kept[-1].tolist() == [0xE1, 0x07]


def test_a_strided_array_is_laid_out() -> None:
    """A transposed view is copied into the order that the builder reads."""
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert bank(w=array.T).weights(handle("w", "3x2xi32")).numpy().tolist() == [0, 3, 1, 4, 2, 5]


def test_elided_weights_are_zeros() -> None:
    """IR printed without its bytes still builds."""
    assert bank().weights(handle("__elided__", "4xf32")).numpy().tolist() == [0, 0, 0, 0]


def test_missing_weights_are_named() -> None:
    """A handle without an array is an error that says which."""
    with pytest.raises(EngineBuildError, match="'conv1_w'"):
        bank().weights(handle("conv1_w", "4xf32"))


def test_an_element_type_that_tensorrt_lacks() -> None:
    """f64 is refused by name."""
    with pytest.raises(EngineBuildError, match="no element type f64"):
        bank(w=np.zeros(2)).weights(handle("w", "2xf64"))


@pytest.mark.parametrize("array", [np.ones(4), np.ones(3, np.float32), np.ones(5, np.float32)])
def test_an_array_of_another_type_is_refused(array: np.ndarray) -> None:
    """The builder reads by address alone: other bytes, or those behind a shorter array."""
    with pytest.raises(EngineBuildError, match=r"'w' are an array of .*; their type is tensor<4xf32>"):
        bank(w=array).weights(handle("w", "4xf32"))
