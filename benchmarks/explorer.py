"""The pass explorer: toggles beside the whole pipeline, the diff beside difflib, and the size of a page."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from functools import partial

import mlirtrt_nb as mt
from mlirtrt_nb.display.run_page import run_page
from mlirtrt_nb.ir.diff import diff_texts
from mlirtrt_nb.widgets.explorer import Explorer, explore
from models.fetch import model

from .table import Benchmark, Row
from .timing import alternate

__all__ = ["run"]

_T = "tensor<1x8x4x4xf32>"
_KINDS = (
    "tensorrt.activation {{activationType = #tensorrt.activation_type<kRELU>}} {x} : {t}",
    "tensorrt.softmax {{axis = 1 : i64}} {x} : {t}",
    "tensorrt.identity {x} : {t} to {t}",
    "tensorrt.element_wise <kSUM>({x}, %x : {t}, {t}) -> {t}",
    "tensorrt.slice {x}[0, 0, 0, 0][1, 8, 4, 4][1, 1, 1, 1] : {t} to {t}",
)
# Seconds that a toggle may take, with its diff and all that is drawn.
_TOGGLE_LIMITS = {500: 0.3, 10_000: 2.0}
_PAGE_LIMIT = 500_000
_SHARE = 0.1


def _program(count: int) -> mt.Program:
    """A chain of `count` ops, a fifth of which the canonicalizer drops."""
    lines, value = [], "%x"
    for number in range(count):
        op = _KINDS[number % len(_KINDS)].format(x=value, t=_T)
        lines.append(f"  %{number} = {op}")
        value = f"%{number}"
    text = "\n".join([f"func.func @main(%x: {_T}) -> {_T} {{", *lines, f"  return {value} : {_T}", "}"])
    return mt.from_mlir(text)


def _toggle(explorer: Explorer, name: str) -> None:
    """Off and on again, each with all that the widget shows."""
    explorer.toggle(name)
    explorer.toggle(name)


def _fastest(call: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest of some calls, after one that does not count."""
    call()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def _opened(program: mt.Program, passes: str | None = None) -> Explorer:
    explorer = explore(program, passes)
    explorer.widget  # noqa: B018 - makes the widgets, which follow from then on
    return explorer


def _last_pass(name: str) -> Row:
    """Toggling the last pass, redrawing included, beside running the whole pipeline."""
    program = mt.load(model(name))
    explorer = _opened(program)
    last = explorer.state.items[-1].entry.name
    explorer.select(last)
    ours, peer = alternate(partial(_toggle, explorer, last), lambda: explorer.pipeline.run(program), seconds=3)
    return Row(name, "last pass toggled", ours / 2, peer, "s", f"beside the whole pipeline; limit {_SHARE}")


def _synthetic(count: int) -> tuple[Row, Row]:
    """Toggle and diff of one pass in the middle, and the diff alone beside difflib on the same texts."""
    explorer = _opened(_program(count), "cse,tensorrt-canonicalize,plan-clustering")
    explorer.select("tensorrt-canonicalize")
    before, after = (each.shown_text for each in explorer.state.around(explorer.state.selected))
    limit = _TOGGLE_LIMITS[count]
    toggled = _fastest(partial(_toggle, explorer, "tensorrt-canonicalize"), 3) / 2
    ours = _fastest(lambda: diff_texts(before, after), 3)
    peer = _difflib_seconds(before, after)
    return (
        Row(f"{count} ops", "toggle and diff", toggled, limit, "s", "beside its limit"),
        Row(f"{count} ops", "diff", ours, peer, "s", "difflib counts renumbered lines as changed"),
    )


def _difflib_seconds(before: str, after: str) -> float:
    start = time.perf_counter()
    list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm=""))
    return time.perf_counter() - start


def _page(name: str) -> Row:
    run_ = mt.Pipeline.default().run(mt.load(model(name)))
    size = len(run_page(run_).encode())
    return Row(name, "page", size, _PAGE_LIMIT, "B", "beside its limit")


def run() -> list[Benchmark]:
    """The toggle of a real model beside its pipeline; limits on synthetic modules, the diff beside difflib."""
    toggles = Benchmark("explorer toggles", "the whole pipeline", each_limit=_SHARE)
    toggles.rows.append(_last_pass("resnet50"))
    limits = Benchmark("explorer limits", "its limits", each_limit=1.0)
    diffs = Benchmark("explorer diff", "difflib")
    for count in _TOGGLE_LIMITS:
        toggled, diff = _synthetic(count)
        limits.rows.append(toggled)
        diffs.rows.append(diff)
    limits.rows.append(_page("resnet50"))
    return [toggles, limits, diffs]
