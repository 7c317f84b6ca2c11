"""Cases for the ops of the tensorrt dialect on the CPU engine: inputs, attributes, and NumPy's answer."""
