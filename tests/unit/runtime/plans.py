"""Small Plans that run on the CPU."""

from __future__ import annotations

from functools import cache

import numpy as np

from mlirtrt_nb.passes.plan.plan_schedule import schedule
from mlirtrt_nb.plan import Fallback, Plan
from tests.unit.outlined import Outline, cpu_engine

SHAPE = (4, 8)
WEIGHT = np.random.default_rng(0).standard_normal((8, 8), dtype=np.float32)


@cache
def three_steps(devices: tuple[str, ...] = ("cpu",)) -> Plan:
    """y = abs(relu(x @ w) - 1) and s = sqrt(relu(x @ w)), in an engine, a host function and an engine."""
    outline = Outline()
    first = outline.engine("main_0", [SHAPE], [SHAPE])
    host = outline.host("host_0", [SHAPE], [SHAPE, SHAPE])
    second = outline.engine("main_1", [SHAPE], [SHAPE])

    def body(call, arguments):
        (a,) = call(first, arguments, [SHAPE])
        b, root = call(host, [a], [SHAPE, SHAPE])
        (y,) = call(second, [b], [SHAPE])
        return [y, root]

    program = outline.main({"x": SHAPE}, {"y": SHAPE, "s": SHAPE}, body)
    one = np.ones((1,), np.float32)
    engines = [
        cpu_engine(
            first, [("MatMul", "xw", "m"), ("Relu", "m", "y")], {"x": SHAPE}, {"y": SHAPE}, {"w": WEIGHT}
        ),
        cpu_engine(
            host,
            [("Sub", ["a", "one"], ["b"]), ("Sqrt", "a", "r")],
            {"a": SHAPE},
            {"b": SHAPE, "r": SHAPE},
            {"one": one},
        ),
        cpu_engine(second, [("Abs", "x", "y")], {"x": SHAPE}, {"y": SHAPE}),
    ]
    for device in devices:
        schedule(program, device, ["cpu" if device == "cpu" else "sm89"])
    fallbacks = [Fallback("onnx.Sub", 1, "a reason", "node_host_0", "onnx")]
    unused = np.zeros(1000, np.float32)
    weights = {"w": WEIGHT, "one": one, "unused": unused}
    return Plan(
        program.module, engines, weights, fallbacks=fallbacks, metadata={"precision": "fp32"}, name="three"
    )


def expected_three(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What `three_steps` gives."""
    a = np.maximum(x @ WEIGHT, 0)
    return np.abs(a - 1), np.sqrt(a)


@cache
def dynamic() -> Plan:
    """y = relu(x) + relu(x) over a batch of 1 to 8, in two engines; x and z share the dimension "batch"."""
    shape = (-1, 8)
    outline = Outline()
    first, second = (outline.engine(name, [shape] * n, [shape]) for name, n in (("main_0", 1), ("main_1", 2)))

    def body(call, arguments):
        (a,) = call(first, arguments[:1], [shape])
        return call(second, [a, arguments[1]], [shape])

    dims = {"x": {0: "batch"}, "z": {0: "batch"}}
    program = outline.main({"x": shape, "z": shape}, {"y": shape}, body, dims)
    sides = ((1, 8), (2, 8), (8, 8))
    schedule(program, "cpu", ["cpu"], profiles=[{"x": sides, "z": sides}])
    engines = [
        cpu_engine(first, [("Relu", "x", "y")], {"x": shape}, {"y": shape}),
        cpu_engine(second, [("Add", "ab", "y")], {"a": shape, "b": shape}, {"y": shape}),
    ]
    return Plan(program.module, engines, {}, name="dynamic")
