"""Graphs as static pictures: read from IR, made smaller, laid out in rows, drawn as SVG or written as DOT."""

from __future__ import annotations

from .view import LEVELS, GraphView

__all__ = ["LEVELS", "GraphView"]
