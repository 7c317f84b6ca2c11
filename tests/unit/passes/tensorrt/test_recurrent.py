"""LSTM, GRU and RNN: what becomes of the ONNX op, and that the loop TensorRT gets does the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.tensorrt.expand_recurrent import ExpandRecurrent, expanded

from .support import body_of, converted, fallbacks, main_of, model, normal, ops, reference, run

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 4, 2
TOLERANCE = 2e-6


def recurrent(
    kind: str,
    *,
    steps: int | str = STEPS,
    batch: int | str = BATCH,
    directions: int = 1,
    extra: str = "",
    layout: int = 0,
    constant: bool = True,
    outputs: str = "yhc",
    lengths: Sequence[int] | None = None,
    element: int = TensorProto.FLOAT,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one op.

    `extra` names optional inputs: b(ias), l(engths), h, c, p(eepholes); `lengths` makes those a constant.
    The weights are constants if `constant`. `outputs` names those that are there.
    """
    rows = GATES[kind] * HIDDEN
    state = [directions, batch, HIDDEN] if layout == 0 else [batch, directions, HIDDEN]
    shapes: dict[str, list[Any] | None] = {
        "X": [steps, batch, WIDTH] if layout == 0 else [batch, steps, WIDTH],
        "W": [directions, rows, WIDTH],
        "R": [directions, rows, HIDDEN],
        "B": [directions, 2 * rows] if "b" in extra else None,
        "lengths": [batch] if "l" in extra else None,
        "h": state if "h" in extra else None,
        "c": state if "c" in extra else None,
        "P": [directions, 3 * HIDDEN] if "p" in extra else None,
    }
    dtype = helper.tensor_dtype_to_np_dtype(element)
    weights = ("W", "R", "B", "P") if constant else ()
    known = {name: normal(*shape).astype(dtype) for name, shape in shapes.items() if shape and name in weights}
    if lengths is not None:
        known["lengths"] = np.array(lengths, np.int32)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT32 if name == "lengths" else element, shape)
        for name, shape in shapes.items()
        if shape and name not in known
    ]
    names = [f"out_{name}" if name in outputs else "" for name in ("yhc" if kind == "LSTM" else "yh")]
    if directions == 2:
        attributes["direction"] = "bidirectional"
    given = [name if shape else "" for name, shape in shapes.items()][: 8 if kind == "LSTM" else 6]
    node = helper.make_node(kind, given, names, name="node", hidden_size=HIDDEN, layout=layout, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        inputs,
        [helper.make_tensor_value_info(name, element, None) for name in names if name],
        [numpy_helper.from_array(array, name) for name, array in known.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def feeds_of(model: onnx.ModelProto, **sizes: int) -> dict[str, np.ndarray]:
    """Seeded inputs; `sizes` for the dimensions that have names."""
    found = {}
    for entry in model.graph.input:
        kind = entry.type.tensor_type
        shape = [d.dim_value or sizes[d.dim_param] for d in kind.shape.dim]
        if kind.elem_type == TensorProto.INT32:
            found[entry.name] = np.array([STEPS, 2, 1], np.int32)
        else:
            found[entry.name] = normal(*shape).astype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return found


def in_both_forms(model: onnx.ModelProto, *feeds: Mapping[str, np.ndarray]) -> Iterator[list[list[np.ndarray]]]:
    """What each feed gives, first by the op as it is, then by the loop that it becomes."""
    program = converted(model)
    assert fallbacks(program) == {}
    yield [run(program, feed) for feed in feeds]
    ExpandRecurrent().apply(program, PassContext())
    program.verify()
    assert not {"lstm", "gru", "rnn"} & set(ops(program))
    yield [run(program, feed) for feed in feeds]


def assert_close(
    ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], tolerance: float = TOLERANCE
) -> None:
    for a, b in zip(ours, theirs, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=tolerance, atol=tolerance)


LSTM_FUNCTIONS = ["HardSigmoid", "LeakyRelu", "ScaledTanh"]
CASES: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {}),
    ("LSTM", {"extra": "bhcp"}),
    ("LSTM", {"extra": "bhcpl", "directions": 2, "clip": 0.3}),
    ("LSTM", {"extra": "b", "direction": "reverse", "input_forget": 1}),
    ("LSTM", {"extra": "c", "outputs": "c"}),
    ("LSTM", {"extra": "bp", "constant": False, "directions": 2}),
    (
        "LSTM",
        {
            "activations": LSTM_FUNCTIONS,
            "activation_alpha": [0.3, 0.2, 1.5],
            "activation_beta": [0.4, 0.7],
            "extra": "b",
        },
    ),
    (
        "LSTM",
        {
            "directions": 2,
            "activations": ["Sigmoid", "Softsign", "Relu", "Sigmoid", "Softplus", "Affine"],
            "activation_alpha": [0.5],
            "activation_beta": [0.25],
        },
    ),
    ("GRU", {"extra": "b"}),
    ("GRU", {"extra": "bh", "linear_before_reset": 1}),
    ("GRU", {"extra": "bhl", "directions": 2, "linear_before_reset": 1, "clip": 0.5}),
    ("GRU", {"extra": "bhl", "directions": 2}),
    ("GRU", {"extra": "bl", "direction": "reverse", "linear_before_reset": 1, "constant": False}),
    ("GRU", {"extra": "b", "constant": False, "outputs": "y"}),
    ("GRU", {"activations": ["HardSigmoid", "Elu"], "activation_alpha": [0.1]}),
    ("RNN", {"extra": "bh"}),
    ("RNN", {"extra": "l", "directions": 2, "activations": ["Relu", "Tanh"]}),
    ("RNN", {"activations": ["ThresholdedRelu"], "activation_alpha": [0.5], "extra": "b", "outputs": "y"}),
]


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_op_and_loop_agree_with_onnx_runtime(kind: str, options: dict[str, Any]) -> None:
    """Gates, biases, peepholes, lengths, directions, functions and clipping come out as in ONNX Runtime."""
    model = recurrent(kind, **options)
    feeds = feeds_of(model)
    for (ours,) in in_both_forms(model, feeds):
        assert_close(ours, reference(model, feeds))


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("directions", [1, 2])
def test_any_number_of_steps_and_sequences(kind: str, directions: int) -> None:
    """One program serves all sizes, with states that start at zero for any batch."""
    model = recurrent(kind, steps="t", batch="b", directions=directions, extra="b")
    feeds = [feeds_of(model, t=t, b=b) for t, b in ((1, 1), (4, 2), (3, 5))]
    for found in in_both_forms(model, *feeds):
        for ours, feed in zip(found, feeds, strict=True):
            assert_close(ours, reference(model, feed))


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("steps", [1, STEPS])
def test_batch_first(kind: str, steps: int) -> None:
    """Layout 1, which ONNX Runtime lacks, is layout 0 with the axes in another order."""
    options: dict[str, Any] = {"steps": steps, "directions": 2, "extra": "bhc" if kind == "LSTM" else "bh"}
    plain = recurrent(kind, **options)
    swapped = recurrent(kind, layout=1, **options)
    swapped.graph.ClearField("initializer")
    swapped.graph.initializer.extend(plain.graph.initializer)
    feeds = feeds_of(plain)
    whole, *last = reference(plain, feeds)
    wanted = [whole.transpose(2, 0, 1, 3), *(state.transpose(1, 0, 2) for state in last)]
    turned = {name: array.transpose(1, 0, 2) for name, array in feeds.items()}
    for (ours,) in in_both_forms(swapped, turned):
        assert_close(ours, wanted)


