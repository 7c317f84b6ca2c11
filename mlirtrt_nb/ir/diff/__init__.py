"""What changed between two MLIR texts, where values that were only renumbered do not count.

Lines are aligned with their value names blanked (`lines`, `alignment`); then the names of aligned lines are
checked against each other (`values`), so that a rewired operand is a change and a renumbered one is none.
"""

from __future__ import annotations

from .rows import Row, TextDiff, diff_texts
from .stretches import stretches
from .unified import unified_text

__all__ = ["Row", "TextDiff", "diff_texts", "stretches", "unified_text"]
