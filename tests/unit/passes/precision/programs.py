"""Small programs of tensorrt ops for the tests of precision passes."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

import mlirtrt_nb as mt
from mlirtrt_nb.program import Program

__all__ = [
    "attributes_of",
    "calibration",
    "convolutions",
    "dense",
    "op_types",
    "pooled",
    "residual",
    "text_program",
]


def text_program(arguments: str, body: str, result: str) -> Program:
    """A function `@main` from `arguments`, a body in tensorrt ops, and "%y : type" that it returns."""
    value, _, kind = result.partition(" : ")
    return mt.from_mlir(f"func.func @main({arguments}) -> {kind} {{\n{body}\nreturn {value} : {kind}\n}}")


def _model(nodes: list, weights: dict[str, np.ndarray], shape: list, output: str) -> ModelProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _kernel(seed: int, *shape: int) -> np.ndarray:
    scale = float(np.prod(shape[1:])) ** -0.5
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32) * np.float32(scale)


def convolutions() -> ModelProto:
    """x (1 x 4 x 8 x 8) -> three convolutions with ReLU, with max pooling in between -> y (1 x 4 x 4 x 4)."""
    weights = {
        f"w{n}": _kernel(n, *shape) for n, shape in enumerate([(32, 4, 3, 3), (32, 32, 3, 3), (4, 32, 1, 1)])
    }
    weights |= {f"b{n}": np.linspace(-0.1, 0.1, size, dtype=np.float32) for n, size in enumerate([32, 32, 4])}
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], name="first", pads=[1] * 4),
        helper.make_node("Relu", ["c0"], ["r0"], name="relu0"),
        helper.make_node("MaxPool", ["r0"], ["p0"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p0", "w1", "b1"], ["c1"], name="middle", pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["y"], name="last"),
    ]
    return _model(nodes, weights, [1, 4, 8, 8], "y")


def pooled() -> ModelProto:
    """x (1 x 8 x 12 x 12) -> convolution, response normalization, max pooling, two convolutions -> y."""
    weights = {f"w{n}": _kernel(n, 8, 8, 3, 3) for n in range(3)}
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], name="stem", pads=[1] * 4),
        helper.make_node("Relu", ["c0"], ["r0"], name="relu0"),
        helper.make_node("LRN", ["r0"], ["l"], name="lrn", size=5, alpha=0.5, beta=0.75),
        helper.make_node("MaxPool", ["l"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p", "w1"], ["c1"], name="one", pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("Conv", ["r1", "w2"], ["y"], name="head", pads=[1] * 4),
    ]
    return _model(nodes, weights, [1, 8, 12, 12], "y")


def residual() -> ModelProto:
    """x (1 x 8 x 6 x 6) -> convolution, two convolutions around which their input is added -> y."""
    weights = {f"w{n}": _kernel(n, 8, 8, 3, 3) for n in range(4)}
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], name="stem", pads=[1] * 4),
        helper.make_node("Relu", ["c0"], ["r0"], name="relu0"),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], name="one", pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="two", pads=[1] * 4),
        helper.make_node("Add", ["c2", "r0"], ["s"], name="sum"),
        helper.make_node("Relu", ["s"], ["r2"], name="relu2"),
        helper.make_node("Conv", ["r2", "w3"], ["y"], name="head", pads=[1] * 4),
    ]
    return _model(nodes, weights, [1, 8, 6, 6], "y")


def dense() -> ModelProto:
    """x (1 x 64) -> four products with a bias, with ReLUs in between -> y (1 x 16)."""
    sizes = (64, 48, 32, 24, 16)
    weights = {f"w{n}": _kernel(n, sizes[n + 1], sizes[n]) for n in range(4)}
    weights |= {f"b{n}": np.linspace(-1, 1, sizes[n + 1], dtype=np.float32) for n in range(4)}
    nodes, value = [], "x"
    for n in range(4):
        nodes.append(helper.make_node("Gemm", [value, f"w{n}", f"b{n}"], [f"g{n}"], name=f"gemm{n}", transB=1))
        nodes.append(helper.make_node("Relu", [f"g{n}"], [f"r{n}"], name=f"relu{n}"))
        value = f"r{n}"
    return _model(nodes[:-1], weights, [1, 64], "g3")


def calibration(program: Program, method: str = "minmax") -> mt.Calibration:
    """Ranges by two normal batches."""
    rng = np.random.default_rng(3)
    shape = [d for d in program.inputs[0].shape if isinstance(d, int)]
    return mt.calibrate(program, [rng.standard_normal(shape, dtype=np.float32) for _ in range(2)], method)


def op_types(program: Program) -> list[tuple[str, str]]:
    """(op without its dialect, element type of the first result) of each tensorrt op, in order."""
    from torch_mlir import ir

    found: list[tuple[str, str]] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("tensorrt.") and len(operation.results):
            element = str(operation.results[0].type.element_type)
            found.append((operation.name.removeprefix("tensorrt."), element))
        return ir.WalkResult.ADVANCE

    program.module.operation.walk(visit)
    return found


def attributes_of(program: Program, name: str) -> dict[str, str]:
    """Source node -> the text of the attribute `name`, for the ops that have it."""
    from torch_mlir import ir

    from mlirtrt_nb.passes.precision.tensor_names import source_of

    found: dict[str, str] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if name in operation.attributes:
            found[source_of(operation)] = ir.StringAttr(operation.attributes[name]).value
        return ir.WalkResult.ADVANCE

    program.module.operation.walk(visit)
    return found
