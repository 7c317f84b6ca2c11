"""The IR as lines whose regions and long dictionaries fold, without script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .ir import fold_constants
from .lines import cut_middle, highlight_line
from .units import plural

__all__ = ["REGION_RULES", "regions_html"]

REGION_RULES = (
    ".mt.mt .mt-tree{position:relative;padding-left:22px}"
    ".mt.mt .mt-tree details{margin:0;padding:0;border:none}"
    ".mt.mt .mt-tree summary{color:inherit;font-weight:400;list-style:none;display:block}"
    ".mt.mt .mt-tree summary::-webkit-details-marker{display:none}"
    ".mt.mt .mt-tree details:not(.d)>summary::before{content:'▾';position:absolute;left:8px;"
    "color:var(--mt-muted)}"
    ".mt.mt .mt-tree details:not(.d):not([open])>summary::before{content:'▸'}"
    ".mt.mt .mt-tree details:not(.d):not([open])>summary::after{content:' … ';color:var(--mt-muted)}"
    ".mt.mt .mt-tree details.d,.mt.mt .mt-tree details.d>summary,"
    ".mt.mt .mt-tree details.d[open]::details-content{display:inline}"
    ".mt.mt .mt-tree details.d:not([open])::details-content{display:none}"
    ".mt.mt .mt-tree details.d[open]>summary{font-size:0}"
    ".mt.mt .mt-tree details.d[open]>summary::before{content:'▾';font-size:12px}"
    ".mt.mt .mt-tree details.d>summary{color:var(--mt-muted);text-decoration:underline dotted}"
)

# A dictionary of attributes that is worth folding: no braces inside, and this long.
_DICTIONARY = re.compile(r"\{[^{}]{48,}\}")


def regions_html(
    text: str,
    *,
    limit: int = 400,
    folded: bool = False,
    dictionaries: bool = True,
    value: str | None = None,
) -> str:
    """`text` as HTML of at most `limit` lines.

    Args:
        folded: regions inside of functions are closed at first.
        dictionaries: long attribute dictionaries are closed at first.
        value: a value whose definition and uses are marked.
    """
    lines = fold_constants(text.rstrip("\n")).split("\n")
    cut = len(lines) - limit
    parts = list(_parts(lines[:limit], folded, dictionaries, value))
    if cut > 0:
        parts.append(f"<i class=c>// … {plural(cut, 'more line')}</i>\n")
    return f'<pre class="mt-tree">{"".join(parts)}</pre>'


def _parts(lines: list[str], folded: bool, dictionaries: bool, value: str | None) -> Iterator[str]:
    """Lines, with a <details> around each region; every one that is opened is closed."""
    depth = 0
    for line in lines:
        html = _line(line, dictionaries, value)
        if line.lstrip().startswith("}") and depth:
            depth -= 1
            yield "</details>"
        if line.endswith("{"):
            # A function's body stays open, or nothing would be seen.
            opened = "" if folded and depth and not line.lstrip().startswith("func.func") else " open"
            depth += 1
            yield f"<details{opened}><summary>{html}\n</summary>"
        else:
            yield f"{html}\n"
    yield "</details>" * depth


def _line(line: str, dictionaries: bool, value: str | None) -> str:
    match = _DICTIONARY.search(line) if dictionaries else None
    if match is None:
        return highlight_line(cut_middle(line), value=value)
    inner = highlight_line(cut_middle(match.group()), value=value)
    entries = plural(match.group().count(" = ") or 1, "attribute")
    return (
        f"{highlight_line(line[: match.start()], value=value)}"
        f"<details class=d><summary>{{{entries}}}</summary>{inner}</details>"
        f"{highlight_line(cut_middle(line[match.end() :]), value=value)}"
    )
