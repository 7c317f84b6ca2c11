"""The CUDA program's steps, on a stand-in for the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlirtrt_nb.errors import InputError, TargetError
from mlirtrt_nb.passes.plan.plan_schedule import schedule
from mlirtrt_nb.plan import Plan
from mlirtrt_nb.runtime.device_array import DeviceArray, device_array
from mlirtrt_nb.runtime.devices import matching_target
from mlirtrt_nb.runtime.session import Session
from tests.unit.outlined import Outline, cpu_engine

from .plans import SHAPE, expected_three, three_steps
from .stand_in import LazyDevice, array_at, cuda_program


def _x(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(SHAPE, dtype=np.float32)


def test_engines_and_host_parts_take_turns() -> None:
    """Device, host, device: copies and waits stand where they are needed, call after call."""
    session = Session(cuda_program(three_steps(("cuda",)), LazyDevice()))
    for seed in range(3):
        found = session(_x(seed))
        for got, want in zip(found, expected_three(_x(seed)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_outputs_are_the_callers_own() -> None:
    """A later call does not write over the outputs of an earlier one."""
    session = Session(cuda_program(three_steps(("cuda",)), LazyDevice()))
    first = session(_x(1))
    kept = first.y.copy()
    session(_x(2))
    np.testing.assert_array_equal(first.y, kept)


def test_a_reused_arena_holds_the_right_values() -> None:
    """A long chain with branches, whose buffers share an arena with scratch memory, gives NumPy's numbers."""
    outline = Outline()
    paths = [outline.engine(f"main_{n}", [SHAPE, SHAPE], [SHAPE]) for n in range(12)]

    def body(call: Any, arguments: Any) -> Any:
        values = [arguments[0], arguments[0]]
        for path in paths:
            values.append(call(path, values[-2:], [SHAPE])[0])
        return [values[-1], values[5]]

    program = outline.main({"x": SHAPE}, {"y": SHAPE, "z": SHAPE}, body)
    schedule(program, "cuda", ["sm89"], workspaces=dict.fromkeys(paths, 1500))
    engines = [cpu_engine(p, [("Sub", "ab", "y")], {"a": SHAPE, "b": SHAPE}, {"y": SHAPE}) for p in paths]
    plan = Plan(program.module, engines, {})
    made = plan.schedules["cuda"]
    assert made.arena_bytes < sum(buffer.bytes or 0 for buffer in made.buffers if buffer.space == "device") / 4
    want = [_x(), _x()]
    for _ in paths:
        want.append(want[-2] - want[-1])
    program_made = cuda_program(plan, LazyDevice())
    y, z = Session(program_made)(_x())
    np.testing.assert_allclose(y, want[-1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(z, want[5], rtol=1e-5, atol=1e-5)


def test_scratch_memory() -> None:
    """Scratch memory is the Plan's where it is large enough, else the engine gets some of its own."""
    outline = Outline()
    small, large = outline.engine("main_0", [SHAPE], [SHAPE]), outline.engine("main_1", [SHAPE], [SHAPE])
    program = outline.main(
        {"x": SHAPE}, {"y": SHAPE}, lambda call, a: call(large, call(small, a, [SHAPE]), [SHAPE])
    )
    schedule(program, "cuda", ["sm89"], workspaces={small: 10, large: 2000})
    engines = [cpu_engine(p, [("Neg", "x", "y")], {"x": SHAPE}, {"y": SHAPE}) for p in (small, large)]
    made = cuda_program(Plan(program.module, engines, {}), LazyDevice())
    np.testing.assert_array_equal(made.call([_x()])[0], _x())
    assert made._device_engines[small].scratch[0][1] == 1000
    assert made._device_engines[large].scratch[0][1] == 2000


def test_shapes_that_vary() -> None:
    """Buffers of varying shape take each call's size; those without a bound are allocated and freed."""
    shape = (-1, 8)
    outline = Outline()
    first, second = (outline.engine(name, [shape], [shape]) for name in ("main_0", "main_1"))
    program = outline.main(
        {"x": shape}, {"y": shape}, lambda call, a: call(second, call(first, a, [shape]), [shape])
    )
    schedule(program, "cuda", ["sm89"], profiles=[{"x": ((1, 8), (2, 8), (8, 8))}])
    engines = [cpu_engine(p, [("Neg", "x", "y")], {"x": shape}, {"y": shape}) for p in (first, second)]
    device = LazyDevice()
    session = Session(cuda_program(Plan(program.module, engines, {}), device))
    blocks = len(device.blocks)
    for rows in (1, 8, 3):
        x = np.random.default_rng(rows).standard_normal((rows, 8), dtype=np.float32)
        np.testing.assert_array_equal(session(x), x)
    assert len(device.blocks) == blocks


def test_device_memory_in_and_out() -> None:
    """Arrays in device memory are read and written where they lie."""
    device = LazyDevice()
    session = Session(cuda_program(three_steps(("cuda",)), device))
    x = DeviceArray(device.allocate(128), SHAPE, np.dtype(np.float32))
    y = DeviceArray(device.allocate(128), SHAPE, np.dtype(np.float32))
    array_at(x.address, SHAPE)[:] = _x()
    session.bind(x=x, y=y)
    outputs = session.execute()
    assert outputs.y is y
    np.testing.assert_allclose(array_at(y.address, SHAPE), expected_three(_x())[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(session(x).s, expected_three(_x())[1], rtol=1e-6, atol=1e-6)
    with pytest.raises(InputError, match="dtype float64, expected float32"):
        session(DeviceArray(x.address, SHAPE, np.dtype(np.float64)))


def test_times() -> None:
    """Each part of a call counts for one of trtexec's metrics, and latency is the sum of the parts."""
    program = cuda_program(three_steps(("cuda",)), LazyDevice())
    found = program.timed([_x()])
    assert list(found) == ["Latency", "Enqueue Time", "H2D Latency", "GPU Compute Time", "D2H Latency"]
    assert found["Latency"] == found["H2D Latency"] + found["GPU Compute Time"] + found["D2H Latency"]
    # x and the host part's result go to the device; the first engine's and the last one's results come back.
    assert (found["H2D Latency"], found["D2H Latency"]) == (2, 2)


def test_layers() -> None:
    """The profile has every layer of the engines on the device, with its kind and sources."""
    found = cuda_program(three_steps(("cuda",)), LazyDevice()).profile([_x()], 2)
    assert [(layer.layer, layer.times_ms) for layer in found if layer.engine.endswith("main_0")] == [
        ("MatMul_0", (0.5, 0.5)),
        ("Relu_1", (0.5, 0.5)),
    ]


def test_closing_frees_the_memory() -> None:
    """Nothing stays allocated after a session is closed."""
    device = LazyDevice()
    with Session(cuda_program(three_steps(("cuda",)), device)) as session:
        session(_x())
    assert not device.blocks


def test_which_engines_fit_the_gpu() -> None:
    """The target is the GPU's own, or "cuda"; else the error names both."""
    plan = three_steps(("cuda",))
    assert matching_target(plan, "sm89") == "sm89"
    with pytest.raises(TargetError, match="this machine's GPU is sm90; the Plan has engines for sm89"):
        matching_target(plan, "sm90")


def test_what_describes_device_memory() -> None:
    """`__cuda_array_interface__` is read, host arrays are left alone, strided memory is refused."""

    class Described:
        def __init__(self, strides: tuple[int, ...] | None) -> None:
            self.__cuda_array_interface__ = {
                "shape": (2, 3), "typestr": "<f4", "data": (4096, False), "strides": strides, "version": 3
            }  # fmt: skip

    found = device_array(Described(None), "input 'x'")
    assert found is not None and (found.address, found.shape, found.nbytes) == (4096, (2, 3), 24)
    assert device_array(Described((12, 4)), "x") is not None
    assert device_array(np.ones(3), "x") is None
    with pytest.raises(InputError, match="input 'x' is not contiguous"):
        device_array(Described((4, 8)), "input 'x'")
