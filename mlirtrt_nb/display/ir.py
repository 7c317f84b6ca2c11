"""MLIR text as highlighted HTML, bounded in lines and in line length."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from .card import Code
from .palette import TOKEN_ROLES
from .style import framed
from .units import plural

__all__ = ["code_html", "cut_lines", "fold_constants", "ir_html", "is_constant", "role_of"]

_CONSTANT = re.compile(r"\s*%[\w$.-]+ = (?:[\w.]+\.[cC]onstant|onnx\.NoValue)\b")
_LONGEST = 1000  # characters of one line


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
    return f"<pre>{_highlight(chr(10).join(cut_lines(code)))}</pre>"


def cut_lines(code: Code) -> list[str]:
    """The first lines, long ones cut, and a last one that says how many are left out."""
    lines = code.text.rstrip("\n").split("\n")
    shown: list[str] = []
    room = code.characters
    for line in lines[: code.limit]:
        if len(line) > _LONGEST:
            line = f"{line[:_LONGEST]} … {len(line) - _LONGEST} more"
        room -= len(line)
        if room < 0 and shown:
            break
        shown.append(line)
    if len(shown) < len(lines):
        shown.append(f"// … {plural(len(lines) - len(shown), 'more line')}")
    return shown


def is_constant(line: str) -> bool:
    """Whether a line is an op that gives a constant."""
    return _CONSTANT.match(line) is not None


def fold_constants(text: str, keep: int = 3) -> str:
    """`text` with each long run of constants cut to `keep` and a line that counts the rest: in a model's IR
    hundreds of weights stand before the first op that computes."""
    lines: list[str] = []
    run: list[str] = []
    for line in [*text.split("\n"), None]:
        if line is not None and is_constant(line):
            run.append(line)
            continue
        if len(run) > keep + 1:
            indent = run[0][: len(run[0]) - len(run[0].lstrip())]
            run[keep:] = [f"{indent}// … {plural(len(run) - keep, 'more constant')}"]
        lines += run
        run = []
        if line is not None:
            lines.append(line)
    return "\n".join(lines)


def _highlight(text: str) -> str:
    from pygments import lex

    from .lexer import MlirLexer

    parts: list[str] = []
    role, run = "", ""
    for token, value in lex(text, MlirLexer(stripnl=False, ensurenl=False)):
        new = role_of(str(token))
        if new != role:
            parts.append(_span(role, run))
            role, run = new, ""
        run += value
    parts.append(_span(role, run))
    return "".join(parts)


@lru_cache(maxsize=256)
def role_of(token: str) -> str:
    """The colour role of a token type by its nearest listed ancestor; "" for plain text."""
    while token:
        if token in TOKEN_ROLES:
            return TOKEN_ROLES[token]
        token = token.rpartition(".")[0]
    return ""


def _span(role: str, text: str) -> str:
    if not role or not text:
        return escape(text)
    return f'<span class="mt-{role}">{escape(text)}</span>'
