"""Finds the ranges of activations by running the unrounded program on the CPU."""
