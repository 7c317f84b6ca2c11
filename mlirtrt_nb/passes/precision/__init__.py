"""Passes that choose number types: which ops, where they are quantized, and where types are cast."""