@pytest.mark.parametrize("kind", GATES)
def test_one_step_needs_no_loop(kind: str) -> None:
    """A sequence that is known to have one step is straight-line code."""
    model = recurrent(kind, steps=1, directions=2, extra="bh")
    program = converted(model)
    ExpandRecurrent().apply(program, PassContext())
    assert "for" not in ops(program)
    feeds = feeds_of(model)
    assert_close(run(program, feeds), reference(model, feeds))


def test_half_precision() -> None:
    """The loop computes in the input's type; ONNX Runtime, which has none of these in f16, in f32."""
    half = recurrent("LSTM", element=TensorProto.FLOAT16, extra="bhc")
    single = recurrent("LSTM", extra="bhc")
    single.graph.ClearField("initializer")
    for entry in half.graph.initializer:
        array = numpy_helper.to_array(entry).astype(np.float32)
        single.graph.initializer.append(numpy_helper.from_array(array, entry.name))
    feeds = feeds_of(half)
    wanted = reference(single, {name: array.astype(np.float32) for name, array in feeds.items()})
    for (ours,) in in_both_forms(half, feeds):
        assert_close(ours, [array.astype(np.float16) for array in wanted], 5e-3)


def test_lengths_of_all_steps_are_left_out() -> None:
    """Constant lengths stay only where a sequence is shorter than the others."""
    for lengths, masked in (([STEPS] * BATCH, 0), ([STEPS, 2, 3], 1)):
        model = recurrent("GRU", extra="l", lengths=lengths)
        program = converted(model)
        (op,) = (op for op in body_of(program) if op.name == "tensorrt.gru")
        assert len(op.operands) == 3 + masked
        feeds = feeds_of(model)
        assert_close(run(program, feeds), reference(model, feeds))


