"""Engines: one function built for one target, by TensorRT, ONNX Runtime, MLIR or the reference evaluator."""
