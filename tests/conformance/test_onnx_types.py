"""Every element type of ONNX: native where TensorRT has it, else on the host with the same numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt

# Element type, NumPy's, and whether TensorRT adds it.
ADDED = {
    "f16": (TensorProto.FLOAT16, np.float16, True),
    "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16, True),
    "f32": (TensorProto.FLOAT, np.float32, True),
    "f64": (TensorProto.DOUBLE, np.float64, False),
    "i8": (TensorProto.INT8, np.int8, True),
    "u8": (TensorProto.UINT8, np.uint8, False),
    "i16": (TensorProto.INT16, np.int16, False),
    "u16": (TensorProto.UINT16, np.uint16, False),
    "i32": (TensorProto.INT32, np.int32, True),
    "u32": (TensorProto.UINT32, np.uint32, False),
    "i64": (TensorProto.INT64, np.int64, True),
    "u64": (TensorProto.UINT64, np.uint64, False),
}
# Types that ONNX only moves and casts, and whether TensorRT moves them.
MOVED = {
    "e4m3fn": (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn, True),
    "e4m3fnuz": (TensorProto.FLOAT8E4M3FNUZ, ml_dtypes.float8_e4m3fnuz, False),
    "e5m2": (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2, False),
    "e5m2fnuz": (TensorProto.FLOAT8E5M2FNUZ, ml_dtypes.float8_e5m2fnuz, False),
    "i4": (TensorProto.INT4, ml_dtypes.int4, True),
    "u4": (TensorProto.UINT4, ml_dtypes.uint4, False),
    "e2m1": (TensorProto.FLOAT4E2M1, ml_dtypes.float4_e2m1fn, False),
    "bool": (TensorProto.BOOL, np.bool_, True),
}


def plan_of(nodes, inputs, outputs, constants=None):
    """A Plan for CPU and sm89."""
    graph = helper.make_graph(
        nodes,
        "main",
        inputs,
        outputs,
        [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    return mt.compile(model, target=["cpu", "sm89"], cache=False, isolate=False)


def tensor(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def in_engine(plan) -> bool:
    return "sm89" in plan.engines.target.tolist()


@pytest.mark.parametrize("name", ADDED)
def test_sums_with_a_constant(name):
    """Of large numbers where there are such, so that a narrower type would show."""
    kind, dtype, native = ADDED[name]
    x = np.array([[1, 2, 3], [4, 5, 6]]).astype(dtype)
    if name in ("i64", "u64", "f64"):
        x = x + dtype(2**40)
    plan = plan_of(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [tensor("x", kind, [2, 3])],
        [tensor("y", kind, [2, 3])],
        {"w": x},
    )
    assert in_engine(plan) is native
    assert plan.fallbacks.empty is native
    found = plan.session("cpu")(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, (x + x).astype(dtype))


@pytest.mark.parametrize("name", MOVED)
def test_small_types_are_moved(name):
    """A reshape keeps every element as it is."""
    kind, dtype, native = MOVED[name]
    x = np.array([[1, 2, 3], [0, 1, 2]], np.float32).astype(dtype)
    plan = plan_of(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [tensor("x", kind, [2, 3])],
        [tensor("y", kind, [3, 2])],
        {"shape": np.array([3, 2])},
    )
    assert in_engine(plan) is native
    found = plan.session("cpu")(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.float32), x.reshape(3, 2).astype(np.float32))


def test_int64_is_never_clamped():
    """Constants, inputs, indices and sums beyond 32 bits; ends of slices at the largest number."""
    plan = plan_of(
        [
            helper.make_node("Gather", ["x", "i"], ["g"]),
            helper.make_node("Add", ["g", "w"], ["s"]),
            helper.make_node("Slice", ["s", "zero", "end"], ["y"]),
        ],
        [tensor("x", TensorProto.INT64, [3])],
        [tensor("y", TensorProto.INT64, None)],
        {
            "i": np.array([-1, 0]),
            "w": np.array([2**40 + 7]),
            "zero": np.array([0]),
            "end": np.array([np.iinfo(np.int64).max]),
        },
    )
    x = np.array([2**41 + 1, 5, -(2**50)])
    assert plan.fallbacks.empty
    np.testing.assert_array_equal(plan.session("cpu")(x), x[[-1, 0]] + 2**40 + 7)


def test_strings_and_sequences():
    """On the host, through the Plan, as Python has them."""
    strings = np.array(["a", "bc"], object)
    plan = plan_of(
        [helper.make_node("StringConcat", ["x", "x"], ["y"])],
        [tensor("x", TensorProto.STRING, [2])],
        [tensor("y", TensorProto.STRING, [2])],
    )
    assert plan.session("cpu")(strings).tolist() == ["aa", "bcbc"]
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    plan = plan_of(
        [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("SequenceConstruct", ["x", "r"], ["y"])],
        [tensor("x", TensorProto.FLOAT, [2])],
        [helper.make_value_info("y", sequence)],
    )
    x = np.array([-1, 1], np.float32)
    found = plan.session("cpu")(x)
    assert [part.tolist() for part in found] == [[-1, 1], [0, 1]]


def test_a_chain_without_declared_types():
    """Nothing is said of what lies between, nor of the result."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 12
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[2, 0, 1]),
        helper.make_node("Flatten", ["b"], ["c"], axis=2),
        helper.make_node("ReduceSum", ["c"], ["y"], keepdims=0),
    ]
    plan = plan_of(
        nodes, [tensor("x", TensorProto.FLOAT, [2, 3, 4])], [helper.make_empty_tensor_value_info("y")]
    )
    assert plan.fallbacks.empty
    np.testing.assert_allclose(plan.session("cpu")(x), np.maximum(x, 0).sum(), rtol=1e-6)


def test_an_input_without_a_type_is_an_error():
    """Nothing could work it out; the message names the input."""
    with pytest.raises(mt.InvalidModelError, match="the input 'x' declares no type"):
        plan_of(
            [helper.make_node("Relu", ["x"], ["y"])],
            [helper.make_empty_tensor_value_info("x")],
            [tensor("y", TensorProto.FLOAT, [2])],
        )
