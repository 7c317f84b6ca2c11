"""Sessions on the host."""

from __future__ import annotations

import gc
import pickle
import threading
from copy import copy
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import mlirtrt_nb as mt
from mlirtrt_nb.engine.tensorrt.flavor import gpu_problem
from mlirtrt_nb.errors import InputError, MlirTrtError, OptionError, TargetError
from mlirtrt_nb.passes.plan.plan_schedule import schedule
from mlirtrt_nb.plan import Plan
from tests.unit.outlined import Outline, cpu_engine

from .plans import SHAPE, dynamic, expected_three, three_steps


def _x(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(SHAPE, dtype=np.float32)


def test_calls_by_position_and_name() -> None:
    """Three engines in a row give what NumPy gives, by position, by keyword and by dictionary."""
    session = three_steps().session("cpu", threads=1)
    x = _x()
    y, s = expected_three(x)
    for outputs in (session(x), session(x=x)):
        assert outputs._fields == ("y", "s")
        np.testing.assert_allclose(outputs.y, y, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(outputs.s, s, rtol=1e-6, atol=1e-6)
    assert list(session.run({"x": x})) == ["y", "s"]


def test_a_profile_takes_inputs_by_name_or_in_order() -> None:
    """Layers are timed on a mapping, a list or the only array; what is none of them is refused in one error."""
    session = three_steps().session("cpu", threads=1)
    for given in ({"x": _x()}, [_x()], _x()):
        layers = session.profile(given, 2)
        assert layers and all(len(layer.times_ms) == 2 for layer in layers)
        assert session.timed(given)["Latency"] > 0
    with pytest.raises(InputError, match="there is no input 'z'"):
        session.profile({"z": _x()})
    with pytest.raises(InputError, match="inputs are arrays by name or in order, not a str"):
        session.profile("x")
    with pytest.raises(OptionError, match="runs must be a number of 1 or more, got 0"):
        session.profile({"x": _x()}, 0)


def test_outputs_are_the_callers_own() -> None:
    """A later call does not write over the outputs of an earlier one, nor does the end of the session."""
    session = three_steps().session("cpu", threads=1)
    first = session(_x(1))
    kept = first.y.copy(), first.s.copy()
    session(_x(2))
    session.close()
    del session
    gc.collect()
    np.testing.assert_array_equal(first.y, kept[0])
    np.testing.assert_array_equal(first.s, kept[1])
    first.y[:] = 0  # and they can be written


def test_one_output_comes_bare() -> None:
    """A program of one output returns the array itself."""
    session = dynamic().session("cpu", threads=1)
    x = np.ones((2, 8), np.float32)
    assert isinstance(session(x, x), np.ndarray)


def test_an_input_of_any_name() -> None:
    """An input may be called as Python calls a method's own object."""
    node = helper.make_node("Relu", ["self"], ["y"])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("self", "y")]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = mt.compile(proto, cache=False).session("cpu", threads=1)
    x = np.array([-1, 2], np.float32)
    np.testing.assert_array_equal(session(self=x), [0, 2])
    with pytest.raises(InputError, match="is a dict") as caught:
        session({"self": x})
    assert caught.value.hint == "run({...}) takes inputs by name"


def test_shapes_may_change_from_call_to_call() -> None:
    """Batches 1, 2 and 7 of one Plan agree with NumPy, in any order."""
    session = dynamic().session("cpu", threads=1)
    for batch in (1, 7, 2, 7, 1):
        x = np.random.default_rng(batch).standard_normal((batch, 8), dtype=np.float32)
        np.testing.assert_array_equal(session(x, z=-x), np.maximum(x, 0) - x)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "expected 1 input, got 0"),
        ((1, 2), {}, "expected 1 input, got 2"),
        ((), {"X": 1}, r"there is no input 'X'\n  hint: inputs: x: 4x8xf32"),
        ((_x(),), {"x": _x()}, "input 'x' is given twice"),
        ((_x().astype(np.float64),), {}, r"dtype float64, expected float32\n  hint: x.astype\('float32'\)"),
        ((_x()[0],), {}, "input 'x' has shape 8, expected 4x8"),
        ((_x().T,), {}, "input 'x' has shape 8x4, expected 4x8"),
        (([[1, 2], [3]],), {}, "input 'x' cannot be read as an array"),
        (("text",), {}, "input 'x' is a str, expected an array of float32"),
    ],
)
def test_wrong_inputs(args: Any, kwargs: Any, message: str) -> None:
    """A wrong count, name, dtype, rank or shape is one InputError that says what was expected."""
    session = three_steps().session("cpu", threads=1)
    with pytest.raises(InputError, match=message):
        session(*args, **kwargs)
    np.testing.assert_allclose(session(_x()).y, expected_three(_x())[0], rtol=1e-6, atol=1e-6)


