"""The element types that CPU kernels take, and what stands in for one that has none."""

from __future__ import annotations

import pytest

from mlirtrt_nb.engine.onnxruntime.kernels import signature
from mlirtrt_nb.errors import EngineBuildError


@pytest.mark.parametrize(
    ("op_type", "inputs", "reads", "gives"),
    [
        ("Conv", ("f32", "f32", None), ("f32", "f32", None), ("f32",)),
        ("Conv", ("bf16", "bf16", "bf16"), ("f32", "f32", "f32"), ("bf16",)),
        ("Where", ("i1", "i1", "i1"), ("i1", "ui8", "ui8"), ("i1",)),
        ("Gather", ("bf16", "i32"), ("bf16", "i32"), ("bf16",)),
        ("GatherND", ("f32", "i64"), ("f32", "i64"), ("f32",)),
        ("Equal", ("f16", "f16"), ("f32", "f32"), ("i1",)),
        ("ReduceSum", ("i8", "i64"), ("i32", "i64"), ("i8",)),
        ("Concat", ("f16", "f16", "f16"), ("f16", "f16", "f16"), ("f16",)),
    ],
)
def test_nearest_kernel(
    op_type: str, inputs: tuple[str | None, ...], reads: tuple[str | None, ...], gives: tuple[str, ...]
) -> None:
    """A kernel of the given types is used as it is; else the least wide one that exists."""
    found = signature(op_type, inputs, (None,))
    assert (found.reads, found.gives) == (reads, gives)


def test_no_kernel_is_an_error() -> None:
    """Types that no kernel takes, however wide, are one error that names both."""
    with pytest.raises(EngineBuildError, match="no Conv for f4E2M1FN"):
        signature("Conv", ("f4E2M1FN", "f4E2M1FN"), (None,))


def test_unknown_result_type_is_an_error() -> None:
    """An output whose type follows from nothing has to be told."""
    with pytest.raises(EngineBuildError, match="is not known"):
        signature("RandomUniform", (), (None,))
