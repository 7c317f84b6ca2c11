"""StableHLO on the host gives what StableHLO's own interpreter gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import EngineBuildError
from mlirtrt_nb.ir import dtypes
from mlirtrt_nb.ir.constants import value_of

from .stablehlo_cases import CASES

# What the last bits of the elementary functions may differ by.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}


def arrays_for(program: mt.Program) -> list[np.ndarray]:
    """Positive numbers for floats, small ones above zero for integers: every op is defined on them."""
    rng = np.random.default_rng(0)
    made = []
    for spec in program.inputs:
        dtype = dtypes.by_mlir(spec.dtype).np
        if dtype.kind == "b":
            made.append(rng.integers(0, 2, spec.shape).astype(dtype))
        elif dtype.kind in "iu":
            made.append(rng.integers(1, 4, spec.shape).astype(dtype))
        else:
            made.append(rng.uniform(0.1, 3, spec.shape).astype(dtype))
    return made


def interpreted(program: mt.Program, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What StableHLO's interpreter makes of the program."""
    from torch_mlir import ir
    from torch_mlir._mlir_libs import _stablehlo

    with program.context:
        attributes = []
        for spec, array in zip(program.inputs, arrays, strict=True):
            dims = "".join(f"{dim}x" for dim in spec.shape)
            values = (
                str(array.tolist()).lower()
                if array.dtype == bool
                else f'"0x{np.ascontiguousarray(array).tobytes().hex().upper()}"'
            )
            attributes.append(ir.Attribute.parse(f"dense<{values}> : tensor<{dims}{spec.dtype}>"))
        module = ir.Module.parse(str(program.module))
        return [value_of(entry, {}) for entry in _stablehlo.eval_module(module, attributes)]


@pytest.mark.parametrize("name", CASES)
def test_the_host_gives_what_the_interpreter_gives(name: str) -> None:
    """Shapes and dtypes are the same; integers are equal, floats up to the last bits."""
    program = mt.from_mlir(CASES[name])
    arrays = arrays_for(program)
    found = mt.jit(program)(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    for number, (got, wanted) in enumerate(zip(found, interpreted(program, arrays), strict=True)):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        tolerance = TOLERANCE.get(got.dtype.name, 0)
        np.testing.assert_allclose(
            got.astype(np.float64), wanted.astype(np.float64), tolerance, tolerance, err_msg=f"result {number}"
        )


def test_an_op_that_cannot_be_lowered_is_named_with_its_place() -> None:
    """The message has the op and the caret stands at it, not at an op of its region."""
    text = """func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}"""
    with pytest.raises(EngineBuildError, match=r"cannot compile stablehlo\.fft") as caught:
        mt.jit(mt.from_mlir(text))
    assert caught.value.span is not None
    assert (caught.value.span.line, caught.value.span.column) == (2, 8)
