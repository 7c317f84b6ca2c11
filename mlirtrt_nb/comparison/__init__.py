"""Variants of a program in different precisions, beside each other: speed, memory, error, and why."""
