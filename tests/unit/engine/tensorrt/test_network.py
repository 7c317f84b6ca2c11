"""Functions as networks: names, results, profiles, refusals, and what is left behind (nothing)."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from torch_mlir import ir
from torch_mlir.dialects import func

from mlirtrt_nb.engine.base import BuildRequest, Engine
from mlirtrt_nb.engine.tensorrt import TensorRtBuilder
from mlirtrt_nb.errors import EngineBuildError, ShapeError, TargetError
from mlirtrt_nb.ir.builder import create
from mlirtrt_nb.ir.constants import attribute_of
from mlirtrt_nb.ir.context import new_context

from .trt_cases import Case, build_case, build_cases, tensor

Values = Sequence[ir.Value]
RELU = {"activationType": "kRELU"}


def build(
    inputs: list[str],
    results: list[str],
    body: Callable[[Values], Values],
    *,
    arg_attrs: str | None = None,
    res_attrs: str | None = None,
    weights: dict[str, np.ndarray] | None = None,
    **request: object,
) -> Engine:
    """The engine of a function whose ops `body` makes from its arguments."""
    with new_context(), ir.Location.name("source"):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", ([tensor(t) for t in inputs], [tensor(t) for t in results]))
            for key, text in (("arg_attrs", arg_attrs), ("res_attrs", res_attrs)):
                if text is not None:
                    function.attributes[key] = ir.Attribute.parse(text)
            block = function.add_entry_block()
            with ir.InsertionPoint(block):
                func.ReturnOp(list(body(list(block.arguments))))
        asked = {"target": "sm89", **request}
        return TensorRtBuilder().build(BuildRequest("f", function.operation, weights or {}, **asked))  # type: ignore[arg-type]


def relu(value: ir.Value, shape: str, location: ir.Location | None = None) -> ir.Value:
    return create("tensorrt.activation", [value], RELU, [tensor(shape)], loc=location).result


def test_default_names() -> None:
    """Without names of their own, bindings are arg0.. and result0.., with shape and type."""
    engine = build(["2x3xf32", "2x3xi64"], ["2x3xf32", "2x3xi64"], lambda a: [relu(a[0], "2x3xf32"), a[1]])
    assert [(b.name, b.shape, b.dtype) for b in engine.inputs] == [
        ("arg0", (2, 3), "f32"),
        ("arg1", (2, 3), "i64"),
    ]
    assert [(b.name, b.dtype) for b in engine.outputs] == [("result0", "f32"), ("result1", "i64")]


def test_given_names_are_kept_and_made_different() -> None:
    """`plan.name` names a binding; a result called like an input gets another name."""
    engine = build(
        ["2xf32"],
        ["2xf32", "2xf32"],
        lambda a: [relu(a[0], "2xf32"), a[0]],
        arg_attrs='[{"plan.name" = "x"}]',
        res_attrs='[{"plan.name" = "y, ü"}, {"plan.name" = "x"}]',
    )
    assert [b.name for b in engine.inputs] == ["x"]
    assert [b.name for b in engine.outputs] == ["y, ü", "x_result1"]


def test_arguments_constants_and_twice_returned_values() -> None:
    """Each result is a tensor of its own, although nothing computes it."""

    def body(args: Values) -> Values:
        attribute = ir.Attribute.parse("dense<[1.0, 2.0]> : tensor<2xf32>")
        constant = create("tensorrt.constant", [], {"weights": attribute}, [attribute.type]).result
        value = relu(args[0], "2xf32")
        return [value, value, args[0], args[0], constant, constant]

    engine = build(["2xf32"], ["2xf32"] * 6, body)
    assert [b.name for b in engine.outputs] == [f"result{n}" for n in range(6)]


def test_sources_come_back_from_the_builders_own_layers() -> None:
    """Fused and odd locations are traced through fusion, in order."""

    def body(args: Values) -> Values:
        first = ir.Location.name('conv "1", {x}')
        second = ir.Location.fused([ir.Location.name("relu\nü"), ir.Location.name("bn")])
        kernel = "#= dense<1.0> : tensor<4x3x3x3xf32>"[2:].strip()
        attrs = {
            "kernelStatic": ir.Attribute.parse(kernel),
            "stride": [1, 1],
            "pre_padding": [0, 0],
            "post_padding": [0, 0],
        }
        conv = create("tensorrt.convolution", [args[0]], attrs, [tensor("1x4x6x6xf32")], loc=first).result
        return [relu(conv, "1x4x6x6xf32", second)]

    engine = build(["1x3x8x8xf32"], ["1x4x6x6xf32"], body)
    assert ('conv "1", {x}', "relu\nü", "bn") in [row.sources for row in engine.report.layers]
    assert engine.report.weights_bytes and engine.report.activation_bytes is not None
    assert engine.report.builder.startswith("TensorRT-RTX 1.")
    assert engine.report.build_seconds > 0


def test_dynamic_shapes_and_several_profiles() -> None:
    """Each profile takes its own range."""
    low, high = ((1, 4), (2, 4), (4, 4)), ((8, 4), (16, 4), (32, 4))
    engine = build(["?x4xf32"], ["?x4xf32"], lambda a: [relu(a[0], "?x4xf32")], profiles=((low,), (high,)))
    assert engine.inputs[0].shape == (-1, 4) and engine.outputs[0].shape == (-1, 4)


def test_profiles_from_the_arguments_attributes() -> None:
    """Without profiles in the request, `tensorrt.shape_profile` counts."""
    ranges = ", ".join(f"array<i64: {batch}, 4>" for batch in (1, 2, 8))
    profile = f"[{{tensorrt.shape_profile = #tensorrt.shape_profile<{ranges}>}}]"
    engine = build(["?x4xf32"], ["?x4xf32"], lambda a: [relu(a[0], "?x4xf32")], arg_attrs=profile)
    assert engine.inputs[0].shape == (-1, 4)


def test_an_input_whose_values_decide_a_shape() -> None:
    """Such an input takes a range of values, and is refused without one."""

    def body(args: Values) -> Values:
        return [create("tensorrt.reshape", [args[0], args[1]], {}, [tensor("?x?xf32")]).result]

    inputs, results = ["12xf32", "2xi64"], ["?x?xf32"]
    engine = build(inputs, results, body, profiles=((None, ((1, 1), (3, 4), (12, 12))),))
    assert engine.inputs[1].shape == (2,)
    with pytest.raises(ShapeError, match="values of input 'arg1' decide a shape"):
        build(inputs, results, body)


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ((), "no shape profile"),
        (((1, 4), (2,), (4, 4)), "rank 2, its opt shape"),
        (((1, 4), (2, 5), (4, 4)), "axis 1 of input 'arg0' is 4, its opt shape says 5"),
        (((4, 4), (2, 4), (8, 4)), "min 4, opt 2, max 8 are out of order"),
    ],
)
def test_impossible_profiles(profile: tuple, words: str) -> None:
    """Each mistake in a range is named with its axis and values."""
    profiles = ((profile or None,),)
    with pytest.raises(ShapeError, match=words):
        build(["?x4xf32"], ["?x4xf32"], lambda a: [relu(a[0], "?x4xf32")], profiles=profiles)


def test_a_shared_dimension_name_that_cannot_hold_is_left_out() -> None:
    """One name for dimensions of different ranges does not keep the engine from being built."""
    names = '[{tensorrt.dimension_names = {"0" = "?", "1" = "?"}}]'
    ranges = ((((1, 8), (1, 8), (4, 16)),),)
    engine = build(
        ["?x?xf32"], ["?x?xf32"], lambda a: [relu(a[0], "?x?xf32")], arg_attrs=names, profiles=ranges
    )
    assert engine.inputs[0].shape == (-1, -1)


def test_a_refusal_names_the_op_and_gives_the_builders_words() -> None:
    """The error has the message, the op's source, and its location for whoever moves it elsewhere."""
    with pytest.raises(EngineBuildError, match="has no runners that implement it") as caught:
        build_case(Case("non_zero", ["2x8xf32"], {}, ["2x?xi32"]))
    assert caught.value.where is not None and "tensorrt.non_zero" in caught.value.where
    assert caught.value.location is not None and "non_zero 2x?xi32" in caught.value.location
    assert "/_src/" not in str(caught.value)


