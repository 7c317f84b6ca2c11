"""Readers: ONNX models, MLIR text and bytecode, and StableHLO become Programs."""
