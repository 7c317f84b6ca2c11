"""A small transformer encoder, exported by hand: token ids and a mask in, hidden states out.

Four layers of width 256 with four heads, post-norm, GELU by Erf, additive attention mask, dynamic batch
and sequence; what an exporter writes for a BERT-like model. Weights are seeded random values.

    python -m models.transformer encoder.onnx [--decompose-norm]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["build"]

LAYERS, WIDTH, HEADS, FEED_FORWARD = 4, 256, 4, 1024
VOCABULARY, POSITIONS = 1000, 512
_EPSILON = 1e-5


class _Graph:
    """Collects nodes and initializers; each method returns the name of the value it makes."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(17)

    def weight(self, name: str, *shape: int, scale: float | None = None) -> str:
        """A random normal weight; its deviation is `scale`, by default 1/sqrt(rows)."""
        scale = shape[0] ** -0.5 if scale is None else scale
        return self.constant(name, self._random.standard_normal(shape, dtype=np.float32) * np.float32(scale))

    def constant(self, name: str, value: object) -> str:
        if all(entry.name != name for entry in self.initializers):
            self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, op_type: str, name: str, *inputs: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name=name, **attributes))
        return name


def build(path: str | Path, *, decompose_norm: bool = False) -> None:
    """Write the encoder to `path`.

    Inputs: `tokens` and `mask`, int64 of shape (batch, sequence); sequence up to 512, mask 1 for a token
    and 0 for padding. Output: `hidden`, float32 of shape (batch, sequence, 256).

    Args:
        path: where the .onnx file is written.
        decompose_norm: spell layer norm in elementary ops instead of LayerNormalization (opset 17).
    """
    graph = _Graph()
    hidden = _norm(graph, "embed/norm", _embed(graph), decompose_norm)
    bias = _mask_bias(graph)
    for index in range(LAYERS):
        scope = f"layer.{index}"
        attended = _attention(graph, f"{scope}/attn", hidden, bias)
        summed = graph.op("Add", f"{scope}/residual", hidden, attended)
        hidden = _norm(graph, f"{scope}/norm1", summed, decompose_norm)
        grown = _feed_forward(graph, f"{scope}/ffn", hidden)
        summed = graph.op("Add", f"{scope}/residual2", hidden, grown)
        hidden = _norm(graph, f"{scope}/norm2", summed, decompose_norm)
    graph.op("Identity", "hidden", hidden)
    onnx.save(_model(graph), str(path))


def _embed(graph: _Graph) -> str:
    """Token embedding plus the first `sequence` rows of the position table."""
    vocabulary = graph.weight("embed.words", VOCABULARY, WIDTH, scale=1.0)
    words = graph.op("Gather", "embed/words", vocabulary, "tokens")
    shape = graph.op("Shape", "embed/shape", "tokens")
    length = graph.op("Gather", "embed/length", shape, graph.constant("one", np.array([1])))
    table = graph.weight("embed.positions", POSITIONS, WIDTH, scale=0.1)
    zero = graph.constant("zero", np.array([0]))
    positions = graph.op("Slice", "embed/positions", table, zero, length, zero)
    return graph.op("Add", "embed/sum", words, positions)


def _mask_bias(graph: _Graph) -> str:
    """0 where the mask is 1, -10000 where it is 0, of shape (batch, 1, 1, sequence)."""
    axes = graph.constant("mask.axes", np.array([1, 2]))
    spread = graph.op("Unsqueeze", "mask/spread", "mask", axes)
    floats = graph.op("Cast", "mask/cast", spread, to=TensorProto.FLOAT)
    inverted = graph.op("Sub", "mask/inverted", graph.constant("unit", np.float32(1)), floats)
    return graph.op("Mul", "mask/bias", inverted, graph.constant("masked", np.float32(-10000)))


def _linear(graph: _Graph, scope: str, value: str, rows: int, columns: int) -> str:
    product = graph.op("MatMul", f"{scope}/MatMul", value, graph.weight(f"{scope}.weight", rows, columns))
    return graph.op("Add", f"{scope}/Add", product, graph.weight(f"{scope}.bias", columns, scale=0.02))


