"""The layers of a CPU engine for the report."""

from __future__ import annotations

from ...dialects.onnx.export import ExportedModel
from ...dialects.onnx.model_writer import label_of
from ..base import LayerRow

__all__ = ["emitted_layers"]


def emitted_layers(exported: ExportedModel) -> tuple[LayerRow, ...]:
    """One row per node of the model as it was emitted."""
    return tuple(
        LayerRow(
            name=node.name,
            kind=node.op_type,
            inputs=tuple(name for name in node.input if name),
            outputs=tuple(node.output),
            sources=tuple(label_of(node.name).split(" + ")),
        )
        for node in exported.model.graph.node
    )
