"""A partition looked at with other settings: beside cutting the model anew, and beside a tenth of a second."""

from __future__ import annotations

from functools import partial

import mlirtrt_nb as mt
from models.fetch import SHAPES, model

from .table import Benchmark, Row
from .timing import alternate

__all__ = ["run"]

_LIMIT = 0.1  # seconds
_MODELS = ("resnet50", "PP-OCRv6_det_small", "densenet121")


def _recut(view: mt.Partition) -> None:
    """What a reader of a view with another setting looks at: its table and its bytes."""
    other = view.with_settings(min_cluster_size=10)
    assert len(other.df) and other.boundary_bytes is not None


def run() -> list[Benchmark]:
    """Seconds for another setting of each model."""
    beside = Benchmark("partition", "mt.partition with that setting", each_limit=1.0)
    limit = Benchmark("partition limit", "its limit", each_limit=1.0)
    for name in _MODELS:
        program = mt.load(model(name))
        shapes = SHAPES.get(name)
        view = mt.partition(program, shapes=shapes)
        anew = partial(mt.partition, program, shapes=shapes, min_cluster_size=10)
        ours, peer = alternate(partial(_recut, view), anew, seconds=3)
        beside.rows.append(Row(name, "another setting", ours, peer, "s"))
        limit.rows.append(Row(name, "another setting", ours, _LIMIT, "s", "beside its limit"))
    return [beside, limit]
