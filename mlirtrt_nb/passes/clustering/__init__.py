"""Passes of the clustering phase, one file each."""
