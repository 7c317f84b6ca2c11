"""The IR as lines whose regions and long dictionaries fold, without script."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from .card import Code
from .lines import cut_middle, linked_line, mark_value
from .shorten import cut_lines
from .units import plural
from .values import Value, links_of, mark_rules

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
    characters: int = 400_000,
    folded: bool = False,
    dictionaries: bool = True,
    value: str | None = None,
) -> str:
    """`text` as HTML of at most `limit` lines and so many characters of text.

    Each use of a value links to its definition, and the link marks both and the other uses.

    Args:
        folded: regions inside of functions are closed at first.
        dictionaries: long attribute dictionaries are closed at first.
        value: a value whose definition and uses are marked from the start.
    """
    lines = cut_lines(Code(text, limit, characters))
    # From what is drawn, so that the same text gives the same page.
    prefix = f"v{zlib.crc32(repr(lines).encode()):x}-"
    links = links_of(lines)
    drawn = (_Line(line, known, prefix, value, dictionaries) for line, known in zip(lines, links, strict=True))
    body = "".join(_folding(drawn, folded)).removesuffix("\n")
    return f'{mark_rules(links, prefix)}<pre class="mt-tree">{body}</pre>'


@dataclass(frozen=True)
class _Line:
    """One line, and what is needed to draw it."""

    text: str
    known: dict[str, Value]
    prefix: str
    marked: str | None
    dictionaries: bool

    def html(self) -> str:
        match = self._long_dictionary() if self.dictionaries else None
        if match is None:
            html = self._part(self.text)
        else:
            inline = "style=display:inline"
            entries = plural(match.group().count(" = ") or 1, "attribute")
            # Inline even where the style sheet is stripped.
            html = (
                f"{self._part(self.text[: match.start()])}"
                f"<details class=d {inline}><summary {inline}>{{{entries}}}</summary>"
                f"{self._part(match.group())}</details>"
                f"{self._part(self.text[match.end() :])}"
            )
        return mark_value(html, self.text, self.marked) if self.marked else html

    def _long_dictionary(self) -> re.Match[str] | None:
        """The first dictionary to fold: a lone attribute of moderate length says more than that it is one."""
        found = _DICTIONARY.finditer(self.text)
        return next((m for m in found if " = " in m.group().partition(" = ")[2] or len(m.group()) > 100), None)

    def _part(self, text: str) -> str:
        return linked_line(cut_middle(text), self._link)

    def _link(self, name: str, html: str) -> str:
        """A link to the definition, which may be here. Tab skips it: there are too many."""
        value = self.known.get(re.split("[:#]", name, maxsplit=1)[0])
        if value is None:
            return html
        target = f"{self.prefix}{value.number}"
        here = f'id="{target}" ' if value.defined else f'title="{escape(value.op)}" ' if value.op else ""
        return f'<a {here}href="#{target}" tabindex=-1>{html}</a>'


def _folding(lines: Iterable[_Line], folded: bool) -> Iterator[str]:
    """Lines, with a <details> around each region; every one that is opened is closed."""
    depth = 0
    for line in lines:
        html, stripped = line.html(), line.text.lstrip()
        if stripped.startswith("}") and depth:
            depth -= 1
            yield "</details>"
        if line.text.endswith("{"):
            # A function's body stays open, or nothing would be seen.
            opened = "" if folded and depth and not stripped.startswith("func.func") else " open"
            depth += 1
            yield f"<details{opened}><summary>{html}\n</summary>"
        else:
            yield f"{html}\n"
    yield "</details>" * depth
