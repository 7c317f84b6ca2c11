"""Weights of CPU engines: read where they lie, and given back to the file that they came from."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

from mlirtrt_nb.dialects.onnx.model_writer import ModelWriter
from mlirtrt_nb.dialects.onnx.ort_session import SessionSettings, open_session
from mlirtrt_nb.dialects.onnx.pages import releasing

MEGABYTES = 96


def _product(weights: dict[str, np.ndarray]) -> bytes:
    """y = x @ w."""
    from onnx import TensorProto, helper

    from mlirtrt_nb.dialects.onnx.model_writer import Graph

    writer = ModelWriter({"": 21}, weights)
    graph = Graph(writer)
    rows, columns = weights["w"].shape
    graph.node("MatMul", ["x", writer.weight("w")], ["y"])
    sides = (
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, rows])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, columns])],
    )
    return writer.model(graph.proto("main", *sides)).SerializeToString()


def test_weights_are_read_in_place() -> None:
    """Without prepacking, a weight that changes after the session was made changes what it computes."""
    weights = {"w": np.ones((32, 64), np.float32)}
    settings = SessionSettings(threads=1, optimization="none", prepack=False)
    opened = open_session(_product(weights), weights, settings)
    x = {"x": np.ones((1, 32), np.float32)}
    np.testing.assert_array_equal(opened.session.run(None, x)[0], np.full((1, 64), 32, np.float32))
    weights["w"][:] = 2
    np.testing.assert_array_equal(opened.session.run(None, x)[0], np.full((1, 64), 64, np.float32))


def test_weight_is_missing() -> None:
    """A session without one of its weights cannot be opened."""
    weights = {"w": np.ones((32, 64), np.float32)}
    with pytest.raises(KeyError, match="w"):
        open_session(_product(weights), {}, SessionSettings())


def _resident(path: Path) -> int:
    """Bytes of a file's mapping that are in this process's memory."""
    total, counted = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0] and not line.startswith(("Rss", "Pss")) and line.count(":") >= 1:
            counted = line.endswith(str(path))
        elif counted and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


@pytest.mark.skipif(sys.platform != "linux", reason="pages are given back on Linux only")
def test_pages_of_a_mapped_file_are_given_back(tmp_path: Path) -> None:
    """After a session was made, the file's pages are not counted as this process's; the values stay."""
    path = tmp_path / "weights.bin"
    with path.open("wb") as file:
        np.arange(MEGABYTES << 18, dtype=np.float32).tofile(file)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    array = np.frombuffer(mapped, np.float32)
    assert array.sum(dtype=np.float64) > 0
    assert _resident(path) > (MEGABYTES - 8) << 20
    with releasing([array]):
        pass
    assert _resident(path) < 8 << 20
    assert array[12345] == 12345


def test_other_arrays_are_left_alone() -> None:
    """Arrays in ordinary memory, and small ones, are not touched."""
    arrays = [np.ones(100, np.float32), np.memmap(Path(__file__), mode="r", dtype=np.uint8)]
    before = [array.copy() for array in arrays]
    with releasing(arrays):
        pass
    for one, two in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(one, two)
