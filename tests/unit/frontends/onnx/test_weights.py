"""Tensors in every encoding, external files, and what is said of damaged ones."""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from mlirtrt_nb.errors import ExternalDataError, InvalidModelError, SourceError
from mlirtrt_nb.frontends.onnx import from_onnx
from mlirtrt_nb.frontends.onnx.weights import TensorReader

from .onnx_models import F32, check_import, model, node

BIG = np.arange(4000, dtype=np.float32)
READER = TensorReader(memoryview(b""), [])


@pytest.mark.parametrize(
    "dtype",
    [
        "float32 float16 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool complex64 complex128",
        "bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu",
        "int4 uint4 float4_e2m1fn int2 uint2",
    ],
)
def test_raw_data_of_every_type(dtype):
    """What numpy_helper writes as raw_data is read back with its type and values, packed types too."""
    for name in dtype.split():
        kind = np.dtype(getattr(ml_dtypes, name, None) or name)
        array = np.array([0, 1, 1, 0, 1], np.float32).astype(kind)
        found = READER.array(numpy_helper.from_array(array, "t"))
        assert found.dtype == kind
        assert found.tobytes() == array.tobytes()  # bytes, as a type without a zero reads it as NaN


@pytest.mark.parametrize(
    "kind", [TensorProto.BFLOAT16, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.BOOL]
)
def test_values_one_by_one(kind):
    """int32_data holds the bits of narrow types."""
    tensor = helper.make_tensor("t", kind, [3], [1, 0, 1])
    assert tensor.int32_data
    np.testing.assert_array_equal(READER.array(tensor).astype(np.float32), [1, 0, 1])


def test_weights_alias_the_file(tmp_path):
    """A large weight is a read-only view into the mapped file; nothing is copied."""
    path = tmp_path / "m.onnx"
    onnx.save(model([node("Add", ["x", "w"], ["y"])], {"x": [4000]}, ["y"], {"w": BIG}), path)
    weight = from_onnx(path).weights["w"]
    assert not weight.flags.owndata and not weight.flags.writeable
    np.testing.assert_array_equal(weight, BIG)


def test_sparse_initializers():
    """Sparse initializers, with flat and with full indices, are written out."""
    for indices in (np.array([1, 5]), np.array([[0, 1], [1, 2]])):
        proto = model([node("Add", ["x", "s"], ["y"])], {"x": [2, 3]}, ["y"])
        values = numpy_helper.from_array(np.array([4, 8], np.float32), "s")
        sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(indices, "i"), [2, 3])
        proto.graph.sparse_initializer.append(sparse)
        found = check_import(proto, {"x": np.zeros((2, 3), np.float32)})
        assert len(found.weights) == 0


def external(tmp_path, **keywords) -> ModelProto:
    """A model in `tmp_path` whose weight lies in w.bin."""
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [4000]}, ["y"], {"w": BIG})
    onnx.save(
        proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0, **keywords
    )
    return onnx.load(tmp_path / "m.onnx", load_external_data=False)


def test_external_data_by_path(tmp_path):
    """External weights beside the model are mapped."""
    external(tmp_path)
    weight = from_onnx(tmp_path / "m.onnx").weights["w"]
    assert not weight.flags.owndata
    np.testing.assert_array_equal(weight, BIG)


def test_external_data_by_bytes(tmp_path):
    """Bytes need base_dir, and the error says so."""
    data = external(tmp_path).SerializeToString()
    np.testing.assert_array_equal(from_onnx(data, base_dir=tmp_path).weights["w"], BIG)
    with pytest.raises(ExternalDataError, match="base_dir"):
        from_onnx(data)


def test_external_data_with_offset(tmp_path):
    """Several tensors in one file, each at its offset."""
    weights = {"a": BIG, "b": BIG * 2, "c": BIG * 3}
    proto = model([node("Sum", ["x", "a", "b", "c"], ["y"])], {"x": [4000]}, ["y"], weights)
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="all.bin", size_threshold=0)
    program = from_onnx(tmp_path / "m.onnx")
    for name, array in weights.items():
        np.testing.assert_array_equal(program.weights[name], array)


