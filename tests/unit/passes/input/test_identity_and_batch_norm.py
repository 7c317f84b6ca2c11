"""onnx-eliminate-identity and fold-batch-norm: fewer ops, the same results."""

from __future__ import annotations

import numpy as np
import pytest

from mlirtrt_nb.frontends.onnx import from_onnx
from mlirtrt_nb.frontends.text import from_mlir
from mlirtrt_nb.ir.locations import sources_of
from tests.unit.frontends.onnx.onnx_models import I64, counts, model, node, reference, run, transformed

RNG = np.random.default_rng(0)
MAX = np.iinfo(np.int64).max


def normal(*shape):
    """Seeded float32 data."""
    return RNG.standard_normal(shape).astype(np.float32)


def check(proto, passes, feeds):
    """Run passes and compare with ONNX Runtime on the original; return the op counts."""
    program = transformed(from_onnx(proto), passes)
    for ours, theirs in zip(run(program, feeds), reference(proto, feeds), strict=True):
        scale = max(np.abs(theirs).max(), 1e-6)
        assert np.abs(ours - theirs).max() / scale < 1e-5
    return counts(program)


NO_OPS = [
    ("Identity", [], {}, {}),
    ("Dropout", [], {}, {}),
    ("Cast", [], {}, {"to": 1}),
    ("Pad", ["p"], {"p": np.zeros(4, np.int64)}, {}),
    ("Slice", ["s", "e"], {"s": np.array([0, 0]), "e": np.array([MAX, MAX])}, {}),
    ("Transpose", [], {}, {"perm": [0, 1]}),
    ("Concat", [], {}, {"axis": 0}),
    ("Sum", [], {}, {}),
    ("Clip", [], {}, {}),
]
OPS = [
    ("Pad", ["p"], {"p": np.array([0, 1, 0, 0])}, {}),
    ("Slice", ["s", "e"], {"s": np.array([1]), "e": np.array([MAX])}, {}),
    (
        "Slice",
        ["s", "e", "ax", "t"],
        {"s": np.array([-1]), "e": np.array([-MAX]), "ax": np.array([0]), "t": np.array([-1])},
        {},
    ),
    ("Transpose", [], {}, {"perm": [1, 0]}),
    ("Transpose", [], {}, {}),
    ("Clip", ["m"], {"m": np.array(0, np.float32)}, {}),
]


@pytest.mark.parametrize(("op_type", "operands", "weights", "attributes"), NO_OPS)
def test_ops_that_do_nothing_go(op_type, operands, weights, attributes):
    """Each op that gives back its input is dropped, also with dynamic shapes."""
    nodes = [node(op_type, ["x", *operands], ["a"], **attributes), node("Relu", ["a"], ["y"])]
    proto = model(nodes, {"x": ["n", "m"]}, ["y"], weights)
    assert f"onnx.{op_type}" not in check(proto, "onnx-eliminate-identity", {"x": normal(3, 4)})


@pytest.mark.parametrize(("op_type", "operands", "weights", "attributes"), OPS)
def test_ops_that_do_something_stay(op_type, operands, weights, attributes):
    """Each op of the same kinds that changes its input stays."""
    nodes = [node(op_type, ["x", *operands], ["a"], **attributes), node("Relu", ["a"], ["y"])]
    proto = model(nodes, {"x": [4, 4]}, ["y"], weights)
    assert f"onnx.{op_type}" in check(proto, "onnx-eliminate-identity", {"x": normal(4, 4)})


def test_cast_that_changes_the_type_stays():
    """A Cast to another type stays, and one back and forth as well."""
    nodes = [node("Cast", ["x"], ["i"], to=I64), node("Cast", ["i"], ["y"], to=1)]
    assert (
        check(model(nodes, {"x": [4]}, ["y"]), "onnx-eliminate-identity", {"x": normal(4) * 9})["onnx.Cast"]
        == 2
    )


