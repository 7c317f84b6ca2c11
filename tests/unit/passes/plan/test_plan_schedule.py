"""plan-schedule: from calls on values to steps on memory."""

from __future__ import annotations

import itertools

import pytest
from onnx import parser
from torch_mlir import ir

from mlirtrt_nb.errors import PassError
from mlirtrt_nb.frontends.onnx import from_onnx
from mlirtrt_nb.ir.verifier import errors_of
from mlirtrt_nb.passes.base import PassContext, available
from mlirtrt_nb.passes.pipeline import Pipeline
from mlirtrt_nb.passes.plan.plan_schedule import programs, schedule
from mlirtrt_nb.program import Program
from mlirtrt_nb.runtime.reader import read_schedule
from mlirtrt_nb.runtime.schedule import Schedule, Step
from tests.unit.outlined import Outline

SHAPE = (4, 8)


def _chain(length: int = 3) -> Program:
    """x -> engine main_0 -> host_0 -> engine main_1 -> y."""
    outline = Outline()
    paths = [outline.engine("main_0", [SHAPE], [SHAPE]), outline.host("host_0", [SHAPE], [SHAPE])]
    paths.append(outline.engine("main_1", [SHAPE], [SHAPE]))

    def body(call, arguments):
        value = arguments[0]
        for path in paths[:length]:
            value = call(path, [value], [SHAPE])[0]
        return [value]

    return outline.main({"x": SHAPE}, {"y": SHAPE}, body)


def _read(program: Program, device: str, **options) -> Schedule:
    op = schedule(program, device, ["cpu" if device == "cpu" else "sm89"], **options)
    with program.context:
        assert program.module.operation.verify()
        assert errors_of(op) == []
    return read_schedule(op, {})


def _ops(made: Schedule) -> list[str]:
    names = [buffer.name for buffer in made.buffers]
    return [_spell(step, names) for step in made.steps]


def _spell(step: Step, names: list[str]) -> str:
    ins, outs = (", ".join(names[n] for n in side) for side in (step.ins, step.outs))
    callee = f" {step.callee}" if step.callee else ""
    scratch = "" if step.workspace is None else f" in {names[step.workspace]}"
    return f"{step.kind}{callee}({ins}) -> ({outs}){scratch}"


def test_on_the_host_everything_is_a_call() -> None:
    """On the CPU inputs and outputs are the caller's own, and only what lies between has buffers."""
    made = _read(_chain(), "cpu")
    assert _ops(made) == [
        "call trt_engines::main_0(x) -> (main_0)",
        "call host_0(main_0) -> (host_0)",
        "call trt_engines::main_1(host_0) -> (y)",
    ]
    assert made.arena_bytes == made.peak_live_bytes == 2 * 128
    assert {buffer.space for buffer in made.buffers} == {"host"}
    assert [(buffer.first, buffer.last) for buffer in made.buffers] == [(0, 0), (0, 1), (1, 2), (2, 2)]


def test_on_the_device_the_host_waits_before_it_reads() -> None:
    """On CUDA, engines are enqueued with scratch memory; a host part reads after a copy and a wait."""
    made = _read(_chain(), "cuda", workspaces={"trt_engines::main_0": 5000})
    assert _ops(made) == [
        "copy(x) -> (x.device)",
        "enqueue trt_engines::main_0(x.device) -> (main_0.device) in main_0.workspace",
        "copy(main_0.device) -> (main_0.host)",
        "synchronize() -> ()",
        "call host_0(main_0.host) -> (host_0.host)",
        "copy(host_0.host) -> (host_0.device)",
        "enqueue trt_engines::main_1(host_0.device) -> (main_1.device)",
        "copy(main_1.device) -> (y)",
        "synchronize() -> ()",
    ]
    assert made.staging_bytes == 2 * 128
    spaces = {buffer.name: buffer.space for buffer in made.buffers}
    assert spaces["main_0.host"] == "host_pinned" and spaces["main_0.device"] == "device"


def test_buffers_that_live_together_do_not_overlap() -> None:
    """In every program, two buffers of one space share bytes only if they are never live at one step."""
    for device in ("cpu", "cuda"):
        made = _read(_chain(), device, workspaces={"trt_engines::main_0": 5000, "trt_engines::main_1": 900})
        placed = [buffer for buffer in made.buffers if buffer.offset is not None]
        assert placed
        for a, b in itertools.combinations(placed, 2):
            if a.space == b.space and a.first <= b.last and b.first <= a.last:
                assert a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
            if a.space == b.space and a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes:
                assert a.alias is not None and a.alias == b.alias


def test_two_device_results_to_host_and_output() -> None:
    """A device result that is an output and that a host part reads is copied to the host once."""
    outline = Outline()
    engine, host = outline.engine("main_0", [SHAPE], [SHAPE]), outline.host("host_0", [SHAPE], [SHAPE])

    def body(call, arguments):
        (a,) = call(engine, arguments, [SHAPE])
        (b,) = call(host, [a], [SHAPE])
        return [a, b]

    made = _read(outline.main({"x": SHAPE}, {"a": SHAPE, "b": SHAPE}, body), "cuda")
    assert _ops(made) == [
        "copy(x) -> (x.device)",
        "enqueue trt_engines::main_0(x.device) -> (main_0.device)",
        "copy(main_0.device) -> (a)",
        "synchronize() -> ()",
        "call host_0(a) -> (b)",
    ]