def test_outputs_that_nothing_reads_are_not_collected() -> None:
    """The loop stacks hidden states only if they are wanted."""
    for outputs, collected in (("h", 0), ("y", 1)):
        program = converted(recurrent("LSTM", outputs=outputs))
        ExpandRecurrent().apply(program, PassContext())
        (loop,) = (op for op in body_of(program) if op.name == "tensorrt.for")
        assert len(loop.results) == 2 + collected


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize(("layout", "axes"), [(0, (0, 2)), (1, (0, 1))])
def test_dimensions_are_traced_to_the_input(kind: str, layout: int, axes: tuple[int, int]) -> None:
    """A reshape of the hidden states by the input's steps and batch needs no shapes at run time."""
    proto = recurrent(kind, steps="t", batch="b", layout=layout, outputs="y")
    target = ", ".join(f"size{axes.index(n)}" if n in axes else "kept" for n in range(4))
    following = model(
        "(float[t,b,4] X, float[a,b,c,d] out_y) => (float[m,n,o,p] z)",
        "size0 = Shape<start = 0, end = 1>(X) size1 = Shape<start = 1, end = 2>(X) "
        "kept = Constant<value = int64[1] {0}>() "
        f"target = Concat<axis = 0>({target}) z = Reshape(out_y, target)",
    )
    proto.graph.node.extend(following.graph.node)
    del proto.graph.output[:]
    proto.graph.output.extend(following.graph.output)
    assert ops(converted(proto)) == {kind.lower(): 1, "shuffle": 1}


def test_expanded_leaves_the_function_alone() -> None:
    """The builder's copy has the loop and new weights; the program keeps its op and its table."""
    program = converted(recurrent("LSTM", extra="b"))
    function, names = main_of(program), set(program.weights)
    with program.context:
        copy, weights = expanded(function, program.weights)
        assert "tensorrt.for" in [op.operation.name for op in copy.regions[0].blocks[0].operations]
        assert copy.attributes["function_type"] == function.attributes["function_type"]
    assert ops(program)["lstm"] == 1
    assert set(program.weights) == names
    assert set(weights) >= names


def test_expanded_gives_back_a_function_without_any() -> None:
    """Nothing is copied where there is nothing to expand."""
    program = converted(model("(float[2] x) => (float[2] y)", "y = Relu(x)"))
    with program.context:
        function, weights = expanded(main_of(program), program.weights)
    assert function == main_of(program) and weights is program.weights


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"element": TensorProto.DOUBLE}, "TensorRT has no element type f64"),
        ({"activations": ["Affine"]}, "activation kAFFINE without activation_alpha"),
        ({"activations": ["ThresholdedRelu"]}, "activation kTHRESHOLDED_RELU without activation_alpha"),
        ({"activations": ["ScaledTanh"], "activation_alpha": [1.0]}, "kSCALED_TANH without activation_beta"),
        ({"activations": ["Cosine"]}, "activation 'Cosine'"),
        ({"activations": ["Tanh"], "directions": 2}, "1 activations; it takes 2"),
        ({"direction": "sideways"}, "direction = 'sideways'"),
    ],
)
def test_refusals(options: dict[str, Any], reason: str) -> None:
    """What the dialect cannot say stays an onnx op, with the reason."""
    program = converted(recurrent("RNN", **options))
    assert reason in fallbacks(program)["onnx.rnn"]
