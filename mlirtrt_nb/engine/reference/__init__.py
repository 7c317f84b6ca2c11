"""Host engines run by ONNX's reference evaluator: slow, but it has every op and every element type."""
