"""Passes of the plan phase, one file each."""
