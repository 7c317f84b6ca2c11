"""A model of `ModelWriter` run by ONNX's reference evaluator, node by node, in NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto

from ...dialects.onnx.model_writer import tensor_proto
from ...frontends.onnx.nodes import subgraphs

__all__ = ["ReferenceSession"]


class ReferenceSession:
    """Ready to run. Arrays have ml_dtypes' element types where NumPy lacks them.

    Args:
        model: the bytes of the model.
        weights: the table of its external initializers; they are copied into the evaluator.

    Raises whatever the evaluator raises for an op that it does not have: it has no base class for that.
    """

    def __init__(self, model: bytes | memoryview, weights: Mapping[str, np.ndarray]) -> None:
        from onnx.reference import ReferenceEvaluator

        proto = ModelProto.FromString(bytes(model))
        for tensor in proto.graph.initializer:
            if tensor.data_location == TensorProto.EXTERNAL:
                _fill(tensor, weights)
        _localize(proto.graph, {})
        self._evaluator = ReferenceEvaluator(proto)
        self._outputs = [entry.name for entry in proto.graph.output]

    def run(self, names: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs `names`: arrays, lists for sequences, None for empty optionals."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # overflow and division by zero are results, not mistakes
            found = dict(zip(self._outputs, self._evaluator.run(None, dict(feeds)), strict=True))
        return [_plain(found[name]) for name in names]


def _fill(tensor: TensorProto, weights: Mapping[str, np.ndarray]) -> None:
    key = next(entry.value for entry in tensor.external_data if entry.key == "location")
    name, dims = tensor.name, tuple(tensor.dims)
    tensor.CopyFrom(tensor_proto(weights[key].reshape(dims)))
    tensor.name = name


def _localize(graph: GraphProto, outer: Mapping[str, TensorProto]) -> None:
    """Copy the constants that inner graphs read into them: some ops' evaluators look for them nowhere else."""
    known = {**outer, **{tensor.name: tensor for tensor in graph.initializer}}
    for node in graph.node:
        for inner in subgraphs(node):
            own = {tensor.name for tensor in inner.initializer}
            read = {name for inner_node in inner.node for name in inner_node.input}
            inner.initializer.extend(known[name] for name in sorted(read - own) if name in known)
            _localize(inner, known)


def _plain(value: Any) -> Any:
    """NumPy scalars as arrays of rank 0, contiguous arrays, lists of such."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, dict) else np.asarray(value, order="C")