def test_missing_and_misspelt_names() -> None:
    """A dictionary that lacks an input, or spells one wrongly, is told so."""
    session = dynamic().session("cpu", threads=1)
    x = np.ones((2, 8), np.float32)
    with pytest.raises(InputError, match="missing input 'z'"):
        session.run({"x": x})
    with pytest.raises(InputError, match=r"there is no input 'zz'\n  hint: did you mean 'z'\?"):
        session.run({"x": x, "zz": x})


def test_shapes_outside_the_profile() -> None:
    """A batch beyond the profile names the axis and the range; two batches of one name must agree."""
    session = dynamic().session("cpu", threads=1)
    nine = np.ones((9, 8), np.float32)
    with pytest.raises(
        InputError, match="input 'x' has shape 9x8: axis 0 is 9, the Plan was compiled for 1 to 8"
    ):
        session(nine, nine)
    with pytest.raises(InputError, match="dimension 'batch' is 2 in input 'x' but 3 in 'z'"):
        session(nine[:2], nine[:3])
    with pytest.raises(InputError, match="input 'x' has shape 2x7, expected batchx8"):
        session(nine[:2, :7], nine[:2])


def test_what_counts_as_an_array() -> None:
    """Strided arrays, read-only arrays and anything with DLPack or a buffer are taken."""

    class Exporter:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    session = three_steps().session("cpu", threads=1)
    x = _x()
    strided = np.repeat(x, 2, axis=1)[:, ::2]
    frozen = x.copy()
    frozen.flags.writeable = False
    for given in (strided, frozen, Exporter(x), memoryview(x), np.asfortranarray(x)):
        np.testing.assert_allclose(session(given).y, expected_three(x)[0], rtol=1e-6, atol=1e-6)


def test_an_array_on_a_gpu_is_refused() -> None:
    """An input in GPU memory is told where it lies."""

    class OnGpu:
        def __dlpack__(self, **options: Any) -> Any:
            raise AssertionError("must not be asked")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    with pytest.raises(InputError, match="input 'x' is on device 0, the session reads host memory"):
        three_steps().session("cpu", threads=1)(OnGpu())


