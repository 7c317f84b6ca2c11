"""ONNX in: a model file, bytes or ModelProto to a Program of the onnx dialect."""

from .load import from_onnx

__all__ = ["from_onnx"]
