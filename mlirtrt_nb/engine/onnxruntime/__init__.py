"""The CPU engine: functions of tensorrt or onnx ops, run by ONNX Runtime."""