def test_transpose_of_unknown_rank_stays():
    """Without perm it turns whatever rank there is around, which is not known before the call."""
    program = from_mlir("""func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> {
      %0 = onnx.Transpose(%x) : (tensor<*xf32>) -> tensor<*xf32>
      return %0 : tensor<*xf32>
    }""")
    assert counts(transformed(program, "onnx-eliminate-identity"))["onnx.Transpose"] == 1


def test_dropout_whose_mask_is_read_stays():
    """A mask that is an output keeps its op."""
    proto = model([node("Dropout", ["x"], ["y", "m"])], {"x": [4]}, ["y", "m"], dtypes={"m": 9})
    assert "onnx.Dropout" in counts(transformed(from_onnx(proto), "onnx-eliminate-identity"))


def norm(channels):
    """Parameters of a batch norm, far from the identity."""
    return {
        "g": normal(channels),
        "b": normal(channels),
        "m": normal(channels),
        "v": np.abs(normal(channels)) + 0.1,
    }


def conv_like(op_type, weight, after, extra, shape, bias=None, **attributes):
    """x -> conv -> what `after` gives of the tensor "c"."""
    weights = {"w": weight, **extra} | ({} if bias is None else {"bias": bias})
    operands = ["x", "w"] + ([] if bias is None else ["bias"])
    return model(
        [node(op_type, operands, ["c"], name="conv", **attributes), *after], {"x": shape}, ["y"], weights
    )


NORM = [node("BatchNormalization", ["c", "g", "b", "m", "v"], ["y"], name="bn", epsilon=1e-3)]
FOLD = "onnx-fold-constants,fold-batch-norm"


