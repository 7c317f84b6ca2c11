"""Convert small ONNX models and compare the CPU's results with ONNX Runtime on the original."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, parser
from torch_mlir import ir

from mlirtrt_nb.engine.base import BuildRequest
from mlirtrt_nb.engine.onnxruntime.builder import OnnxRuntimeBuilder
from mlirtrt_nb.engine.onnxruntime.session import OrtEngine
from mlirtrt_nb.frontends.onnx import from_onnx
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.tensorrt.onnx_to_tensorrt import OnnxToTensorrt
from mlirtrt_nb.program import Program

RNG = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Seeded data."""
    return RNG.standard_normal(shape).astype(dtype)


def model(
    signature: str, body: str, constants: Mapping[str, np.ndarray] | None = None, opset: int = 17
) -> onnx.ModelProto:
    """A model in ONNX's text form: "(float[2,3] x) => (float[2,3] y)", "y = Relu(x)"; `<>` is no attributes."""
    body = body.replace("<>", "")
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> main {signature} {{ {body} }}'
    proto = parser.parse_model(text)
    for name, array in (constants or {}).items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return proto


def converted(proto: onnx.ModelProto, **options: object) -> Program:
    """The program after the pass."""
    program = from_onnx(proto)
    OnnxToTensorrt(**options).apply(program, PassContext())
    assert program.module.operation.verify()
    return program


def main_of(program: Program) -> ir.Operation:
    return next(op.operation for op in program.module.body.operations if op.operation.name == "func.func")


def body_of(program: Program) -> list[ir.Operation]:
    return [op.operation for op in main_of(program).regions[0].blocks[0].operations]


def ops(program: Program) -> Counter[str]:
    """How often each op occurs, without its dialect's name, constants left out."""
    names = [op.name.removeprefix("tensorrt.") for op in body_of(program)]
    return Counter(n for n in names if n not in ("func.return", "constant", "onnx.constant", "onnx.novalue"))


def fallbacks(program: Program) -> dict[str, str]:
    """Op name -> reason, for the ops that stay in the onnx dialect."""
    found = {}
    for op in body_of(program):
        if "plan.fallback" in op.attributes:
            found[op.name] = op.attributes["plan.fallback"].value
    return found


def run(program: Program, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Run the whole program as one CPU engine."""
    with program.context:
        engine = OnnxRuntimeBuilder().build(BuildRequest("main_0", main_of(program), program.weights, "cpu"))
    return OrtEngine(engine, program.weights).run([feeds[binding.name] for binding in engine.inputs])


def reference(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What ONNX Runtime makes of the original."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    return session.run(None, dict(feeds))


def check(
    proto: onnx.ModelProto,
    *feeds: Mapping[str, np.ndarray],
    expected: Sequence[np.ndarray] | None = None,
    tolerance: float = 1e-5,
) -> Counter[str]:
    """Nothing stays behind, and every feed gives what ONNX Runtime gives (or `expected`). The op counts."""
    program = converted(proto)
    assert fallbacks(program) == {}
    for feed in feeds:
        wanted = reference(proto, feed) if expected is None else expected
        for ours, theirs in zip(run(program, feed), wanted, strict=True):
            assert ours.dtype == theirs.dtype
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(
                ours.astype(np.float64), theirs.astype(np.float64), rtol=tolerance, atol=tolerance
            )
    return ops(program)
