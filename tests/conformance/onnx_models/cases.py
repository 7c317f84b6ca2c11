"""ONNX's recorded model cases: small graphs, PyTorch's exports, and classifiers with made-up weights."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.backend.test
from onnx import ModelProto, TensorProto, TypeProto, numpy_helper

from ..onnx_nodes.cases import NodeCase

__all__ = ["KINDS", "classifier", "collect"]

KINDS = ("simple", "pytorch-operator", "pytorch-converted")
_DATA = Path(onnx.backend.test.__file__).parent / "data"


@cache
def collect(kind: str) -> dict[str, NodeCase]:
    """Every case of a kind by name, with its first set of data; those of training are left out."""
    found = {}
    for folder in sorted((_DATA / kind).iterdir()):
        path = folder / "model.onnx"
        if path.exists():
            model = onnx.load(path)
            if not any(node.domain == "ai.onnx.preview.training" for node in model.graph.node):
                found[folder.name] = _case(folder.name, model, folder / "test_data_set_0")
    return found


def _case(name: str, model: ModelProto, data: Path) -> NodeCase:
    weights = {tensor.name for tensor in model.graph.initializer}
    entries = [entry for entry in model.graph.input if entry.name not in weights]
    if len(entries) < len(model.graph.input) and not (data / f"input_{len(entries)}.pb").exists():
        del model.graph.input[:]
        model.graph.input.extend(entries)
    inputs = [_value(data / f"input_{n}.pb", entry.type) for n, entry in enumerate(model.graph.input)]
    outputs = [_value(data / f"output_{n}.pb", entry.type) for n, entry in enumerate(model.graph.output)]
    # PyTorch recorded its results on a GPU of old; onnx's own runner has the same tolerance.
    return NodeCase(name, model, tuple(inputs), tuple(outputs), 1e-3, 1e-5)


def _value(path: Path, kind: TypeProto) -> Any:
    content = path.read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(TensorProto.FromString(content))


def classifier(name: str) -> NodeCase:
    """A classifier whose weights are constants of one number each, with its recorded output."""
    model = onnx.load(_DATA / "light" / f"light_{name}.onnx")
    weights = {tensor.name for tensor in model.graph.initializer}
    entries = [entry for entry in model.graph.input if entry.name not in weights]
    shape = [dim.dim_value for dim in entries[0].type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    image = (np.arange(count).reshape(shape) / count).astype(np.float32)
    output = TensorProto.FromString((_DATA / "light" / f"light_{name}_output_0.pb").read_bytes())
    del model.graph.input[:]
    model.graph.input.extend(entries)
    return NodeCase(name, model, (image,), (numpy_helper.to_array(output),), 1e-3, 1e-6)