def test_bound_buffers_are_read_and_written_in_place() -> None:
    """`bind` once, then each `execute` reads the input where it is and writes the output where it is."""
    session = three_steps().session("cpu", threads=1)
    x, y, s = _x(), np.empty(SHAPE, np.float32), np.empty(SHAPE, np.float32)
    session.bind(x=x, y=y, s=s)
    for seed in (1, 2, 3):
        x[:] = _x(seed)
        outputs = session.execute()
        assert outputs.y is y and outputs.s is s
        np.testing.assert_allclose(y, expected_three(_x(seed))[0], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(s, expected_three(_x(seed))[1], rtol=1e-6, atol=1e-6)


def test_execute_allocates_nothing_of_its_own() -> None:
    """A thousand bound executions leave Python's memory where it was."""
    import tracemalloc

    session = three_steps().session("cpu", threads=1).bind(x=_x())
    session.execute()
    tracemalloc.start()
    session.execute()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        session.execute()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 4096


def test_an_unbound_output_gets_memory_of_its_own() -> None:
    """With only the input bound, every execution writes to the same arrays."""
    session = three_steps().session("cpu", threads=1).bind({"x": _x()})
    assert session.execute().y is session.execute().y


def test_rebinding() -> None:
    """What is bound anew counts from then on; what was bound before stays."""
    session = three_steps().session("cpu", threads=1)
    y = np.empty(SHAPE, np.float32)
    session.bind(x=_x(1), y=y).execute()
    session.bind(x=_x(2)).execute()
    np.testing.assert_allclose(y, expected_three(_x(2))[0], rtol=1e-6, atol=1e-6)


def test_bound_shapes_that_vary() -> None:
    """A bound output of a varying shape is written; an unbound one is allocated anew by its engine."""
    session = dynamic().session("cpu", threads=1)
    x, y = np.ones((3, 8), np.float32), np.empty((3, 8), np.float32)
    session.bind(x=x, z=x)
    assert session.execute().shape == (3, 8)
    session.bind(y=y).execute()
    np.testing.assert_array_equal(y, 2 * x)
    session.bind(y=np.empty((2, 8), np.float32))
    with pytest.raises(InputError, match="has shape 2x8, but this call gives 3x8"):
        session.execute()


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        ({"q": 1}, "there is no input or output 'q'"),
        ({"y": [1.0]}, "output 'y' must be bound to an array, not list"),
        ({"y": np.empty(SHAPE)}, "output 'y' is bound to dtype float64, expected float32"),
        ({"y": np.empty((4, 7), np.float32)}, "output 'y' is bound to shape 4x7, expected 4x8"),
        ({"y": np.empty((8, 4), np.float32).T}, "output 'y' is not contiguous"),
        ({"y": np.broadcast_to(np.float32(0), SHAPE)}, "output 'y' is bound to memory that cannot be written"),
        ({"x": _x().T.copy().T}, "input 'x' is not contiguous and cannot be bound in place"),
    ],
)
def test_wrong_buffers(bound: dict[str, Any], message: str) -> None:
    """A buffer that cannot be used in place says why."""
    session = three_steps().session("cpu", threads=1).bind(x=_x())
    with pytest.raises(InputError, match=message):
        session.bind(bound).execute() if "x" in bound else session.bind(**bound).execute()


def test_outputs_that_share_memory() -> None:
    """An output in the memory of another buffer would be written over or read too late: it is refused."""
    room = np.empty(96, np.float32)
    low, middle, high = (room[start : start + 32].reshape(SHAPE) for start in (0, 31, 63))
    session = three_steps().session("cpu", threads=1)
    for bound, message in (
        ({"x": _x(), "y": low, "s": low}, "output 'y' is bound to memory of output 's'"),
        ({"x": _x(), "y": low, "s": middle}, "output 'y' is bound to memory of output 's'"),
        ({"x": middle, "y": high, "s": low}, "output 's' is bound to memory of input 'x'"),
    ):
        with pytest.raises(InputError, match=message):
            session.bind(**bound).execute()
    session.bind(x=_x(), y=low, s=room[32:64].reshape(SHAPE))
    np.testing.assert_allclose(session.execute().y, expected_three(_x())[0], rtol=1e-6, atol=1e-6)


def test_buffers_that_are_no_mapping() -> None:
    """Buffers without names are refused in a word."""
    with pytest.raises(InputError, match="outputs are a mapping from name to buffer, not a ndarray"):
        three_steps().session("cpu", threads=1).bind({"x": _x()}, _x())


def test_a_mask_is_not_lost() -> None:
    """A masked array is refused; one that masks nothing is taken as the array that it is."""
    session = three_steps().session("cpu", threads=1)
    with pytest.raises(InputError, match="input 'x' is a masked array, whose mask would be lost"):
        session(np.ma.masked_array(_x(), mask=_x() > 0))
    np.testing.assert_array_equal(session(np.ma.masked_array(_x())).y, session(_x()).y)


def test_an_object_that_raises() -> None:
    """What an object's own protocol raises becomes a short error that names the input."""

    class Broken:
        def __dlpack_device__(self) -> tuple[int, int]:
            raise RuntimeError("freed\nalready")

    with pytest.raises(InputError, match="input 'x' cannot be read as an array: freed already"):
        three_steps().session("cpu", threads=1)(Broken())


def test_executing_unbound() -> None:
    """Without a bound input there is nothing to execute."""
    with pytest.raises(InputError, match="input 'x' is not bound"):
        three_steps().session("cpu", threads=1).execute()


