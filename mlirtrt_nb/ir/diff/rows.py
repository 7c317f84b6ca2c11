"""A diff as rows: which line of the one text stands beside which of the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from .alignment import matching_pairs
from .lines import line_keys
from .values import Names

__all__ = ["Row", "TextDiff", "diff_texts"]

Kind = Literal["same", "rewired", "changed", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Row:
    """Lines side by side, by index from 0; None where a side has none.

    `same`: equal but for names of values and indentation. `rewired`: the same op, reading another value.
    `changed`: another op or other attributes in the place of the old one. `removed`, `added`: on one side only.
    `names` are the places of the value names, along the line from 0, that make a rewired line one.
    """

    kind: Kind
    before: int | None
    after: int | None
    names: tuple[int, ...] = ()


@dataclass(frozen=True)
class TextDiff:
    """Both texts in lines, and the rows that cover all lines of both in order."""

    before: list[str]
    after: list[str]
    rows: list[Row] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return all(row.kind == "same" for row in self.rows)

    @property
    def counts(self) -> tuple[int, int]:
        """How many lines came, and how many went."""
        came = sum(row.kind != "same" and row.after is not None for row in self.rows)
        went = sum(row.kind != "same" and row.before is not None for row in self.rows)
        return came, went


def diff_texts(before: str, after: str) -> TextDiff:
    """The diff of two texts of MLIR modules or functions."""
    old, new = _lines(before), _lines(after)
    if old == new:
        return TextDiff(old, new, [Row("same", n, n) for n in range(len(old))])
    names = Names()
    rows: list[Row] = []
    old_at = new_at = 0
    pairs = matching_pairs(line_keys(old), line_keys(new))
    for n, m in [*pairs, (len(old), len(new))]:
        if old_at < n or new_at < m:
            rows += _hunk(old, new, range(old_at, n), range(new_at, m), names)
        if n < len(old):
            other = names.rewired(old[n], new[m])
            rows.append(Row("rewired", n, m, other) if other else Row("same", n, m))
        old_at, new_at = n + 1, m + 1
    return TextDiff(old, new, rows)


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n") if text.strip("\n") else []


def _hunk(old: list[str], new: list[str], went: range, came: range, names: Names) -> Iterator[Row]:
    """Rows of a stretch in which no lines are alike. An op is put beside the one that it most likely became: of
    the same name and type, or else of the same type."""
    for n in went:
        names.only_before(old[n])
    for m in came:
        names.only_after(new[m])
    old_at, new_at = went.start, came.start
    for n, m in [*_likely(old, new, went, came), (went.stop, came.stop)]:
        yield from (Row("removed", k, None) for k in range(old_at, n))
        yield from (Row("added", None, k) for k in range(new_at, m))
        if n < went.stop:
            names.replaced(old[n], new[m])
            yield Row("changed", n, m)
        old_at, new_at = n + 1, m + 1


def _likely(old: list[str], new: list[str], went: range, came: range) -> Iterator[tuple[int, int]]:
    if not went or not came:
        return
    same_op = matching_pairs([_op(old[n]) for n in went], [_op(new[m]) for m in came])
    last_i = last_j = 0
    for i, j in [*same_op, (len(went), len(came))]:
        before, after = went[last_i:i], came[last_j:j]
        same_type = matching_pairs([_outcome(old[n]) for n in before], [_outcome(new[m]) for m in after])
        yield from ((before[k], after[p]) for k, p in same_type)
        if i < len(went):
            yield went[i], came[j]
        last_i, last_j = i + 1, j + 1


_OP = re.compile(r"\s*(?:%[^=]* = )?\"?([\w.]+)")


def _op(line: str) -> tuple[str, str]:
    """The name of an op and what it gives."""
    match = _OP.match(line)
    return match.group(1) if match else "", _outcome(line)


# The last type of a line: a name, with what it holds in brackets, nested once.
_TYPE = re.compile(r"[!\w.]+(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>)?(?=\)?$)")


def _outcome(line: str) -> str:
    """What an op line gives: the type at its end, or the line itself where there is none."""
    match = _TYPE.search(line)
    return match.group() if match else line.strip()
