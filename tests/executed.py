"""Notebooks run once for all tests that look at them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

import nbformat

from notebooks.run import FOLDER, execute

NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


@dataclass(frozen=True)
class Executed:
    """A notebook after it ran, and how long that took."""

    name: str
    notebook: nbformat.NotebookNode
    seconds: float


@cache
def executed(name: str) -> Executed:
    """Notebook `name` from the repository, executed in a fresh kernel."""
    started = time.perf_counter()
    notebook = execute(FOLDER / f"{name}.ipynb")
    return Executed(name, notebook, time.perf_counter() - started)