def test_threads_share_a_session() -> None:
    """Calls from several threads each get the outputs of their own inputs."""
    session = three_steps().session("cpu", threads=1)
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = _x(seed)
        for _ in range(50):
            if not np.allclose(session(x).y, expected_three(x)[0], rtol=1e-6, atol=1e-6):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_closed_session() -> None:
    """A closed session says so; as a context manager it closes itself."""
    with three_steps().session("cpu", threads=1) as session:
        session(_x())
    with pytest.raises(MlirTrtError, match="the session is closed"):
        session(_x())


def test_inputs_and_constants_as_outputs() -> None:
    """An input that is an output, and a constant that is one, come back as arrays of their own."""
    from mlirtrt_nb.ir.builder import create
    from mlirtrt_nb.ir.constants import attribute_of

    outline = Outline()
    weights: dict[str, np.ndarray] = {}
    large, small = np.arange(32, dtype=np.float32).reshape(SHAPE), np.ones((2, 2), np.float32)

    def body(call, arguments):
        constants = [
            create("tensorrt.constant", [], {"weights": attribute_of(a, weights)}).result
            for a in (large, small)
        ]
        return [arguments[0], arguments[0], *constants]

    program = outline.main({"x": SHAPE}, {"a": SHAPE, "b": SHAPE, "c": SHAPE, "d": (2, 2)}, body)
    schedule(program, "cpu", ["cpu"])
    session = Plan(program.module, [], weights).session("cpu", threads=1)
    x = _x()
    a, b, c, d = session(x)
    np.testing.assert_array_equal(c, large)
    np.testing.assert_array_equal(d, small)
    for array in (a, b):
        np.testing.assert_array_equal(array, x)
        assert not np.shares_memory(array, x)
    assert not np.shares_memory(a, b) and not np.shares_memory(c, large)


def test_constants_of_several_devices_keep_their_values() -> None:
    """Constants in the text of two devices' programs, and weights called like them, are not mixed."""
    from mlirtrt_nb.ir.builder import create
    from mlirtrt_nb.ir.constants import attribute_of

    outline = Outline()
    path = outline.engine("main_0", [SHAPE], [SHAPE])
    weights = {f"constant{n}": np.full(3, n, np.float32) for n in range(4)}

    def body(call, arguments):
        made = [np.full((1,) * rank, rank, np.float32) for rank in range(1, 5)]
        given = [
            create("tensorrt.constant", [], {"weights": attribute_of(a, {}, "number")}).result for a in made
        ]
        return [*call(path, arguments, [SHAPE]), *given]

    outputs = {"y": SHAPE, **{f"c{rank}": (1,) * rank for rank in range(1, 5)}}
    program = outline.main({"x": SHAPE}, outputs, body)
    schedule(program, "cpu", ["cpu"])
    schedule(program, "cuda", ["sm89"])
    plan = Plan(program.module, [], weights)
    for found in plan.schedules.values():
        arrays = [plan.weights[buffer.weight] for buffer in found.buffers if buffer.role == "constant"]
        assert [array.shape for array in arrays] == [(1,) * rank for rank in range(1, 5)]
        assert [array.item() for array in map(np.ravel, arrays)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "number", [TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16, TensorProto.BFLOAT16]
)
def test_element_types(number: int) -> None:
    """Arrays of other element types go in and come out, those that NumPy lacks included."""
    from mlirtrt_nb.ir import dtypes

    kind = dtypes.by_onnx(number)
    program = _typed_identity(kind.mlir)
    engine = cpu_engine("host_0", [("Identity", "x", "y")], {"x": (3,)}, {"y": (3,)}, dtype=number)
    session = Plan(program, [engine]).session("cpu", threads=1)
    x = np.array([0, 1, 1]).astype(kind.np)
    y = session(x)
    assert y.dtype == kind.np
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32))


def _typed_identity(element: str) -> Any:
    """A module whose program calls @host_0 from tensor<3 x element> to the same."""
    from torch_mlir import ir

    from mlirtrt_nb.ir.context import new_context
    from mlirtrt_nb.program import Program

    text = f"""
    func.func @main(%x: tensor<3x{element}> {{plan.name = "x"}}) -> (tensor<3x{element}> {{plan.name = "y"}}) {{
      %0 = func.call @host_0(%x) : (tensor<3x{element}>) -> tensor<3x{element}>
      return %0 : tensor<3x{element}>
    }}
    func.func private @host_0(tensor<3x{element}>) -> tensor<3x{element}>
    """
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse(text).operation.opview
    program = Program(module)
    schedule(program, "cpu", ["cpu"])
    return program.module