def test_a_wrong_result_type_is_found_before_the_build() -> None:
    """A type in the IR that TensorRT would not give is said, with both types."""
    with pytest.raises(EngineBuildError, match="is i32 in the IR, f32 in TensorRT"):
        build_case(Case("activation", ["2x3xf32"], RELU, ["2x3xi32"]))


def test_inputs_that_cannot_be() -> None:
    """An input of too high a rank, of a type that TensorRT lacks, or of a name that it refuses, is said."""
    shape = "x".join("1" * 9) + "xf32"
    with pytest.raises(EngineBuildError, match="input 'arg0' has rank 9"):
        build([shape], [shape], lambda a: [a[0]])
    with pytest.raises(EngineBuildError, match="no element type f64"):
        build(["2xf64"], ["2xf64"], lambda a: [a[0]])
    long = f'[{{"plan.name" = "{"n" * 5000}"}}]'
    with pytest.raises(EngineBuildError, match="exceeds the limit") as caught:
        build(["2xf32"], ["2xf32"], lambda a: [relu(a[0], "2xf32")], arg_attrs=long)
    assert caught.value.where == "the engine's inputs"


def test_an_op_of_another_dialect_is_refused() -> None:
    """Only tensorrt ops become layers."""
    with pytest.raises(EngineBuildError, match="addf is not an op that becomes a layer"):
        build(
            ["2xf32"],
            ["2xf32"],
            lambda a: [ir.Operation.create("arith.addf", [a[0].type], [a[0], a[0]]).result],
        )