def test_missing_external_file(tmp_path):
    """The error names the tensor and the path that was tried."""
    external(tmp_path)
    os.remove(tmp_path / "w.bin")
    with pytest.raises(ExternalDataError) as caught:
        from_onnx(tmp_path / "m.onnx")
    assert "'w'" in str(caught.value) and str(tmp_path / "w.bin") in str(caught.value)


def test_short_external_file(tmp_path):
    """A file that ends before the tensor is refused with both numbers."""
    external(tmp_path)
    with open(tmp_path / "w.bin", "r+b") as handle:
        handle.truncate(100)
    with pytest.raises(ExternalDataError, match=r"16000.*100"):
        from_onnx(tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("place", "offset", "said"),
    [
        ("w\0.bin", "0", "is no file name"),
        ("w" * 5000, "0", "is missing"),
        ("w.bin", "99999", "its data starts at byte 99999, w.bin has 16000"),
        ("w.bin", "-4", "its data starts at byte -4, w.bin has 16000"),
        ("w.bin", "x", "must be numbers"),
    ],
)
def test_entries_that_cannot_be(tmp_path, place, offset, said):
    """A location or an offset that makes no sense is named as it stands in the file."""
    proto = external(tmp_path)
    entries = proto.graph.initializer[0].external_data
    del entries[:]
    entries.add(key="location", value=place)
    entries.add(key="offset", value=offset)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(ExternalDataError, match=said):
        from_onnx(tmp_path / "m.onnx")


def test_a_folder_that_is_none(tmp_path):
    """What can be no folder is said to be none."""
    with pytest.raises(SourceError, match="not int"):
        from_onnx(external(tmp_path), base_dir=3)


@pytest.mark.parametrize("place", ["../w.bin", "/etc/hostname", "sub/../../w.bin", ""])
def test_path_that_leaves_the_folder(tmp_path, place):
    """Locations outside the model's folder are refused, whether or not they exist."""
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(BIG.tobytes())
    proto = external(folder)
    for entry in proto.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = place
    (folder / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(ExternalDataError, match="outside the model's folder"):
        from_onnx(folder / "m.onnx")


def test_link_that_leaves_the_folder(tmp_path):
    """A symbolic link to a file elsewhere is refused; one into the model's own store is followed."""
    store, view = tmp_path / "blobs", tmp_path / "view"
    store.mkdir()
    view.mkdir()
    external(store)
    (view / "w.bin").symlink_to(store / "w.bin")
    (view / "copy.onnx").write_bytes((store / "m.onnx").read_bytes())
    with pytest.raises(ExternalDataError, match="outside"):
        from_onnx(view / "copy.onnx")
    (view / "m.onnx").symlink_to(store / "m.onnx")
    np.testing.assert_array_equal(from_onnx(view / "m.onnx").weights["w"], BIG)


def test_wrong_byte_count():
    """A tensor with too few bytes is refused with its shape and both numbers."""
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [3]}, ["y"], {"w": np.ones(3, np.float32)})
    proto.graph.initializer[0].raw_data = b"12345"
    with pytest.raises(InvalidModelError) as caught:
        READER.array(proto.graph.initializer[0])
    assert "3xf32" in str(caught.value) and "12 bytes" in str(caught.value)


def test_unknown_element_type():
    """An element type that does not exist is refused by number."""
    tensor = TensorProto(name="t", data_type=99, dims=[1], raw_data=b"1")
    with pytest.raises(InvalidModelError, match="99"):
        READER.array(tensor)


def test_float_kind_is_kept():
    """F32 constants stay F32 through float_data."""
    tensor = helper.make_tensor("t", F32, [2], [1.5, -2.5])
    assert READER.array(tensor).dtype == np.float32