def test_sequences_between_host_functions() -> None:
    """A sequence that one engine gives and another takes goes between them as it is."""
    from onnx import helper
    from torch_mlir import ir

    from mlirtrt_nb.engine.base import Binding, Engine
    from mlirtrt_nb.ir.context import new_context
    from mlirtrt_nb.program import Program

    seq, tensor = "!onnx.seq<tensor<2xf32>>", "tensor<6xf32>"
    text = f"""
    func.func @main(%x: {tensor}) -> ({tensor}, {seq}) {{
      %0 = func.call @host_0(%x) : ({tensor}) -> {seq}
      %1 = func.call @host_1(%0) : ({seq}) -> {tensor}
      return %1, %0 : {tensor}, {seq}
    }}
    func.func private @host_0({tensor}) -> {seq}
    func.func private @host_1({seq}) -> {tensor}
    """
    with new_context(), ir.Location.unknown():
        program = Program(ir.Module.parse(text).operation.opview)
    schedule(program, "cpu", ["cpu"])
    x = helper.make_tensor_value_info("x", 1, [6])
    s = helper.make_tensor_sequence_value_info("s", 1, [2])
    two = helper.make_tensor("two", 7, [], [2])
    models = {
        "host_0": helper.make_graph(
            [helper.make_node("SplitToSequence", ["x", "two"], ["s"], axis=0)], "g", [x], [s], [two]
        ),
        "host_1": helper.make_graph(
            [helper.make_node("ConcatFromSequence", ["s"], ["x"], axis=0)], "g", [s], [x]
        ),
    }
    engines = []
    for name, graph in models.items():
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        bindings = [tuple(Binding(v.name, (), "f32") for v in side) for side in (graph.input, graph.output)]
        engines.append(Engine(name, "onnxruntime", "cpu", model.SerializeToString(), *bindings))
    session = Plan(program.module, engines).session("cpu", threads=1)
    given = np.arange(6, dtype=np.float32)
    y, parts = session(given)
    np.testing.assert_array_equal(y, given)
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3], [4, 5]]


def test_names_that_are_no_identifiers() -> None:
    """Outputs called "495" or "class" are reached as fields of a name that is one, and survive pickling."""
    from mlirtrt_nb.runtime.session import _tuple_class

    made = _tuple_class(("495", "class", "a.b", "_x", "count", "a/b"))._make(range(6))
    assert made._fields == ("output_495", "output_class", "a_b", "x", "count_4", "a_b_5")
    assert pickle.loads(pickle.dumps(made)) == made


def test_which_device() -> None:
    """Asking for a device that the Plan, or this machine, lacks says what to do."""
    with pytest.raises(OptionError, match="unknown device 'gpu'"):
        three_steps().session("gpu")
    with pytest.raises(TargetError, match="the Plan cannot run on cuda: it was compiled for cpu"):
        three_steps().session("cuda")
    only_gpu = three_steps(("cuda",))
    with pytest.raises(TargetError, match=r"cannot run on cpu: it was compiled for sm89\n  hint: .* has cpu"):
        only_gpu.session("cpu", threads=1)
    if gpu_problem():
        assert three_steps(("cpu", "cuda")).session().device == "cpu"
        with pytest.raises(TargetError, match="this machine cannot run on cuda: no NVIDIA driver"):
            only_gpu.session()


def test_a_missing_engine() -> None:
    """A Plan that lacks the engine of a step says which."""
    plan = copy(three_steps())
    plan.engine_values = plan.engine_values[:1]
    with pytest.raises(TargetError, match="no engine for host_0, trt_engines::main_1 that runs on cpu"):
        plan.session("cpu", threads=1)


def test_the_session_says_what_it_is() -> None:
    """Its representation has the device and the signature."""
    assert repr(dynamic().session("cpu", threads=1)) == (
        "<Session 'dynamic' on cpu: (x: batchx8xf32, z: batchx8xf32) -> (y: ?x8xf32)>"
    )
