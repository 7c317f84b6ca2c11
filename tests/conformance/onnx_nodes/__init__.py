"""ONNX's own node cases through the whole pipeline."""
