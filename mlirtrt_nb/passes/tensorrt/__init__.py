"""Passes of the tensorrt phase, one file each."""
