"""Which definition each value name in printed MLIR stands for: names are used again in other regions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["VALUE_RULES", "Value", "links_of", "mark_rules"]

_NAME = re.compile(r"%[\w$.-]+")
_RESULTS = re.compile(r"\s*(%[\w$.-]+(?::\d+)?(?:, %[\w$.-]+(?::\d+)?)*) = ")
_ARGUMENT = re.compile(r"%[\w$.-]+(?=: | = )")
_OP = re.compile(r'"?([A-Za-z_][\w$]*(?:\.[\w$]+)+)')

_MARKED = "background:var(--mt-head);outline:1px solid var(--mt-accent);border-radius:2px"
VALUE_RULES = (
    ".mt.mt .mt-tree a{color:inherit;text-decoration:none;scroll-margin:5em}"
    ".mt.mt .mt-tree a:hover{text-decoration:underline}"
    f".mt.mt .mt-tree a:target{{{_MARKED};outline-width:2px!important;font-weight:700}}"
)


@dataclass(frozen=True)
class Value:
    """A value where a line names it: the definition's number, whether it is here, and the op that makes it."""

    number: int
    defined: bool
    op: str


def links_of(lines: Sequence[str]) -> list[dict[str, Value]]:
    """For each line, its names with the value that each stands for there.

    Names whose definition is not among the lines, and values without a use, are left out.
    """
    found = _resolved(lines)
    uses = Counter(value.number for line in found for value in line.values() if not value.defined)
    return [{name: value for name, value in line.items() if uses[value.number]} for line in found]


def mark_rules(links: Sequence[dict[str, Value]], prefix: str) -> str:
    """Style rules that mark every use of the value whose definition a link has led to."""
    numbers = sorted({value.number for line in links for value in line.values()})
    each = ",".join(f'.mt-tree:has(#{prefix}{n}:target) [href="#{prefix}{n}"]' for n in numbers)
    return f"<style>{each}{{{_MARKED}}}</style>" if numbers else ""


def _resolved(lines: Sequence[str]) -> list[dict[str, Value]]:
    scopes: list[dict[str, Value]] = [{}]
    count = 0
    resolved = []
    for line in lines:
        stripped = line.lstrip()
        if stripped.startswith("}") and len(scopes) > 1:
            scopes.pop()
        results = _RESULTS.match(line)
        opens = line.endswith("{")
        outer = _NAME.findall(results.group(1)) if results else []
        inner = _arguments(line[results.end() if results else 0 :]) if opens or stripped[:1] == "^" else []
        here = {name: value for name in _NAME.findall(line) if (value := _look_up(scopes, name)) is not None}
        op = _OP.search(line, results.end()) if results else None
        around = scopes[-1]
        if opens:
            scopes.append({})
        for names, scope, kind in ((outer, around, op.group(1) if op else ""), (inner, scopes[-1], "argument")):
            for name in names:
                scope[name] = Value(count, False, kind)
                here[name] = Value(count, True, kind)
                count += 1
        resolved.append(here)
    return resolved


def _arguments(text: str) -> list[str]:
    """Names of block arguments: of a function's or a block's head, or carried by a loop."""
    return _ARGUMENT.findall(text)


def _look_up(scopes: list[dict[str, Value]], name: str) -> Value | None:
    return next((scope[name] for scope in reversed(scopes) if name in scope), None)