def test_inputs_and_values_returned_twice_are_copied() -> None:
    """Each output has memory of its own, also when it is an input, or the same value as another output."""
    outline = Outline()
    engine = outline.engine("main_0", [SHAPE], [SHAPE])

    def body(call, arguments):
        (a,) = call(engine, arguments, [SHAPE])
        return [arguments[0], a, a]

    program = outline.main({"x": SHAPE}, {"i": SHAPE, "a": SHAPE, "b": SHAPE}, body)
    assert _ops(_read(program, "cpu")) == [
        "call trt_engines::main_0(x) -> (a)",
        "copy(x) -> (i)",
        "copy(a) -> (b)",
    ]
    assert _ops(_read(program, "cuda"))[2:] == [
        "copy(main_0.device) -> (a)",
        "copy(main_0.device) -> (b)",
        "synchronize() -> ()",
        "copy(x) -> (i)",
    ]


def test_shapes_that_vary() -> None:
    """The CPU engine allocates what varies; on the device the largest shape of the profiles is placed."""
    outline = Outline()
    shape = (-1, 8)
    engine = outline.engine("main_0", [shape], [shape])
    host = outline.host("host_0", [shape], [shape])

    def body(call, arguments):
        return call(host, call(engine, arguments, [shape]), [shape])

    program = outline.main({"x": shape}, {"y": shape}, body, dims={"x": {0: "batch"}})
    profiles = [{"x": ((1, 8), (2, 8), (4, 8))}, {"x": ((1, 8), (1, 8), (6, 8))}]
    host_made = _read(program, "cpu", profiles=profiles)
    assert [buffer.offset for buffer in host_made.buffers] == [None, None, None]
    assert host_made.inputs[0].dims == {0: "batch"}
    assert host_made.inputs[0].ranges == (((1, 8), (2, 8), (4, 8)), ((1, 8), (1, 8), (6, 8)))
    device_made = _read(program, "cuda", profiles=profiles)
    sizes = {buffer.name: buffer.bytes for buffer in device_made.buffers}
    assert sizes["x.device"] == 6 * 8 * 4
    assert sizes["main_0.device"] is None


def test_an_engine_profile_bounds_what_it_reads() -> None:
    """An intermediate's largest shape comes from the profile of the engine that reads it."""
    from mlirtrt_nb.dialects.tensorrt.profiles import shape_profile
    from mlirtrt_nb.ir.symbols import lookup

    outline = Outline()
    shape = (-1, 8)
    first, second = (outline.engine(name, [shape], [shape]) for name in ("main_0", "main_1"))
    program = outline.main(
        {"x": shape}, {"y": shape}, lambda call, a: call(second, call(first, a, [shape]), [shape])
    )
    with program.context:
        profile = {"tensorrt.shape_profile": shape_profile((1, 8), (2, 8), (3, 8))}
        lookup(program.module, second).arg_attrs = ir.ArrayAttr.get([ir.DictAttr.get(profile)])
    made = _read(program, "cuda", profiles=[{"x": ((1, 8), (2, 8), (3, 8))}])
    assert {b.name: b.bytes for b in made.buffers}["main_0.device"] == 3 * 8 * 4


def test_the_pass_makes_a_program_for_each_kind_of_device() -> None:
    """As a pass it writes @main_cpu and @main_cuda from the targets and takes @main away."""
    program = _chain()
    available()["plan-schedule"]().apply(program, PassContext(("cpu", "sm89", "sm120")))
    found = programs(program.module)
    assert list(found) == ["cpu", "cuda"]
    assert read_schedule(found["cuda"], {}).targets == ("sm89", "sm120")
    assert "func.func @main(" not in str(program.module)


def test_a_schedule_survives_json() -> None:
    """A schedule written as JSON and read back is the same."""
    import json

    made = _read(_chain(), "cuda", workspaces={"trt_engines::main_0": 5000})
    assert Schedule.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_ops_left_in_main_are_refused() -> None:
    """An op that was not outlined is named, with what to run first."""
    outline = Outline()

    def body(call, arguments):
        return [ir.Operation.create("onnx.relu", [arguments[0].type], [arguments[0]]).result]

    program = outline.main({"x": SHAPE}, {"y": SHAPE}, body)
    with pytest.raises(PassError, match=r"@main still holds onnx\.Relu") as caught:
        schedule(program, "cpu", ["cpu"])
    assert "plan-outline-clusters" in str(caught.value)


def test_a_copy_has_the_source_of_its_value() -> None:
    """A copy to the host names the node that made the value; one of an input, the node that reads it first."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> main (float[4] x, float[4] z) => (float[4] y)
        { a = Relu(x)  b = Tanh(a)  c = Add(b, z)  y = Neg(c) }"""
    )
    steps = Pipeline.parse("onnx-to-tensorrt,plan-clustering,plan-outline-clusters")
    made = _read(steps.run(from_onnx(model), PassContext(("sm89",))).program, "cuda")
    names = [buffer.name for buffer in made.buffers]
    copies = {names[step.outs[0]]: step.sources for step in made.steps if step.kind == "copy"}
    assert copies == {"x.device": ("a",), "z.device": ("c",), "y": ("y",)}
