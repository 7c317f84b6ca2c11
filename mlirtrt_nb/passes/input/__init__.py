"""Passes of the input phase, one file each."""
