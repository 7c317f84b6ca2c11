"""The wire-format walker: large tensors stay in the file, all else survives, damaged bytes are refused."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from mlirtrt_nb.errors import InvalidModelError
from mlirtrt_nb.frontends.onnx import from_onnx
from mlirtrt_nb.frontends.onnx.wire import location, span_index, strip

from .onnx_models import F32, loop_body_model, model, node

BIG = np.arange(4000, dtype=np.float32)


def stripped(proto: ModelProto) -> tuple[ModelProto, list[bytes]]:
    """The small model, decoded, and the bytes that each span points to."""
    data = proto.SerializeToString()
    small, spans = strip(memoryview(data))
    return ModelProto.FromString(small), [data[s.offset : s.offset + s.size] for s in spans]


def test_large_initializer_is_left_behind():
    """The bytes of a large tensor are found at their place; the message keeps name, type and shape."""
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [4000]}, ["y"], {"w": BIG})
    small, parts = stripped(proto)
    assert parts == [BIG.tobytes()]
    tensor = small.graph.initializer[0]
    assert (tensor.name, list(tensor.dims), tensor.data_type) == ("w", [4000], F32)
    assert tensor.external_data[0].value == location(0)
    assert small.ByteSize() < 500


def test_small_tensors_stay():
    """A tensor below the limit stays in the message, and an unchanged message is the same bytes."""
    proto = model([node("Reshape", ["x", "s"], ["y"])], {"x": [4]}, ["y"], {"s": np.array([2, 2])})
    data = proto.SerializeToString()
    assert strip(memoryview(data)) == (data, [])


def test_everything_else_survives():
    """Putting the bytes back gives the original model."""
    proto = model(
        [node("Add", ["x", "w"], ["y"])], {"x": [4000]}, ["y"], {"a": BIG, "s": BIG[:3], "w": BIG * 2}
    )
    small, parts = stripped(proto)
    for tensor in small.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            tensor.raw_data = parts[span_index(tensor.external_data[0].value)]
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    assert small == proto


def test_constant_nodes_in_subgraphs_and_packed_floats():
    """Large tensors are found in attributes, in bodies of loops, and as packed float_data."""
    packed = TensorProto(name="p", dims=[4000], data_type=F32)
    packed.float_data.extend(BIG.tolist())
    constant = node("Constant", [], ["c"], value=packed)
    small, parts = stripped(loop_body_model(constant))
    assert parts == [BIG.tobytes()]
    body = next(a.g for n in small.graph.node for a in n.attribute if a.name == "body")
    assert not body.node[0].attribute[0].t.float_data


def test_sparse_initializer_values_are_found():
    """The values of a sparse tensor are left behind too."""
    values = numpy_helper.from_array(BIG, "s")
    indices = numpy_helper.from_array(np.arange(4000) * 2, "i")
    proto = model([node("Add", ["x", "s"], ["y"])], {"x": [8000]}, ["y"])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [8000]))
    assert len(stripped(proto)[1]) == 2


@pytest.mark.parametrize("cut", [1, 10, 100, 5000, 16000])
def test_truncated_at_any_place(cut):
    """A model that ends early is refused with the numbers, not decoded."""
    data = model([node("Add", ["x", "w"], ["y"])], {"x": [4000]}, ["y"], {"w": BIG}).SerializeToString()
    with pytest.raises(InvalidModelError, match=r"truncated|no protobuf field"):
        strip(memoryview(data[:-cut]))


def test_location_of_a_real_file_is_no_span():
    """Names that a file may carry are not taken for the walker's own."""
    assert span_index("weights.bin") is None
    assert span_index("#0") is None
    assert span_index(location(7)) == 7


def varint(value: int) -> bytes:
    """A protobuf varint."""
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def test_file_of_more_than_two_gigabytes(tmp_path):
    """A model too large for protobuf loads; its weight is a view of the (sparse) file."""
    count = 600_000_000
    head = TensorProto(name="w", dims=[count], data_type=F32).SerializeToString()
    tensor = head + b"\x4a" + varint(4 * count)  # raw_data, its bytes follow
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [1]}, ["y"])
    graph = proto.graph.SerializeToString()
    proto.ClearField("graph")
    initializer = b"\x2a" + varint(len(tensor) + 4 * count) + tensor
    path = tmp_path / "big.onnx"
    with open(path, "wb") as handle:
        handle.write(proto.SerializeToString() + b"\x3a" + varint(len(graph) + len(initializer) + 4 * count))
        handle.write(graph + initializer)
        handle.truncate(handle.tell() + 4 * count)
    weight = from_onnx(path).weights["w"]
    assert weight.shape == (count,) and weight[-1] == 0 and not weight.flags.owndata
