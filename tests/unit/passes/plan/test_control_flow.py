"""plan-schedule on branches and loops: steps in blocks, where values lie, and how long they live."""

from __future__ import annotations

import itertools

import pytest

from mlirtrt_nb.frontends.text import from_mlir
from mlirtrt_nb.ir.verifier import errors_of
from mlirtrt_nb.passes.plan.plan_schedule import schedule
from mlirtrt_nb.runtime.reader import read_schedule
from mlirtrt_nb.runtime.schedule import Schedule, Step, walk

FUNCTIONS = """
tensorrt.module @trt_engines {
  func.func private @e(tensor<4xf32>) -> tensor<4xf32>
  func.func private @big(tensor<400x400xf32>) -> tensor<400x400xf32>
}
func.func private @h(tensor<4xf32>) -> tensor<4xf32> attributes {plan.backend = "onnx"}
func.func private @test(tensor<4xf32>) -> tensor<i1> attributes {plan.backend = "onnx"}
"""
ENGINE = "tensorrt.call_alloc @trt_engines::@e"
F = "tensor<4xf32>"


def made(main: str, device: str) -> Schedule:
    """The schedule of `@main`, whose IR keeps its rules."""
    program = from_mlir(FUNCTIONS + main)
    op = schedule(program, device, ["cpu" if device == "cpu" else "sm89"], workspaces={"trt_engines::e": 300})
    with program.context:
        assert errors_of(op) == []
    return read_schedule(op, {})


def spelled(made: Schedule) -> list[str]:
    """One line per step, indented by depth."""
    return list(_lines(made, made.steps, ""))


def _lines(made: Schedule, steps: tuple[Step, ...], indent: str):
    names = [buffer.name for buffer in made.buffers]
    for step in steps:
        sides = (", ".join(names[n] for n in side) for side in (step.ins, step.outs))
        bounds = "".join(f" {names[n]}" for n in (step.trips, step.going) if n is not None)
        yield f"{indent}{step.kind}{bounds} {' -> '.join(sides)}".rstrip()
        for number, block in enumerate(step.blocks):
            yield from [f"{indent}else"] if number else []
            yield from _lines(made, block, indent + "  ")


BRANCH = f"""
func.func @main(%c: tensor<i1> {{plan.name = "c"}}, %x: {F} {{plan.name = "x"}})
    -> ({F} {{plan.name = "y"}}) {{
  %a = {ENGINE}(%x : {F}) -> {F}
  %r = plan.if (%c : tensor<i1>) -> {F} {{
    %b = {ENGINE}(%a : {F}) -> {F}
    plan.yield %b : {F}
  }} else {{
    plan.yield %a : {F}
  }}
  %y = func.call @h(%r) : ({F}) -> {F}
  return %y : {F}
}}"""


def test_a_branch_on_the_host() -> None:
    """Both branches fill one buffer: an engine writes into it, or what is passed through is copied."""
    assert spelled(made(BRANCH, "cpu")) == [
        "call x -> e",
        "if c ->",
        "  call e -> if",
        "else",
        "  copy e -> if",
        "call if -> y",
    ]


def test_a_branch_on_the_device() -> None:
    """Its result lies where it is read, on the host; what one branch copies, the other does not count on."""
    assert spelled(made(BRANCH, "cuda")) == [
        "copy x -> x.device",
        "enqueue x.device -> e.device",
        "synchronize  ->",
        "if c ->",
        "  enqueue e.device -> e.device",
        "  copy e.device -> if.host",
        "else",
        "  copy e.device -> if.host",
        "synchronize  ->",
        "call if.host -> y",
    ]


LOOP = f"""
func.func @main(%n: tensor<i64> {{plan.name = "n"}}, %x: {F} {{plan.name = "x"}}, %k: {F} {{plan.name = "k"}})
    -> ({F} {{plan.name = "y"}}, {F} {{plan.name = "z"}}) {{
  %r:2 = plan.loop trips(%n : tensor<i64>) init(%x, %k : {F}, {F}) -> {F}, {F} {{
  ^bb0(%i: tensor<i64>, %a: {F}, %b: {F}):
    %c = {ENGINE}(%a : {F}) -> {F}
    %d = {ENGINE}(%k : {F}) -> {F}
    %t = func.call @test(%c) : ({F}) -> tensor<i1>
    plan.yield %t, %b, %c : tensor<i1>, {F}, {F}
  }}
  return %r#0, %r#1 : {F}, {F}
}}"""


def test_a_loop_on_the_host() -> None:
    """What is carried over another carried value is taken aside first; the flag begins as true."""
    assert spelled(made(LOOP, "cpu")) == [
        "copy x -> carried.0",
        "copy k -> carried.1",
        "copy constant5 -> going",
        "repeat n going  ->",
        "  call carried.0 -> e",
        "  call k -> e",
        "  call e -> test",
        "  copy carried.1 -> before.0",
        "  move before.0 -> carried.0",
        "  move e -> carried.1",
        "  move test -> going",
        "copy carried.0 -> y",
        "copy carried.1 -> z",
    ]


