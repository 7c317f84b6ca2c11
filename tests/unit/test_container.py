"""The file format of Plans and Programs."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from mlirtrt_nb import container
from mlirtrt_nb.errors import InvalidModelError, PlanFileError

META = {"name": "net", "targets": ["cpu"]}


def _arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "w": rng.standard_normal((300, 1001), dtype=np.float32),  # over a megabyte: on a page of its own
        "transposed": np.arange(6, dtype=np.int64).reshape(2, 3).T,
        "half": np.array([1.5, -2.0]).astype(ml_dtypes.bfloat16),
        "scalar": np.array(7, np.int8),
        "none": np.empty((0, 4), np.float64),
        "words": np.array([["a", "ü"], ["", "x\ny"]], dtype=object),
    }


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "net.plan"
    container.write(path, container.PLAN, META, {"module": b"module {}", "empty": b""}, _arrays())
    return path


def test_round_trip(saved: Path) -> None:
    """What was written comes back: the dictionary, the sections, and each array with its dtype and shape."""
    opened = container.read(saved, container.PLAN)
    assert opened.meta == META
    assert opened.text("module") == "module {}"
    assert bytes(opened.sections["empty"]) == b""
    for name, array in _arrays().items():
        assert opened.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(opened.arrays[name], array)


def test_arrays_alias_the_file(saved: Path) -> None:
    """An array is a read-only, 64-byte aligned view of the memory map, not a copy."""
    array = container.read(saved, container.PLAN).arrays["w"]
    assert not array.flags.writeable and not array.flags.owndata
    assert array.ctypes.data % 4096 == 0


def test_every_flipped_byte_is_found(saved: Path) -> None:
    """A file in which any one byte differs is refused: header, sections, padding, and index alike."""
    container.write(saved, container.PLAN, META, {"module": b"module {}"}, {"w": np.arange(50.0)})
    original = saved.read_bytes()
    for place in range(len(original)):
        damaged = bytearray(original)
        damaged[place] ^= 0x10
        saved.write_bytes(damaged)
        with pytest.raises(PlanFileError):
            container.read(saved, container.PLAN)


def test_equal_bytes_are_written_once(tmp_path: Path) -> None:
    """A weight under another shape, and a copy of it, take no room of their own; a near copy does."""
    weight = np.random.default_rng(0).standard_normal((256, 1024)).astype(np.float32)
    near = weight.copy()
    near[100, 100] += 1
    arrays = {
        "w": weight,
        "flat": weight.reshape(-1),
        "bits": weight.view(np.int32),
        "copy": weight.copy(),
        "near": near,
        "empty": weight[:0],
    }
    path = tmp_path / "shared.plan"
    size = container.write(path, container.PLAN, META, {"module": b"x"}, arrays)
    assert 2 * weight.nbytes < size < 2 * weight.nbytes + 20_000
    found = container.read(path, container.PLAN).arrays
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found[name], array)
    assert np.shares_memory(found["w"], found["copy"]) and not np.shares_memory(found["w"], found["near"])
    data = bytearray(path.read_bytes())
    data[4096 + 100] ^= 1
    path.write_bytes(data)
    with pytest.raises(PlanFileError, match="damaged: section 'w'"):
        container.read(path, container.PLAN)


@pytest.mark.parametrize("keep", [1, 7, 63, 64, 65, 5000, -1])
def test_truncated(saved: Path, keep: int) -> None:
    """A file cut anywhere says how many bytes it has, or that it is no such file."""
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(PlanFileError, match=r"is truncated: \d+ bytes"):
        container.read(saved, container.PLAN)


def test_empty_foreign_and_missing(tmp_path: Path) -> None:
    """Files that were never Plans are told apart from damaged ones."""
    (tmp_path / "empty").touch()
    with pytest.raises(PlanFileError, match="is empty; expected a Plan file"):
        container.read(tmp_path / "empty", container.PLAN)
    (tmp_path / "zip").write_bytes(b"PK\3\4" + bytes(100))
    with pytest.raises(PlanFileError, match=r"not a Plan file: it starts with b'PK"):
        container.read(tmp_path / "zip", container.PLAN)
    (tmp_path / "nowhere.plan").touch()
    with pytest.raises(
        PlanFileError, match=r"cannot open .*nowhere: No such file .*\n  hint: near names: nowhere.plan"
    ):
        container.read(tmp_path / "nowhere", container.PLAN)
    with pytest.raises(PlanFileError, match="cannot open"):
        container.read(tmp_path, container.PLAN)


def _with_version(data: bytes, version: int) -> bytes:
    head = bytearray(data[:64])
    head[12:16] = version.to_bytes(4, "little")
    head[44:48] = zlib.crc32(head[:44]).to_bytes(4, "little")
    return bytes(head) + data[64:]


@pytest.mark.parametrize(("version", "age"), [(0, "older"), (2, "newer")])
def test_other_versions(saved: Path, version: int, age: str) -> None:
    """A file of another format version names both versions and what to do."""
    saved.write_bytes(_with_version(saved.read_bytes(), version))
    with pytest.raises(PlanFileError, match=f"format version {version}, {age} than this package's 1") as caught:
        container.read(saved, container.PLAN)
    assert caught.value.hint


@pytest.mark.parametrize("entry", [["module"], ["module", "a", 1, 0], ["module", 0, None, 0]])
def test_an_index_that_no_version_writes(saved: Path, entry: list[object]) -> None:
    """An index of the right checksum whose entries are no places is one error, not Python's own."""
    data = saved.read_bytes()
    offset = int.from_bytes(data[24:32], "little")
    index = json.dumps({"meta": {}, "sections": [entry], "arrays": []}).encode()
    header = container._header(container.PLAN, container.PLAN.version, offset + len(index), offset, index)
    saved.write_bytes(header + data[64:offset] + index)
    with pytest.raises(PlanFileError, match="the index cannot be read"):
        container.read(saved, container.PLAN)


def test_another_kind(saved: Path) -> None:
    """Reading a Plan as a Program says which of the two it is."""
    with pytest.raises(InvalidModelError, match="holds a Plan, expected a Program"):
        container.read(saved, container.PROGRAM)


def test_a_failed_write_leaves_the_old_file(saved: Path) -> None:
    """If writing fails half-way, the file that was there stays, and no partial file is left."""
    before = saved.read_bytes()
    with pytest.raises(KeyError):
        container.write(saved, container.PLAN, META, {"module": b"x" * 100}, {"bad": np.zeros(3, "M8[s]")})
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """Writing into a missing folder is one short error."""
    with pytest.raises(PlanFileError, match=r"cannot write .*No such file"):
        container.write(tmp_path / "no" / "x.plan", container.PLAN, META, {})


def test_saving_over_the_file_that_is_mapped(saved: Path) -> None:
    """A file can be replaced while arrays of the old one are in use; they keep their values."""
    opened = container.read(saved, container.PLAN)
    expected = opened.arrays["w"].copy()
    container.write(saved, container.PLAN, META, {}, {"w": np.zeros((300, 1001), np.float32)})
    np.testing.assert_array_equal(opened.arrays["w"], expected)


def test_an_onnx_model_is_no_plan(tmp_path: Path) -> None:
    """A model is called one, rather than shown as bytes."""
    path = tmp_path / "net.onnx"
    path.write_bytes(b"\x08\x08:\x00" * 32)
    with pytest.raises(
        PlanFileError, match=r"net.onnx is an ONNX model, not a Plan file\n  hint: mt.load opens it"
    ):
        container.read(path, container.PLAN)
