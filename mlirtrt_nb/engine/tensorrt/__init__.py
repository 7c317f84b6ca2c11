"""Engines built by TensorRT and TensorRT-RTX."""

from .builder import TensorRtBuilder
from .flavor import check_target, gpu_problem, import_tensorrt, targets
from .layer_log import layer_count, parse_layers, parse_memory

__all__ = [
    "TensorRtBuilder",
    "check_target",
    "gpu_problem",
    "import_tensorrt",
    "layer_count",
    "parse_layers",
    "parse_memory",
    "targets",
]
