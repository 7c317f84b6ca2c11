"""The models that the benchmarks run on, and inputs for them."""

from __future__ import annotations

from typing import Any

from models.classifiers import NAMES
from models.fetch import SHAPES, model, sample

__all__ = ["SPINE", "case"]

OTHERS = (
    "PP-OCRv6_det_small",
    "PP-OCRv6_rec_small",
    "ch_ppocr_mobile_v2.0_cls_mobile",
    "silero_vad_16k_sequence",
    "encoder",
    "encoder_decomposed_norm",
)
SPINE = (*NAMES, *OTHERS)


def case(name: str) -> tuple[str, dict[str, Any] | None, dict[str, Any]]:
    """(path, shapes, inputs) of a model."""
    return str(model(name)), SHAPES.get(name), sample(name)
