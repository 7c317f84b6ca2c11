"""The style sheet that goes with each output, and whole pages for files."""

from __future__ import annotations

from functools import cache
from html import escape

from .lines import LINE_RULES
from .palette import DARK, LIGHT
from .regions import REGION_RULES
from .values import VALUE_RULES

__all__ = ["framed", "page", "sheet"]

# Where each front end says that its theme is dark. The system's own setting counts only where none of
# them says anything: a dark notebook on a light desktop must stay dark, and the other way round.
_SAYS_DARK = (
    '[data-jp-theme-light="false"]',
    ".vscode-dark",
    ".vscode-high-contrast:not(.vscode-high-contrast-light)",
    'html[theme="dark"]',
)
_SAYS_NOTHING = ":root:not(:has([data-jp-theme-light], .vscode-light, .vscode-dark)):not([theme])"

# Doubled class names win over the notebook's own rules for tables and preformatted text.
_RULES = """
.mt.mt{color:var(--mt-text);background:var(--mt-page);border:1px solid var(--mt-line);border-radius:6px;
 padding:10px 14px;margin:4px 0;font:13px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
 max-width:100%;box-sizing:border-box;overflow-wrap:anywhere}
.mt.mt.mt-bare{padding:0;overflow:hidden}
.mt.mt h3{font-size:15px;margin:0 0 2px;color:var(--mt-text);font-weight:600}
.mt.mt p{margin:0 0 6px;color:var(--mt-muted)}
.mt.mt .mt-note{margin:4px 0;color:var(--mt-text)}
.mt.mt .mt-warn{color:var(--mt-warn)} .mt.mt .mt-bad{color:var(--mt-bad)} .mt.mt .mt-good{color:var(--mt-good)}
.mt.mt details{margin:6px 0 0;border-top:1px solid var(--mt-line);padding-top:6px}
.mt.mt summary{cursor:pointer;font-weight:600;color:var(--mt-accent)}
.mt.mt summary:focus-visible,.mt.mt .mt-scroll:focus-visible{
 outline:2px solid var(--mt-accent);outline-offset:2px}
.mt.mt .mt-scroll{overflow:auto;max-height:420px;margin:6px 0 2px}
.mt.mt table{border-collapse:collapse;margin:0;font-size:12.5px;color:var(--mt-text);
 table-layout:auto;border:none}
.mt.mt table th,.mt.mt table td{padding:3px 10px 3px 0;border:none;border-bottom:1px solid var(--mt-line);
 background:var(--mt-page);color:var(--mt-text);vertical-align:top;max-width:46em;text-align:left;
 font-variant-numeric:tabular-nums;white-space:nowrap;overflow-wrap:break-word}
.mt.mt table thead th{position:sticky;top:0;background:var(--mt-head);padding:4px 10px 4px 4px;font-weight:600}
.mt.mt table tbody td,.mt.mt table tbody th{padding-left:4px}
.mt.mt table tbody tr{background:var(--mt-page)}
.mt.mt table .mt-right{text-align:right;white-space:nowrap}
.mt.mt table .mt-words{min-width:13em;white-space:normal}
.mt.mt table.mt-facts td{white-space:normal;overflow-wrap:anywhere}
.mt.mt table.mt-facts th{color:var(--mt-muted);font-weight:400;white-space:nowrap}
.mt.mt caption{text-align:left;caption-side:top;color:var(--mt-muted);padding:0 0 4px}
.mt.mt pre{margin:0;padding:8px 12px;background:var(--mt-code);color:var(--mt-text);border-radius:4px;
 font:12.5px/1.45 var(--jp-code-font-family,
 var(--vscode-editor-font-family,ui-monospace,Menlo,Consolas,monospace));
 white-space:pre;overflow-x:auto;tab-size:2;overflow-wrap:normal}
.mt.mt .mt-scroll pre{overflow:visible;display:inline-block;min-width:100%;box-sizing:border-box}
.mt.mt .mt-track{display:inline-block;width:6em;height:.6em;background:var(--mt-track);margin-left:.6em}
.mt.mt .mt-fill{display:block;height:100%;background:var(--mt-bar)}
"""


def _variables(palette: dict[str, str]) -> str:
    return "".join(f"--mt-{role}:{colour};" for role, colour in palette.items())


@cache
def sheet() -> str:
    """The style sheet, the same text for every output."""
    dark = _variables(DARK)
    selectors = ",".join(f"{says} .mt.mt" for says in _SAYS_DARK)
    return (
        f".mt.mt{{{_variables(LIGHT)}}}"
        f"@media(prefers-color-scheme:dark){{{_SAYS_NOTHING} .mt.mt{{{dark}}}}}"
        f"{selectors}{{{dark}}}{_RULES.strip()}{LINE_RULES}{REGION_RULES}{VALUE_RULES}"
    )


def framed(body: str, *, label: str, bare: bool = False, with_sheet: bool = True) -> str:
    """`body` as one output: its style sheet and a labelled group around it. Parts of an output that has the
    sheet already go without."""
    classes = "mt mt-bare" if bare else "mt"
    style = f"<style>{sheet()}</style>" if with_sheet else ""
    return f'<div class="{classes}" role="group" aria-label="{escape(label, quote=True)}">{style}{body}</div>'


def page(body: str, *, title: str) -> str:
    """A whole HTML document around framed outputs; follows the reader's light or dark setting."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title></head>\n'
        f"<body>{body}</body></html>\n"
    )
