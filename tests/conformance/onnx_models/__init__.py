"""The models with recorded results that the onnx package carries as files."""
