"""The NumPy computations agree with ONNX Runtime bit for bit, or say that they do not know."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from torch_mlir import ir

from mlirtrt_nb.dialects.onnx.numpy_ops import compute
from mlirtrt_nb.ir.builder import Op
from mlirtrt_nb.passes.input.rewriting import functions
from tests.unit.frontends.onnx.onnx_models import I64, from_onnx, model, node, reference

RNG = np.random.default_rng(1)
DATA = RNG.standard_normal((3, 4, 5)).astype(np.float32)
INTS = np.array([[7, -7, 5], [-9, 2, 0]])
MAX = np.iinfo(np.int64).max


def both(op_type, arrays, opset=17, kind=1, **attributes):
    """What `compute` and ONNX Runtime give for one op on constants."""
    names = [f"i{n}" if a is not None else "" for n, a in enumerate(arrays)]
    weights = {n: a for n, a in zip(names, arrays, strict=True) if a is not None}
    proto = model(
        [node(op_type, names, ["y"], **attributes)], {}, ["y"], weights, opset=opset, dtypes={"y": kind}
    )
    program = from_onnx(proto)
    block = next(functions(program)).regions[0].blocks[0]
    operation = next(o.operation for o in block.operations if o.operation.name == f"onnx.{op_type.lower()}")
    padded = [*arrays, *[None] * (len(operation.operands) - len(arrays))]
    return compute(Op.of(operation), padded), reference(proto, {})[0]


CASES = [
    ("Gather", [DATA, np.array([[0, -1], [2, 1]])], {"axis": 1}),
    ("Slice", [DATA, np.array([1]), np.array([MAX]), np.array([2])], {}),
    ("Slice", [DATA, np.array([-1, 3]), np.array([-MAX, 0]), np.array([0, 1]), np.array([-1, -2])], {}),
    ("Slice", [DATA, np.array([-100]), np.array([100]), np.array([-1])], {}),
    ("Slice", [DATA[:0], np.array([-1]), np.array([-MAX]), np.array([0]), np.array([-1])], {}),
    ("Squeeze", [DATA[:1], np.array([0])], {}),
    ("Unsqueeze", [DATA, np.array([0, -1])], {}),
    ("Reshape", [DATA, np.array([0, -1])], {}),
    ("Reshape", [DATA[:0], np.array([0, 20])], {"allowzero": 1}),
    ("Transpose", [DATA], {"perm": [2, 0, 1]}),
    ("Transpose", [DATA], {}),
    ("Concat", [DATA, DATA], {"axis": -1}),
    ("Expand", [DATA[:1], np.array([3, 1, 1])], {}),
    ("Expand", [np.array(2.5, np.float32), np.array([], np.int64)], {}),
    ("Transpose", [np.array(2.5, np.float32)], {}),
    ("Where", [DATA > 0, DATA, np.float32(3)], {}),
    ("Add", [DATA, DATA[0]], {}),
    ("Div", [DATA, np.abs(DATA) + 1], {}),
    ("Sqrt", [np.abs(DATA)], {}),
    ("Floor", [DATA], {}),
    ("Ceil", [DATA], {}),
    ("Min", [DATA, DATA[0], np.float32(0.1)], {}),
    ("ReduceMax", [DATA], {"axes": [1], "keepdims": 0}),
    ("ConstantOfShape", [np.array([2, 3])], {}),
]
INTEGER_CASES = [
    ("Div", [INTS, np.array(2)], {}),
    ("Mod", [INTS, np.array(4)], {}),
    ("Mod", [INTS, np.array(4)], {"fmod": 1}),
    ("Range", [np.array(10), np.array(-3), np.array(-4)], {}),
    ("Range", [np.array(3), np.array(1), np.array(1)], {}),
    ("Cast", [DATA * 10], {"to": I64}),
    ("Shape", [DATA], {"start": 1}),
    ("Shape", [DATA], {"end": -1}),
    ("Size", [DATA], {}),
    ("ReduceProd", [INTS + 10], {"keepdims": 0}),
    ("ReduceSum", [INTS, np.array([0])], {}),
    ("Neg", [INTS], {}),
]


@pytest.mark.parametrize(("op_type", "arrays", "attributes"), CASES)
def test_floats(op_type, arrays, attributes):
    """Results on float32 are those of ONNX Runtime, to the bit."""
    ours, theirs = both(op_type, arrays, **attributes)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("op_type", "arrays", "attributes"), INTEGER_CASES)
def test_integers(op_type, arrays, attributes):
    """Results on int64, with signs, are those of ONNX Runtime."""
    ours, theirs = both(op_type, arrays, kind=I64, **attributes)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("op_type", "arrays", "attributes"),
    [
        ("Gather", [DATA, np.array([9])], {}),
        ("Div", [INTS, np.array(0)], {}),
        ("Mod", [INTS, np.array(0)], {}),
        ("Cast", [np.array([np.nan, 1e30], np.float32)], {"to": I64}),
        ("Reshape", [DATA, np.array([7, 7])], {}),
        ("ReduceSum", [DATA], {}),
    ],
)
def test_what_is_not_computed(op_type, arrays, attributes):
    """Undefined results, and float sums whose order matters, are left to the runtime."""
    names = [f"i{n}" for n in range(len(arrays))]
    kind = attributes.get("to") or helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    weights = dict(zip(names, arrays, strict=True))
    proto = model([node(op_type, names, ["y"], **attributes)], {}, ["y"], weights, dtypes={"y": kind})
    program = from_onnx(proto)
    block = next(functions(program)).regions[0].blocks[0]
    operation = next(o.operation for o in block.operations if o.operation.name == f"onnx.{op_type.lower()}")
    padded = [*arrays, *[None] * (len(operation.operands) - len(arrays))]
    with program.context, ir.Location.unknown():
        assert compute(Op.of(operation), padded) is None
