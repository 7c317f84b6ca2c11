"""Which element types the installed ONNX Runtime's CPU kernels take, asked of ONNX Runtime itself."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ...ir import dtypes

__all__ = ["OPSET", "formals", "supported", "widened"]

# Of models made here. Old enough for every fusion to know it, new enough for Gelu, GridSample and int4.
OPSET = 21

# What to compute in where a type has no kernel: first choice first. All but the last i64 step are lossless.
_WIDER = {
    "i1": ("ui8", "i32"),
    "i8": ("i32", "f32"),
    "ui8": ("i32", "f32"),
    "i32": ("i64", "f64", "f32"),
    "i64": ("f64",),
    "f16": ("f32",),
    "bf16": ("f32",),
    "f8E4M3FN": ("f32",),
    "f8E5M2": ("f32",),
    "i4": ("i8", "i32", "f32"),
    "ui4": ("ui8", "i32", "f32"),
}


def _type_string(mlir: str) -> str:
    """ "tensor(float)" for "f32": ONNX's spelling."""
    from onnx import TensorProto

    name = TensorProto.DataType.Name(dtypes.by_mlir(mlir).onnx).lower()
    return f"tensor({name})"


@cache
def _kernels() -> dict[tuple[str, str], list[tuple[int, int, dict[str, frozenset[str]]]]]:
    from onnxruntime.capi import _pybind_state as native

    found: dict[tuple[str, str], list[tuple[int, int, dict[str, frozenset[str]]]]] = defaultdict(list)
    for kernel in native.get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider":
            first, last = kernel.version_range
            types = {name: frozenset(values) for name, values in kernel.type_constraints.items()}
            found[kernel.domain, kernel.op_name].append((first, last, types))
    return found


@cache
def formals(op_type: str, opset: int = OPSET) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """The type names of an op's inputs and outputs ("T"), and whether the last input repeats.

    Where only one type is allowed it stands itself: "tensor(int64)".
    """
    from onnx import defs

    schema = defs.get_schema(op_type, opset, "")
    single = {
        entry.type_param_str: next(iter(entry.allowed_type_strs))
        for entry in schema.type_constraints
        if len(entry.allowed_type_strs) == 1
    }
    inputs = tuple(single.get(entry.type_str, entry.type_str) for entry in schema.inputs)
    outputs = tuple(single.get(entry.type_str, entry.type_str) for entry in schema.outputs)
    variadic = bool(schema.inputs) and schema.inputs[-1].option == defs.OpSchema.FormalParameterOption.Variadic
    return inputs, outputs, variadic


def supported(op_type: str, types: Mapping[str, str], opset: int = OPSET) -> bool:
    """Whether a CPU kernel takes these element types, given by the op's type names: {"T": "f32"}."""
    spelled = {name: _type_string(mlir) for name, mlir in types.items()}
    return any(
        first <= opset <= last and all(t in allowed[n] for n, t in spelled.items() if n in allowed)
        for first, last, allowed in _kernels()["", op_type]
    )


def widened(types: Mapping[str, str], fixed: Sequence[str] = ()) -> Iterator[dict[str, str]]:
    """The same type names with wider types, the least change first; names in `fixed` keep theirs."""
    names = list(types)
    choices = [(types[n],) if n in fixed else (types[n], *_WIDER.get(types[n], ())) for n in names]
    yield from (dict(zip(names, picked, strict=True)) for picked in itertools.product(*choices))
