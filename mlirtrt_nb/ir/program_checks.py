"""Checks of whole programs that need the weights, which the rules of single ops cannot see."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from torch_mlir import ir

__all__ = ["program_check", "run_program_checks"]

Check = Callable[["ir.Operation", "MutableMapping[str, np.ndarray]"], None]

_CHECKS: list[Check] = []


def program_check(check: Check) -> Check:
    """Have `check(module, weights)` run by `Program.verify`. It raises VerificationError."""
    _CHECKS.append(check)
    return check


def run_program_checks(module: ir.Operation, weights: MutableMapping[str, np.ndarray]) -> None:
    """Run all checks. Call with the program's context entered."""
    for check in _CHECKS:
        check(module, weights)