def test_plugins_are_refused_by_the_ahead_of_time_flavour() -> None:
    """TensorRT-RTX has no plugins, and says so by name."""
    attrs = {
        "plugin_name": "Scale",
        "plugin_version": "1",
        "plugin_namespace": "",
        "creator_params": "#= {alpha = 1.0 : f32}",
    }
    with pytest.raises(EngineBuildError, match="TensorRT-RTX has no plugins"):
        build_case(Case("opaque_plugin", [["2x3xf32"]], attrs, ["2x3xf32"]))


def test_nothing_reaches_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither a refusal nor a build with warnings writes to the terminal; the warnings are in the report."""
    experts = ["1x8x16xf32", "1x8x2xi32", "1x8x2xf32", "4x16x32xf32", "4x16x32xf32", "4x32x16xf32"]
    with pytest.raises(EngineBuildError):
        build_case(Case("moe", experts + [None] * 4, {}, ["1x8x16xf32"]))
    leaky = {"activationType": "kLEAKY_RELU", "alpha": 0.1}
    engine = build_case(Case("activation", ["2x3xi8"], leaky, ["2x3xi8"]))
    assert capfd.readouterr() == ("", "")
    assert any("precision" in message for message in engine.report.messages)


def test_what_the_user_prints_meanwhile_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """Output of the progress callback reaches the terminal during the build."""

    def progress(phase: str, done: int, total: int) -> bool:
        print("phase", phase)
        return True

    build(["2xf32"], ["2xf32"], lambda a: [relu(a[0], "2xf32")], progress=progress)
    assert "phase Building engine" in capfd.readouterr().out


def test_an_engine_is_a_value() -> None:
    """It survives pickling, blob and report included."""
    engine = build_cases([Case("activation", ["2x3xf32"], RELU, ["2x3xf32"])])
    copy = pickle.loads(pickle.dumps(engine))
    assert bytes(copy.blob) == bytes(engine.blob)
    assert copy.report == engine.report and copy.inputs == engine.inputs


def test_builds_are_repeatable() -> None:
    """The same function gives the same bytes, in one process, again and again."""
    weights: dict[str, np.ndarray] = {}

    def body(args: Values) -> Values:
        kernel = attribute_of(np.ones((4, 3, 3, 3), np.float32), weights, "k")
        attrs = {"kernelStatic": kernel, "stride": [1, 1], "pre_padding": [0, 0], "post_padding": [0, 0]}
        return [create("tensorrt.convolution", [args[0]], attrs, [tensor("1x4x6x6xf32")]).result]

    def blob() -> bytes:
        weights.clear()
        return bytes(build(["1x3x8x8xf32"], ["1x4x6x6xf32"], body, weights=weights).blob)

    assert blob() == blob()


def test_a_target_that_cannot_be_built() -> None:
    """The target is checked before anything is built."""
    with pytest.raises(TargetError, match="sm90"):
        build(["2xf32"], ["2xf32"], lambda a: [relu(a[0], "2xf32")], target="sm90")


def test_metadata_is_json_in_the_engine() -> None:
    """The names stand in the engine's own metadata as JSON, for other tools."""
    engine = build(["2xf32"], ["2xf32"], lambda a: [relu(a[0], "2xf32", ir.Location.name("n1"))])
    assert json.loads('["n1"]') == list(engine.report.layers[0].sources)
