"""How far the windows of a pooling with ceil_mode reach along an axis."""

from __future__ import annotations

__all__ = ["ceil_span"]


def ceil_span(size: int, before: int, after: int, reach: int, stride: int) -> int:
    """How many elements, from the first of the padding on, the windows of `reach` elements span.

    As many windows as `size` elements with their padding have, rounded up, but for a last one that would start
    in the padding at the end: ONNX's text and every runtime leave it out, its inference before opset 22 counts
    it. What is spanned is more than there is where the last window is cut, less where one is left out.
    """
    steps = -((reach - size - before - after) // stride)
    if steps * stride >= size + before:
        steps -= 1
    return steps * stride + reach
