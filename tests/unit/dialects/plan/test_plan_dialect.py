"""The plan dialect: its attributes, what its verifier refuses, and its text."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from mlirtrt_nb.dialects.plan import backend, backend_name, memory_space, space_of
from mlirtrt_nb.errors import VerificationError
from mlirtrt_nb.frontends.text import from_mlir
from mlirtrt_nb.ir.context import new_context
from mlirtrt_nb.ir.verifier import errors_of

HOST = "#plan.memory_space<host>"
DEVICE = "#plan.memory_space<device>"


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return new_context()


def test_backends(context: ir.Context) -> None:
    """Each backend's attribute gives its name back and carries a benefit, TensorRT's the highest."""
    with context:
        for name in ("tensorrt", "kernel", "host", "onnx"):
            assert backend_name(backend(name)) == name
        assert "3 : i64" in str(backend("tensorrt")) and "7 : i64" in str(backend("host", 7))
        with pytest.raises(ValueError, match="is not a backend"):
            backend_name(ir.StringAttr.get("tensorrt"))


def test_memory_spaces(context: ir.Context) -> None:
    """A memref's or tensor's memory space is read by name; types that carry none are unknown."""
    with context, ir.Location.unknown():
        f32 = ir.F32Type.get()
        assert space_of(ir.MemRefType.get([4], f32, memory_space=memory_space("device"))) == "device"
        assert space_of(ir.RankedTensorType.get([4], f32, encoding=memory_space("host"))) == "host"
        for kind in (ir.MemRefType.get([4], f32), ir.RankedTensorType.get([4], f32), f32):
            assert space_of(kind) == "unknown"
        with pytest.raises(ValueError, match="no memory space 'gpu'"):
            memory_space("gpu")


ROUND_TRIPS = {
    "cluster": """
  %0 = plan.cluster target(#plan.host_backend<benefit = 1>) -> tensor<4xf32> {
    %1 = arith.addf %arg0, %arg0 : tensor<4xf32>
    yield %1 : tensor<4xf32>
  }""",
    "transfer": f"""
  %0 = plan.transfer %arg0 : tensor<4xf32> to tensor<4xf32, {HOST}>""",
    "shape": """
  %c4 = arith.constant 4 : index
  %0 = plan.with_shape %arg0(%c4) : (tensor<4xf32>, index) -> tensor<4xf32>""",
    "barrier": """
  %0 = plan.optimization_barrier %arg0 : tensor<4xf32>""",
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_text_round_trip(name: str) -> None:
    """What is printed parses to the same, and prints the same."""
    text = f"func.func @main(%arg0: tensor<4xf32>) {{{ROUND_TRIPS[name]}\n  return\n}}"
    once = from_mlir(text).text()
    assert ROUND_TRIPS[name].split("\n")[-1].strip() in once
    assert from_mlir(once).text() == once


PROGRAM = """
plan.program @main_cuda(%x: memref<4xf32, {host}>) -> memref<4xf32, {host}>
    attributes {{arena_bytes = 512 : i64, device = "cuda", peak_live_bytes = 512 : i64, targets = ["sm89"]}} {{
  %s0 = plan.stream 0
  %s1 = plan.stream 1
  %in = plan.buffer at 0 size 16 live [0, 1] : memref<4xf32, {device}>
  %f = plan.buffer {place} : memref<4xf32, {device}>
  %y = plan.output 0 : memref<4xf32, {host}>
  plan.copy %x to %in {stream}
  plan.enqueue @trt_engines::@main_0 on %s0 ins(%in) outs(%f)
  %e0 = plan.record on %s0
  plan.wait %e0 on %s1
  plan.copy %f to %y on %s1
  plan.synchronize %s1
  plan.return %y
}}
"""


def _program(place: str = "at 256 size 16 live [1, 2]", stream: str = "on %s0") -> str:
    return PROGRAM.format(host=HOST, device=DEVICE, place=place, stream=stream)


def test_a_program_with_two_streams() -> None:
    """A hand-written program with streams and events parses, verifies, prints stably and is read in order."""
    from mlirtrt_nb.passes.plan.plan_schedule import programs
    from mlirtrt_nb.runtime.reader import read_schedule

    program = from_mlir(_program())
    assert errors_of(program.module.operation) == []
    assert from_mlir(program.text()).text() == program.text()
    made = read_schedule(programs(program.module)["cuda"], {})
    assert [(step.kind, step.stream) for step in made.steps] == [
        ("copy", 0), ("enqueue", 0), ("record", 0), ("wait", 1), ("copy", 1), ("synchronize", 1),
    ]  # fmt: skip
    assert made.steps[2].event == made.steps[3].event is not None


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (_program(place="at 256 dynamic size 16 live [1, 2]"), "give either `at` an offset, or `dynamic`"),
        (_program(place="size 16 live [1, 2]"), "give either `at` an offset, or `dynamic`"),
        (_program(place="at 256 live [1, 2]"), "a buffer in the arena needs its size"),
        (_program(place="at -1 size 16 live [1, 2]"), "offset must not be negative, got -1"),
        (_program(place="at 256 size 16 live [2, 1]"), r"live must be \[first, last\] step"),
        (_program(stream=""), "a copy from or to the device needs a stream"),
    ],
)
def test_programs_that_are_refused(program: str, message: str) -> None:
    """Each rule of the scheduling ops has its own message."""
    with pytest.raises(VerificationError, match=message):
        from_mlir(program).verify()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%c = arith.constant 4 : index\n"
            "%0 = plan.with_shape %arg0(%c, %c) : (tensor<4xf32>, index, index) -> tensor<4xf32>",
            "a tensor of rank 1 needs 1 dimensions, got 2",
        ),
        (
            "%0 = plan.with_values %arg0(%v, %v) : tensor<4xf32>",
            "tensor<4xf32> has 4 elements, got 2 values",
        ),
        (
            "%0 = plan.alloc_cluster inputs(%arg0 : tensor<4xf32>) in_attrs [] -> tensor<4xf32> {\n"
            "^bb0(%a: tensor<4xf32>):\n  yield %a : tensor<4xf32>\n}",
            "input_attrs needs one entry for each of the 1 inputs, got 0",
        ),
    ],
)
def test_clusters_that_are_refused(body: str, message: str) -> None:
    """Ties to shapes and values must match the tensor, and closed clusters need bounds for each input."""
    with pytest.raises(VerificationError, match=message):
        from_mlir(f"func.func @main(%arg0: tensor<4xf32>, %v: f32) {{\n{body}\nreturn\n}}").verify()
