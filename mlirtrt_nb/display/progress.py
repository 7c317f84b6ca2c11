"""A progress bar as HTML and as one line of text."""

from __future__ import annotations

from html import escape

from .style import framed
from .units import duration

__all__ = ["progress_html", "progress_text"]

_SIGNS = {"running": "…", "done": "✓", "stopped": "■", "failed": "✗"}
_LEVELS = {"running": "note", "done": "good", "stopped": "warn", "failed": "bad"}
_WIDTH = 24


def progress_text(title: str, phase: str, share: float | None, seconds: float, state: str = "running") -> str:
    """One line. `share` is 0 to 1, or None where the end is not known; `state` one of running, done, stopped,
    failed."""
    if state != "running":
        return f"{_SIGNS[state]} {title}: {phase} after {duration(seconds)}"
    filled = 0 if share is None else round(_WIDTH * share)
    bar = "█" * filled + "░" * (_WIDTH - filled)
    return f"{_SIGNS[state]} {title} {bar} {phase} ({duration(seconds)})"


def progress_html(title: str, phase: str, share: float | None, seconds: float, state: str = "running") -> str:
    """The same as HTML; a bar while it runs, one line when it has ended."""
    if state != "running":
        text = escape(progress_text(title, phase, share, seconds, state))
        return framed(f'<p class="mt-note mt-{_LEVELS[state]}">{text}</p>', label=title)
    value = "" if share is None else f' value="{share:.3f}"'
    bar = f'<progress max="1"{value} aria-label="{escape(title, quote=True)}" style="width:16em"></progress>'
    words = escape(f"{title}: {phase} ({duration(seconds)})")
    return framed(f'<p class="mt-note" role="status">{bar} {words}</p>', label=title)
