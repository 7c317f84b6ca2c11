"""What a case is, and how it runs: one op in a function of its own, built and run by the CPU engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch_mlir import ir
from torch_mlir.dialects import builtin, func

from mlirtrt_nb.dialects.onnx.ort_session import SessionSettings
from mlirtrt_nb.engine.base import BuildRequest, Engine
from mlirtrt_nb.engine.onnxruntime.builder import OnnxRuntimeBuilder
from mlirtrt_nb.engine.onnxruntime.session import OrtEngine
from mlirtrt_nb.ir import dtypes
from mlirtrt_nb.ir.builder import create
from mlirtrt_nb.ir.constants import attribute_of
from mlirtrt_nb.ir.context import new_context

# An operand: an array, None where it is absent, a list where it is variadic.
Operand = Any
RNG = np.random.default_rng(7)
CONTEXT = new_context()
_SETTINGS = SessionSettings(threads=1)
# By element type: relative and absolute tolerance, in units of what the type itself rounds.
_TOLERANCE = {"float32": 2e-6, "float64": 1e-12, "float16": 2e-3, "bfloat16": 2e-2, "float8_e4m3fn": 0.13}


@dataclass(frozen=True)
class Case:
    """One op with its inputs and what NumPy gives.

    `dynamic`: whether it also runs with every dimension unknown. `constant`: whether it also runs with all
    operands but the first as constants. `fixed` are positions of operands whose type is always static.
    `slack` multiplies the tolerance.
    """

    op: str
    inputs: tuple[Operand, ...]
    expected: tuple[np.ndarray, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    dynamic: bool = True
    constant: bool = True
    fixed: tuple[int, ...] = ()
    slack: float = 1.0

    @property
    def id(self) -> str:
        kind = next((v for v in self.attrs.values() if isinstance(v, str) and v.startswith("k")), "")
        dtype = next((flat.dtype.name for flat in self.arrays), "")
        return "-".join(part for part in (self.op, kind, self.label, dtype) if part)

    @property
    def arrays(self) -> list[np.ndarray]:
        """The inputs that are there, in a row."""
        found: list[np.ndarray] = []
        for operand in self.inputs:
            found += operand if isinstance(operand, list) else [] if operand is None else [operand]
        return found


def case(
    op: str,
    inputs: Sequence[Operand],
    expected: Any,
    *,
    label: str = "",
    dynamic: bool = True,
    constant: bool = True,
    fixed: tuple[int, ...] = (),
    slack: float = 1.0,
    **attrs: Any,
) -> Case:
    """A Case; `expected` is an array or a tuple of them."""
    wanted = expected if isinstance(expected, tuple) else (expected,)
    given = tuple(
        operand
        if operand is None
        else [np.asarray(x) for x in operand]
        if isinstance(operand, list)
        else np.asarray(operand)
        for operand in inputs
    )
    return Case(op, given, tuple(np.asarray(x) for x in wanted), attrs, label, dynamic, constant, fixed, slack)


def tensor_type(array: np.ndarray, dynamic: bool = False) -> ir.RankedTensorType:
    """The type of an array; with `dynamic`, of its rank alone."""
    element = ir.Type.parse(dtypes.by_numpy(array.dtype).mlir)
    unknown = ir.ShapedType.get_dynamic_size()
    return ir.RankedTensorType.get([unknown if dynamic else n for n in array.shape], element)


def run_case(case: Case, variant: str) -> None:
    """Build and run the case as "static", "dynamic" or "constant", and compare."""
    dynamic = variant == "dynamic"
    fixed = case.arrays[1:] if variant == "constant" else []
    given = case.arrays[: len(case.arrays) - len(fixed)]

    def body(arguments: Sequence[ir.Value], weights: dict[str, np.ndarray]) -> Sequence[ir.Value]:
        values = [*arguments, *(constant(array, weights) for array in fixed)]
        rest = iter(values)
        operands = [
            None if o is None else [next(rest) for _ in o] if isinstance(o, list) else next(rest)
            for o in case.inputs
        ]
        attrs = {
            k: ir.Attribute.parse(v[5:]) if isinstance(v, str) and v[:5] == "mlir:" else v
            for k, v in case.attrs.items()
        }
        results = [tensor_type(array, dynamic) for array in case.expected]
        return list(create(f"tensorrt.{case.op}", operands, attrs, results).results)

    got = run(body, given, case.expected, dynamic=dynamic, fixed=case.fixed)
    compare(got, case.expected, case.slack)


def constant(array: np.ndarray, weights: dict[str, np.ndarray]) -> ir.Value:
    """A tensorrt.constant of an array; larger ones as weights."""
    attribute = attribute_of(array, weights, "w")
    return create("tensorrt.constant", [], {"weights": attribute}, [tensor_type(array)]).result


Body = Callable[[Sequence[ir.Value], dict[str, np.ndarray]], Sequence[ir.Value]]


def build(
    body: Body,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    *,
    dynamic: bool = False,
    fixed: Sequence[int] = (),
) -> tuple[Engine, dict[str, np.ndarray]]:
    """An engine of a function whose body `body` writes, and its weights."""
    weights: dict[str, np.ndarray] = {}
    with CONTEXT, ir.Location.name("here"):
        module = builtin.ModuleOp()
        arguments = [tensor_type(a, dynamic and n not in fixed) for n, a in enumerate(inputs)]
        kinds = arguments, [tensor_type(a, dynamic) for a in outputs]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", kinds)
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            func.ReturnOp(list(body(list(block.arguments), weights)))
        request = BuildRequest("main", function.operation, weights, "cpu")
        return OnnxRuntimeBuilder().build(request), weights


def run(
    body: Body,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    *,
    dynamic: bool = False,
    fixed: Sequence[int] = (),
) -> list[np.ndarray]:
    """What the engine of a body gives for `inputs`; `outputs` tell types and shapes."""
    engine, weights = build(body, inputs, outputs, dynamic=dynamic, fixed=fixed)
    return OrtEngine(engine, weights, _SETTINGS).run(inputs)


def compare(got: Sequence[np.ndarray], expected: Sequence[np.ndarray], slack: float = 1.0) -> None:
    """Same dtype, shape and values; NaN equals NaN, floats within what their type rounds."""
    assert len(got) == len(expected)
    for one, two in zip(got, expected, strict=True):
        assert (one.dtype, one.shape) == (two.dtype, two.shape)
        tolerance = _TOLERANCE.get(two.dtype.name, 0.0) * slack
        wide = [a.astype(np.float64) if tolerance else a for a in (one, two)]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance, equal_nan=True)


def uniform(*shape: int, low: float = -3.0, high: float = 3.0, dtype: Any = np.float32) -> np.ndarray:
    """Random numbers."""
    return RNG.uniform(low, high, shape).astype(dtype)


def integers(*shape: int, low: int = -9, high: int = 9, dtype: Any = np.int32) -> np.ndarray:
    """Random whole numbers, `high` not included."""
    return RNG.integers(low, high, shape).astype(dtype)


EDGES = np.array([-np.inf, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, np.inf, np.nan], np.float32)