def _heads(graph: _Graph, scope: str, value: str, order: list[int]) -> str:
    split = graph.constant("heads.shape", np.array([0, 0, HEADS, WIDTH // HEADS]))
    parted = graph.op("Reshape", f"{scope}/split", _linear(graph, scope, value, WIDTH, WIDTH), split)
    return graph.op("Transpose", f"{scope}/heads", parted, perm=order)


def _attention(graph: _Graph, scope: str, hidden: str, bias: str) -> str:
    query = _heads(graph, f"{scope}/query", hidden, [0, 2, 1, 3])
    key = _heads(graph, f"{scope}/key", hidden, [0, 2, 3, 1])
    value = _heads(graph, f"{scope}/value", hidden, [0, 2, 1, 3])
    root = graph.constant("root", np.float32((WIDTH // HEADS) ** 0.5))
    scores = graph.op("Div", f"{scope}/scores", graph.op("MatMul", f"{scope}/QK", query, key), root)
    weights = graph.op("Softmax", f"{scope}/Softmax", graph.op("Add", f"{scope}/masked", scores, bias), axis=-1)
    mixed = graph.op("MatMul", f"{scope}/PV", weights, value)
    joined = graph.op("Transpose", f"{scope}/join", mixed, perm=[0, 2, 1, 3])
    flat = graph.op("Reshape", f"{scope}/flat", joined, graph.constant("flat.shape", np.array([0, 0, WIDTH])))
    return _linear(graph, f"{scope}/out", flat, WIDTH, WIDTH)


def _feed_forward(graph: _Graph, scope: str, hidden: str) -> str:
    grown = _linear(graph, f"{scope}/up", hidden, WIDTH, FEED_FORWARD)
    scaled = graph.op("Div", f"{scope}/scaled", grown, graph.constant("root2", np.float32(2**0.5)))
    erf = graph.op("Erf", f"{scope}/Erf", scaled)
    shifted = graph.op("Add", f"{scope}/shifted", erf, graph.constant("unit", np.float32(1)))
    gated = graph.op("Mul", f"{scope}/gated", grown, shifted)
    gelu = graph.op("Mul", f"{scope}/gelu", gated, graph.constant("half", np.float32(0.5)))
    return _linear(graph, f"{scope}/down", gelu, FEED_FORWARD, WIDTH)


def _norm(graph: _Graph, scope: str, value: str, decompose: bool) -> str:
    scale = graph.constant(f"{scope}.weight", np.linspace(0.8, 1.2, WIDTH, dtype=np.float32))
    bias = graph.constant(f"{scope}.bias", np.linspace(-0.1, 0.1, WIDTH, dtype=np.float32))
    if not decompose:
        return graph.op("LayerNormalization", scope, value, scale, bias, axis=-1, epsilon=_EPSILON)
    mean = graph.op("ReduceMean", f"{scope}/mean", value, axes=[-1])
    centred = graph.op("Sub", f"{scope}/centred", value, mean)
    square = graph.op("Pow", f"{scope}/square", centred, graph.constant("two", np.float32(2)))
    variance = graph.op("ReduceMean", f"{scope}/variance", square, axes=[-1])
    stable = graph.op("Add", f"{scope}/stable", variance, graph.constant("epsilon", np.float32(_EPSILON)))
    unit = graph.op("Div", f"{scope}/unit", centred, graph.op("Sqrt", f"{scope}/deviation", stable))
    return graph.op("Add", scope, graph.op("Mul", f"{scope}/scaled", unit, scale), bias)


def _model(graph: _Graph) -> onnx.ModelProto:
    axes = ["batch", "sequence"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in ("tokens", "mask")]
    output = helper.make_tensor_value_info("hidden", TensorProto.FLOAT, [*axes, WIDTH])
    made = helper.make_graph(graph.nodes, "encoder", inputs, [output], graph.initializers)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the transformer encoder as ONNX.")
    parser.add_argument("path")
    parser.add_argument("--decompose-norm", action="store_true", help="spell layer norm in elementary ops")
    arguments = parser.parse_args()
    build(arguments.path, decompose_norm=arguments.decompose_norm)


if __name__ == "__main__":
    main()
