"""MLIR text as highlighted HTML that folds, bounded in lines and in line length."""

from __future__ import annotations

from html import escape

from .card import Code
from .regions import regions_html
from .style import framed

__all__ = ["code_html", "ir_html"]


def ir_html(text: str, *, limit: int = 400, label: str = "MLIR") -> str:
    """MLIR `text` as one self-contained output of at most `limit` lines, or of 40 000 characters."""
    return framed(_scroll(code_html(Code(text, limit, 40_000)), label), label=label, bare=True)


def _scroll(body: str, label: str) -> str:
    name = escape(label, quote=True)
    return (
        f'<div class="mt-scroll" style="margin:0" tabindex="0" role="region" aria-label="{name}">{body}</div>'
    )


def code_html(code: Code) -> str:
    """A <pre> of highlighted text, without a frame."""
    return regions_html(code.text, limit=code.limit, characters=code.characters)
