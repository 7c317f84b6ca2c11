"""How far work is, where it has parts."""

from __future__ import annotations

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.progress import part_of

RELU = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


@pytest.mark.parametrize(
    ("part", "said", "expected"),
    [
        ((0, 2), (1, 4), (1, 8)),
        ((1, 2), (4, 4), (8, 8)),
        ((1, 2), (5, 4), (8, 8)),
        ((1, 4), (7, 0), (1, 4)),
        ((0, 1), (7, 0), (7, 0)),
    ],
)
def test_a_part_says_how_far_the_whole_is(
    part: tuple[int, int], said: tuple[int, int], expected: tuple[int, int]
) -> None:
    """A part that does not know its end stands still; a whole of one part is that part."""
    heard: list[tuple[str, int, int]] = []
    report = part_of(lambda *told: bool(heard.append(told)), *part, "b: ")
    assert report("work", *said) is False
    assert heard == [("b: work", *expected)]


def test_the_first_of_two_engines_fills_half() -> None:
    """A bar is full only once every target is built."""
    seen: list[tuple[str, float]] = []

    def progress(phase: str, done: int, total: int) -> bool:
        seen.append((phase, done / total))
        return True

    mt.compile(mt.from_mlir(RELU), ["cpu", "sm89"], progress=progress, cache=False)
    first = [share for phase, share in seen if phase.startswith("main_0 for cpu (1/2)")]
    second = [share for phase, share in seen if phase.startswith("main_0 for sm89 (2/2)")]
    assert first and max(first) <= 0.5 <= min(second) and max(second) == 1