@pytest.mark.parametrize("bias", [None, normal(6)])
@pytest.mark.parametrize("group", [1, 2])
def test_conv_takes_over_its_batch_norm(bias, group):
    """With and without bias, with and without groups."""
    proto = conv_like("Conv", normal(6, 4 // group, 3, 3), NORM, norm(6), [1, 4, 8, 8], bias, group=group)
    assert "onnx.BatchNormalization" not in check(proto, FOLD, {"x": normal(1, 4, 8, 8)})


@pytest.mark.parametrize("group", [1, 2])
def test_transposed_conv_takes_over_its_batch_norm(group):
    """The output channels of a ConvTranspose lie along the weight's second axis, per group."""
    proto = conv_like("ConvTranspose", normal(4, 6 // group, 3, 3), NORM, norm(6), [1, 4, 5, 5], group=group)
    assert "onnx.BatchNormalization" not in check(proto, FOLD, {"x": normal(1, 4, 5, 5)})


@pytest.mark.parametrize("transposed", [0, 1])
def test_gemm_takes_over_its_batch_norm(transposed):
    """A Gemm with either layout of its weight, alpha included."""
    weight = normal(5, 4) if transposed else normal(4, 5)
    proto = conv_like("Gemm", weight, NORM, norm(5), [3, 4], normal(5), transB=transposed, alpha=0.5)
    assert "onnx.BatchNormalization" not in check(proto, FOLD, {"x": normal(3, 4)})


def test_chain_of_scales_and_shifts():
    """Conv, BN, Mul and Add with constants unsqueezed to channels, as converters from Caffe write them."""
    after = [
        node("BatchNormalization", ["c", "g", "b", "m", "v"], ["n"]),
        node("Unsqueeze", ["s", "axes"], ["s1"]),
        node("Mul", ["s1", "n"], ["p"]),
        node("Unsqueeze", ["t", "axes"], ["t1"]),
        node("Add", ["p", "t1"], ["q"]),
        node("Relu", ["q"], ["y"]),
    ]
    extra = norm(6) | {"s": normal(6), "t": normal(6), "axes": np.array([1, 2])}
    proto = conv_like("Conv", normal(6, 4, 1, 1), after, extra, [1, 4, 8, 8])
    left = check(proto, FOLD, {"x": normal(1, 4, 8, 8)})
    assert {"onnx.BatchNormalization", "onnx.Mul", "onnx.Add"} & set(left) == set()


def test_batch_norm_takes_over_what_follows():
    """A batch norm that no conv can take over absorbs the scale and shift after it."""
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("BatchNormalization", ["r", "g", "b", "m", "v"], ["n"]),
        node("Mul", ["n", "s"], ["p"]),
        node("Sub", ["p", "t"], ["y"]),
    ]
    weights = norm(3) | {"s": normal(1, 3, 1, 1), "t": np.array(2, np.float32)}
    left = check(model(nodes, {"x": [1, 3, 4, 4]}, ["y"], weights), FOLD, {"x": normal(1, 3, 4, 4)})
    assert left["onnx.BatchNormalization"] == 1 and not {"onnx.Mul", "onnx.Sub"} & set(left)


@pytest.mark.parametrize(
    ("op_type", "constant"), [("Mul", normal(8)), ("Add", normal(1, 1, 8, 8)), ("Add", normal(2, 6, 1, 1))]
)
def test_constants_that_vary_otherwise_stay(op_type, constant):
    """A constant along the columns, over the picture, or that makes the result larger, is not per channel."""
    proto = conv_like(
        "Conv", normal(6, 4, 1, 1), [node(op_type, ["c", "k"], ["y"])], {"k": constant}, [1, 4, 8, 8]
    )
    assert f"onnx.{op_type}" in check(proto, FOLD, {"x": normal(1, 4, 8, 8)})


def test_constant_on_the_left_of_sub_and_div_stays():
    """k - conv and k / conv are no scale and shift of the weights here."""
    after = [node("Sub", ["k", "c"], ["a"]), node("Div", ["k", "a"], ["y"])]
    proto = conv_like("Conv", normal(6, 4, 1, 1), after, {"k": np.array(2, np.float32)}, [1, 4, 8, 8])
    assert {"onnx.Sub", "onnx.Div"} <= set(check(proto, FOLD, {"x": normal(1, 4, 8, 8)}))


def test_conv_that_is_read_twice_stays():
    """A conv whose result someone else reads keeps its batch norm."""
    after = [*NORM[:1], node("Relu", ["c"], ["z"])]
    proto = conv_like("Conv", normal(6, 4, 1, 1), after, norm(6), [1, 4, 8, 8])
    proto.graph.output.append(proto.graph.output[0])
    proto.graph.output[1].name = "z"
    assert "onnx.BatchNormalization" in check(proto, FOLD, {"x": normal(1, 4, 8, 8)})


def test_shared_weight_is_not_changed_for_others():
    """Two convs of one weight, one with a batch norm: the other keeps the weight as it was."""
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        *NORM,
        node("Conv", ["x", "w"], ["z"]),
    ]
    proto = model(nodes, {"x": [1, 4, 8, 8]}, ["y", "z"], {"w": normal(6, 4, 1, 1), **norm(6)})
    assert "onnx.BatchNormalization" not in check(proto, FOLD, {"x": normal(1, 4, 8, 8)})


def test_training_mode_stays():
    """A batch norm in training mode computes its own statistics."""
    after = [node("BatchNormalization", ["c", "g", "b", "m", "v"], ["y", "rm", "rv"], training_mode=1)]
    proto = conv_like("Conv", normal(6, 4, 1, 1), after, norm(6), [1, 4, 8, 8])
    assert "onnx.BatchNormalization" in check(proto, FOLD, {"x": normal(1, 4, 8, 8)})


def test_names_of_all_that_was_folded():
    """The op that is left names every node it was made of."""
    proto = conv_like("Conv", normal(6, 4, 1, 1), NORM, norm(6), [1, 4, 8, 8])
    program = transformed(from_onnx(proto), FOLD)
    block = program.module.body.operations[0].regions[0].blocks[0]
    conv = next(op.operation for op in block.operations if op.operation.name == "onnx.conv")
    assert sources_of(conv.location) == ("conv", "bn")
    assert "conv.weight_folded" in program.weights
