"""Weights against the types that the IR gives them, by name, dtype and shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlirtrt_nb as mt

SUM = """
func.func @main(%x: tensor<2x16x{0}>) -> tensor<2x16x{0}> {{
  %w = tensorrt.constant dense_resource<w> : tensor<2x16x{0}>
  %y = tensorrt.element_wise <kSUM>(%x, %w : tensor<2x16x{0}>, tensor<2x16x{0}>) -> tensor<2x16x{0}>
  return %y : tensor<2x16x{0}>
}}
"""
USES: list[Callable[[mt.Program], Any]] = [
    lambda program: program.verify(),
    lambda program: mt.compile(program, cache=False),
    lambda program: mt.run(program, np.zeros((2, 16), np.float32)),
    lambda program: mt.calibrate(program, np.zeros((2, 16), np.float32)),
    lambda program: mt.Pipeline.parse("fold-batch-norm").run(program),
    lambda program: mt.Pipeline.parse("cse").run(program, isolate=False),
]


def program(weight: Any = None, element: str = "f32") -> mt.Program:
    """A sum of the input and one weight, 2x16."""
    made = mt.from_mlir(SUM.format(element))
    if weight is not None:
        made.weights["w"] = weight
    return made


@pytest.mark.parametrize("use", USES)
def test_a_missing_weight_is_named_at_each_use(use: Callable[[mt.Program], Any]) -> None:
    """No pass meets a weight that is not there: the error comes first, and says what to do."""
    with pytest.raises(mt.VerificationError, match="weights that it does not have: w") as caught:
        use(program())
    assert caught.value.hint is not None and "Program.save" in caught.value.hint


@pytest.mark.parametrize("use", USES)
def test_a_weight_of_another_dtype_is_refused_at_each_use(use: Callable[[mt.Program], Any]) -> None:
    """Its bytes would be read as those of the IR's type."""
    with pytest.raises(
        mt.VerificationError, match=r"'w' is an array of float64; .* tensor<2x16xf32>"
    ) as caught:
        use(program(np.ones((2, 16))))
    assert caught.value.hint == "write .astype(np.float32)"


@pytest.mark.parametrize(
    ("weight", "element", "said", "hint"),
    [
        (np.ones((2, 16), np.float32), "f16", "an array of float32", "write .astype(np.float16)"),
        (np.ones((2, 16), np.float16), "bf16", "an array of float16", "write .astype(ml_dtypes.bfloat16)"),
        (np.ones((2, 16), ">f4"), "f32", "an array of >f4", "write .astype(np.float32)"),
        (np.ones((16, 2), np.float32), "f32", r"an array of shape \(16, 2\)", "write .reshape((2, 16))"),
        (np.ones(3, np.float32), "f32", r"an array of shape \(3,\)", None),
        ([1.0], "f32", "a list, not an array", "give a NumPy array"),
    ],
)
def test_what_is_wrong_is_said(weight: Any, element: str, said: str, hint: str | None) -> None:
    """The dtype or the shape that was found, and the call that makes it right, where one does."""
    with pytest.raises(mt.VerificationError, match=f"the weight 'w' is {said}") as caught:
        program(weight, element).verify()
    assert caught.value.hint == hint and caught.value.where == "w"


@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_right_weights_pass(element: str) -> None:
    """An array of the type is taken, strided ones and those that no op names too."""
    dtype = np.dtype(np.float32 if element == "f32" else ml_dtypes.bfloat16)
    made = program(np.ones((16, 2), dtype).T, element)
    made.weights["spare"] = np.ones(3)
    made.verify()


def test_values_are_not_looked_at() -> None:
    """A weight of a TiB that takes no memory is checked at once."""
    shape = (1 << 20, 1 << 18)
    kind = "x".join(map(str, shape))
    made = mt.from_mlir(
        f"func.func @main() -> tensor<{kind}xf32> {{\n"
        f"  %w = tensorrt.constant dense_resource<w> : tensor<{kind}xf32>\n  return %w : tensor<{kind}xf32>\n}}"
    )
    made.weights["w"] = np.broadcast_to(np.zeros((), np.float32), shape)
    made.check_weights()


def test_several_are_one_error_each() -> None:
    """What is missing is listed in one line, what is of another type beside it."""
    ops = "\n".join(
        f"  %w{n} = tensorrt.constant dense_resource<w{n}> : tensor<{n + 20}xf32>" for n in range(6)
    )
    made = mt.from_mlir(f"func.func @main() -> tensor<20xf32> {{\n{ops}\n  return %w0 : tensor<20xf32>\n}}")
    made.weights["w0"] = np.ones(20)
    with pytest.raises(mt.VerificationError) as caught:
        made.verify()
    found = [error.what for error in (caught.value, *caught.value.others)]
    assert found == [
        "the weight 'w0' is an array of float64; its type in the IR is tensor<20xf32>",
        "the program names weights that it does not have: w1, w2, w3 and 2 more",
    ]
