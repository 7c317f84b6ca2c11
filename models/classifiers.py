"""Nine ImageNet classifiers at full size, rebuilt from the weightless graphs that the onnx package ships.

Those graphs hold `ConstantOfShape` nodes in place of their large weights. Each is replaced by a seeded
random initializer whose scale keeps activations near one, so that a wrong result shows in the output.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

__all__ = ["NAMES", "build"]

NAMES = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)

# Ops that pass their first input on: the use that counts is the next one.
_TRANSPARENT = {"Unsqueeze", "Reshape", "Identity"}

# Range of a vector by the op and input that reads it. The batch-norm scale is below one, since each
# residual block adds to the size of its input.
_RANGES = {
    ("BatchNormalization", 1): (0.3, 0.7),
    ("BatchNormalization", 4): (0.8, 1.2),
    ("Mul", 1): (0.8, 1.2),
}


def build(name: str, path: Path) -> None:
    """Write the classifier `name` (one of `NAMES`) with random weights to `path`."""
    source = Path(onnx.__file__).parent / "backend/test/data/light" / f"light_{name}.onnx"
    model = onnx.load(str(source))
    graph = model.graph
    shapes = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    uses = _uses(graph)
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        weight = _random(node.output[0], tuple(shapes[node.input[0]].tolist()), *_use(node.output[0], uses))
        tensor = graph.initializer.add(name=node.output[0], dims=weight.shape, data_type=onnx.TensorProto.FLOAT)
        tensor.raw_data = weight.tobytes()
    del graph.node[:]
    graph.node.extend(kept)
    _drop_unused(graph)
    onnx.save(model, str(path))


def _uses(graph: onnx.GraphProto) -> dict[str, tuple[onnx.NodeProto, int]]:
    """Value name -> the last node that reads it and at which input."""
    return {name: (node, slot) for node in graph.node for slot, name in enumerate(node.input)}


def _use(name: str, uses: dict[str, tuple[onnx.NodeProto, int]]) -> tuple[str, int]:
    node, slot = uses[name]
    while node.op_type in _TRANSPARENT:
        node, slot = uses[node.output[0]]
    return node.op_type, slot


def _random(name: str, shape: tuple[int, ...], op_type: str, slot: int) -> np.ndarray:
    """A weight for input `slot` of an `op_type`, the same on every machine."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    if len(shape) > 1:
        fan_in = int(np.prod(shape[1:]))
        weight = generator.standard_normal(shape, dtype=np.float32)
        weight *= np.float32((2.0 / fan_in) ** 0.5)
        return weight
    low, high = _RANGES.get((op_type, slot), (-0.1, 0.1))
    return generator.uniform(low, high, shape).astype(np.float32)


def _drop_unused(graph: onnx.GraphProto) -> None:
    """Remove the shape tensors that only the replaced nodes read, and their graph inputs."""
    read = set(_names_read(graph))
    _keep(graph.initializer, read)
    _keep(graph.input, read)


def _names_read(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield from node.input


def _keep(entries: object, names: set[str]) -> None:
    kept = [entry for entry in entries if entry.name in names]  # type: ignore[attr-defined]
    del entries[:]  # type: ignore[attr-defined]
    entries.extend(kept)  # type: ignore[attr-defined]
