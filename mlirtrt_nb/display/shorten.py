"""MLIR text made shorter for a display: constants by type and size, long runs of them counted, lines cut."""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod

from .card import Code
from .units import byte_size, plural

__all__ = ["cut_lines", "fold_constants", "is_constant", "shortened"]

_CONSTANT = re.compile(r"\s*%[\w$.-]+ = (?:[\w.]+\.[cC]onstant|onnx\.NoValue)\b")
_LONGEST = 1000  # characters of one line
# A literal that is worth eliding, in angle brackets, and the type behind it.
_LITERAL = re.compile(r'\bdense<(?P<body>[^<>"]{121,}|"0x[0-9A-Fa-f]{117,}")> : (?P<type>tensor<[^<>]*>)')
_WEIGHT = re.compile(r"\bdense_resource<[^<>]*> : (?P<type>tensor<[^<>]*>)(?=$| )")
_ELEMENT = re.compile(r"tensor<(?P<dims>(?:\d+x)*)(?P<kind>(?:bf|tf|[su]?i|f)(?P<bits>\d+)\w*|index)>")


def shortened(text: str) -> str:
    """`text` as displays show it: no long literals, the size of each weight, runs of constants counted."""
    elided = _LITERAL.sub(lambda match: f"dense<…> : {match['type']}", text) if "dense<" in text else text
    return fold_constants("\n".join(_with_size(line) for line in elided.split("\n")))


def cut_lines(code: Code) -> list[str]:
    """The first lines, shortened, long ones cut, and a last one that says how many are left out."""
    lines = shortened(code.text.rstrip("\n")).split("\n")
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
    """`text` with each long run of constants cut to `keep` and a line that counts the rest, with their size: in
    a model's IR hundreds of weights stand before the first op that computes."""
    lines: list[str] = []
    run: list[str] = []
    for line in [*text.split("\n"), None]:
        if line is not None and is_constant(line):
            run.append(line)
            continue
        if len(run) > keep + 1:
            run[keep:] = [_rest(run[keep:])]
        lines += run
        run = []
        if line is not None:
            lines.append(line)
    return "\n".join(lines)


def _rest(run: list[str]) -> str:
    indent = run[0][: len(run[0]) - len(run[0].lstrip())]
    size = sum(_bytes_of(match["type"]) or 0 for line in run if (match := _WEIGHT.search(line)))
    return f"{indent}// … {plural(len(run), 'more constant')}{f', {byte_size(size)}' if size else ''}"


def _with_size(line: str) -> str:
    """A constant's line with its size in a comment, where its values stand elsewhere or were elided."""
    if not is_constant(line):
        return line
    match = _WEIGHT.search(line) or re.search(r"dense<…> : (?P<type>tensor<[^<>]*>)", line)
    size = _bytes_of(match["type"]) if match else None
    if size is None:
        return line
    return f"{line}, {byte_size(size)}" if "  // " in line else f"{line}  // {byte_size(size)}"


@lru_cache(maxsize=1024)
def _bytes_of(type_: str) -> int | None:
    """Bytes of a tensor type; None where its shape or element type does not tell."""
    match = _ELEMENT.fullmatch(type_)
    if match is None:
        return None
    bits = int(match["bits"] or 64)
    count = prod(int(dim) for dim in match["dims"].split("x") if dim)
    # Tensors are kept with whole bytes an element, but for the packed kinds of four bits.
    return -(-count * bits // 8) if bits in (4, 2) else count * -(-bits // 8)
