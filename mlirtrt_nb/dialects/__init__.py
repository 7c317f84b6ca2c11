"""The package's own dialects: `onnx`, `tensorrt` and `plan`, each op one `OpDef` value."""