def test_a_loop_on_the_device() -> None:
    """What the body reads from outside is brought over once; each turn ends with a wait."""
    found = spelled(made(LOOP, "cuda"))
    repeat = next(n for n, line in enumerate(found) if line.startswith("repeat"))
    assert "copy k -> k.device" in found[:repeat] and found[repeat - 1] == "synchronize  ->"
    assert not any("k -> " in line for line in found[repeat:])
    assert found[repeat + 1 :][-3:] == [
        "copy carried.0.device -> y",
        "copy carried.1.device -> z",
        "synchronize  ->",
    ]
    inside = [line for line in found[repeat:] if line.startswith("  ")]
    assert inside[-2:] == ["  synchronize  ->", "  move test.host -> going.host"]


def test_a_large_carried_value_changes_hands() -> None:
    """Above a size the host carries on the memory, not its contents; below, a place in the arena."""
    large = "tensor<400x400xf32>"
    main = f"""
func.func @main(%n: tensor<i64>, %x: {large}) -> {large} {{
  %r = plan.loop trips(%n : tensor<i64>) init(%x : {large}) -> {large} {{
  ^bb0(%i: tensor<i64>, %a: {large}):
    %on = tensorrt.constant dense<true> : tensor<i1>
    %b = tensorrt.call_alloc @trt_engines::@big(%a : {large}) -> {large}
    plan.yield %on, %b : tensor<i1>, {large}
  }}
  return %r : {large}
}}"""
    buffers = {buffer.name: buffer for buffer in made(main, "cpu").buffers}
    assert buffers["carried"].offset is None
    small = {buffer.name: buffer for buffer in made(LOOP, "cpu").buffers}
    assert small["carried.0"].offset is not None


NESTED = f"""
func.func @main(%n: tensor<i64>, %x: {F}) -> ({F}, tensor<?x4xf32>) {{
  %p = {ENGINE}(%x : {F}) -> {F}
  %q = {ENGINE}(%p : {F}) -> {F}
  %r:2 = plan.loop trips(%n : tensor<i64>) init(%p : {F}) -> {F}, tensor<?x4xf32> {{
  ^bb0(%i: tensor<i64>, %a: {F}):
    %c = func.call @test(%a) : ({F}) -> tensor<i1>
    %v = plan.if (%c : tensor<i1>) -> {F} {{
      %s = plan.loop trips(%n : tensor<i64>) init(%a : {F}) -> {F} {{
      ^bb0(%j: tensor<i64>, %b: {F}):
        %on = tensorrt.constant dense<true> : tensor<i1>
        %d = {ENGINE}(%b : {F}) -> {F}
        %e = {ENGINE}(%d : {F}) -> {F}
        plan.yield %on, %e : tensor<i1>, {F}
      }}
      plan.yield %s : {F}
    }} else {{
      %f = func.call @h(%q) : ({F}) -> {F}
      %g = {ENGINE}(%f : {F}) -> {F}
      plan.yield %g : {F}
    }}
    %w = {ENGINE}(%v : {F}) -> {F}
    %on = tensorrt.constant dense<true> : tensor<i1>
    plan.yield %on, %w, %v : tensor<i1>, {F}, {F}
  }}
  %z = {ENGINE}(%r#0 : {F}) -> {F}
  return %z, %r#1 : {F}, tensor<?x4xf32>
}}"""


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("main", [BRANCH, LOOP, NESTED])
def test_what_lives_together_shares_no_bytes(main: str, device: str) -> None:
    """Also over all turns: what a loop reads from outside, or carries, lives until its last step."""
    found = made(main, device)
    placed = [buffer for buffer in found.buffers if buffer.offset is not None]
    for a, b in itertools.combinations(placed, 2):
        if a.space == b.space and a.first <= b.last and b.first <= a.last:
            assert a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
    spans = _loops(found.steps, itertools.count())
    for n, buffer in enumerate(found.buffers):
        uses = [k for k, step in enumerate(walk(found.steps)) if n in step.touches()]
        for first, last in spans:
            before = any(k <= first for k in uses) and any(first < k <= last for k in uses)
            if before and buffer.offset is not None:
                assert buffer.last >= last, buffer.name


def _loops(steps: tuple[Step, ...], numbers) -> list[tuple[int, int]]:
    """(number of the repeat, number of its last step) of every loop."""
    found = []
    for step in steps:
        first = next(numbers)
        inner = [span for block in step.blocks for span in _loops(block, numbers)]
        if step.kind == "repeat":
            found.append((first, first + sum(1 for _ in walk([step])) - 1))
        found += inner
    return found
