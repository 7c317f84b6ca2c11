"""attention, kv_cache_update, rotary_embedding and moe."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from .cases import Case, case, integers, uniform
from .reductions import softmax

BF16 = ml_dtypes.bfloat16


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """softmax(q k^T + mask) v with key heads repeated; a boolean mask keeps where it is true."""
    k, v = (np.repeat(a.astype(np.float64), q.shape[1] // a.shape[1], 1) for a in (k, v))
    scores = q.astype(np.float64) @ k.swapaxes(2, 3)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    return softmax(scores, 3) @ v


def _attentions() -> Iterator[Case]:
    shape = (2, 4, 5, 8)
    for dtype in (np.float32, np.float16, BF16):
        q, k, v = (uniform(*shape, low=-1, high=1, dtype=dtype) for _ in range(3))
        yield case("attention", [q, k, v], attended(q, k, v).astype(dtype), slack=8)
    q, (k, v) = uniform(*shape), (uniform(2, 4, 7, 8) for _ in range(2))
    upper = np.arange(7) <= np.arange(5)[:, None]
    lower = np.arange(7) <= np.arange(5)[:, None] + 2
    for kind, mask in (("kUPPER_LEFT", upper), ("kLOWER_RIGHT", lower)):
        yield case(
            "attention", [q, k, v], attended(q, k, v, mask).astype(np.float32), causalKind=kind, slack=20
        )
    added, kept = uniform(1, 1, 5, 7), np.array(integers(2, 1, 5, 7, low=0, high=2), np.bool_)
    kept[..., 0] = True
    for mask, label in ((added, "added"), (kept, "boolean")):
        yield case(
            "attention", [q, k, v, mask], attended(q, k, v, mask).astype(np.float32), label=label, slack=20
        )
    k, v = (uniform(2, 2, 7, 8) for _ in range(2))
    expected = attended(q, k, v).astype(np.float32)
    yield case("attention", [q, k, v], expected, label="grouped", slack=20, dynamic=False)
    plain = q.astype(np.float64) @ np.repeat(k, 2, 1).swapaxes(2, 3) @ np.repeat(v, 2, 1)
    yield case("attention", [q, k, v], plain.astype(np.float32), normOp="kNONE", slack=60, dynamic=False)


def _caches() -> Iterator[Case]:
    for dtype in (np.float32, np.float16, BF16):
        cache, update = uniform(2, 3, 8, 4, dtype=dtype), uniform(2, 3, 2, 4, dtype=dtype)
        for kind in (np.int32, np.int64):
            begins = np.array([5, 0], kind)
            expected = cache.copy()
            for n, begin in enumerate(begins):
                expected[n, :, begin : begin + 2] = update[n]
            yield case("kv_cache_update", [cache, update, begins], expected, label=np.dtype(kind).name)


def rotated(x: np.ndarray, cosine: np.ndarray, sine: np.ndarray, pairs: bool) -> np.ndarray:
    """Rotary embedding of all of the last dimension."""
    half = x.shape[-1] // 2
    one, two = (x[..., 0::2], x[..., 1::2]) if pairs else (x[..., :half], x[..., half:])
    cosine, sine = cosine[:, None], sine[:, None]
    first, second = one * cosine - two * sine, two * cosine + one * sine
    return np.stack([first, second], -1).reshape(x.shape) if pairs else np.concatenate([first, second], -1)


def _rotations() -> Iterator[Case]:
    x = uniform(2, 3, 4, 8)
    angles = uniform(2, 4, 4)
    cosine, sine = np.cos(angles), np.sin(angles)
    for pairs in (False, True):
        expected = rotated(x, cosine, sine, pairs)
        yield case(
            "rotary_embedding",
            [x, cosine, sine],
            expected,
            interleaved=pairs,
            label=f"pairs{pairs}",
            slack=4,
            dynamic=False,
        )
    part = np.concatenate([rotated(x[..., :4], cosine[..., :2], sine[..., :2], False), x[..., 4:]], -1)
    yield case(
        "rotary_embedding",
        [x, cosine[..., :2], sine[..., :2]],
        part,
        rotaryEmbeddingDim=4,
        label="part",
        slack=4,
        dynamic=False,
    )
    table = uniform(10, 4)
    positions = integers(2, 4, low=0, high=10)
    expected = rotated(x, np.cos(table)[positions], np.sin(table)[positions], False)
    yield case(
        "rotary_embedding",
        [x, np.cos(table), np.sin(table), positions],
        expected,
        label="positions",
        slack=4,
        dynamic=False,
    )


def _mixtures() -> Iterator[Case]:
    x, experts = uniform(2, 3, 4), 5
    gate, up, down = uniform(experts, 4, 6), uniform(experts, 4, 6), uniform(experts, 6, 4)
    chosen = np.array([[[0, 1], [2, 4], [3, 3]], [[1, 0], [4, 2], [0, 4]]], np.int32)
    scores = uniform(2, 3, 2, low=0, high=1)
    expected = np.zeros(x.shape)
    for b, s, n in np.ndindex(*chosen.shape):
        e = chosen[b, s, n]
        g, u = x[b, s] @ gate[e], x[b, s] @ up[e]
        expected[b, s] += scores[b, s, n] * ((g / (1 + np.exp(-g)) * u) @ down[e])
    yield case("moe", [x, chosen, scores, gate, up, down], expected.astype(np.float32), slack=60, dynamic=False)


CASES = [*_attentions(), *_caches(), *_rotations(), *_mixtures()]
