"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress", "part_of"]

# Called with what is being done, how many steps of it are done, and of how many (0 where that is not known).
# Returns whether to go on: at False the work raises `Cancelled` as soon as it can.
Progress = Callable[[str, int, int], bool]


def part_of(progress: Progress, number: int, total: int, label: str = "") -> Progress:
    """What part `number`, from 0, of `total` is to call: it says how far the whole is, and puts `label` before
    what is being done. A part that does not know its end counts once the next one begins."""

    def report(phase: str, done: int, count: int) -> bool:
        if total > 1:
            steps = max(count, 1)
            done = number * steps + (min(done, steps) if count > 0 else 0)
            count = total * steps
        return progress(label + phase, done, count)

    return report
