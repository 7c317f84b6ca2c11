"""Which element types the installed ONNX Runtime's CPU kernels take, asked of ONNX Runtime itself."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from ...errors import EngineBuildError
from ...ir import dtypes

__all__ = ["OPSET", "Signature", "signature"]

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


@dataclass(frozen=True)
class Signature:
    """Element types of one node: what its kernel reads, what it makes, and what the outputs are to be."""

    reads: tuple[str | None, ...]
    makes: tuple[str, ...]
    gives: tuple[str, ...]


@cache
def signature(
    op_type: str, inputs: tuple[str | None, ...], results: tuple[str | None, ...], opset: int = OPSET
) -> Signature:
    """The types with which a node of `op_type` runs on `inputs`; None where an input is absent.

    `results` has an entry per output: its type where that does not follow from the inputs', else None. The
    kernel's types are the given ones if there is such a kernel, else the nearest wider ones. Raises
    EngineBuildError if there is none.
    """
    ins, outs, variadic = _formals(op_type, opset)
    roles = [ins[-1] if variadic and n >= len(ins) else ins[n] for n in range(len(inputs))]
    types = {role: kind for role, kind in zip(roles, inputs, strict=True) if kind and "(" not in role}
    gives = [types.get(role) or given or _only(role) for role, given in zip(outs, results, strict=False)]
    types |= {role: kind for role, kind in zip(outs, gives, strict=False) if "(" not in role}
    chosen = next((wider for wider in _widened(types) if _supported(op_type, wider, opset)), None)
    if chosen is None:
        spelled = ", ".join(dict.fromkeys(types.values()))
        raise EngineBuildError(f"ONNX Runtime has no {op_type} for {spelled}")
    reads = tuple(kind and chosen.get(role, kind) for role, kind in zip(roles, inputs, strict=True))
    makes = tuple(chosen.get(role, kind) for role, kind in zip(outs, gives, strict=False))
    return Signature(reads, makes, tuple(gives))


def _only(role: str) -> str:
    """The MLIR spelling of a formal type that allows one type only: "tensor(int64)"."""
    if "(" not in role:
        raise EngineBuildError(f"the element type of an output of type {role} is not known")
    from onnx import TensorProto

    return dtypes.by_onnx(TensorProto.DataType.Value(role[len("tensor(") : -1].upper())).mlir


@cache
def _formals(op_type: str, opset: int) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
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


def _supported(op_type: str, types: Mapping[str, str], opset: int) -> bool:
    """Whether a CPU kernel takes these element types, given by the op's type names: {"T": "f32"}."""
    spelled = {name: _type_string(mlir) for name, mlir in types.items()}
    return any(
        first <= opset <= last and all(t in allowed[n] for n, t in spelled.items() if n in allowed)
        for first, last, allowed in _kernels()["", op_type]
    )


def _widened(types: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The same type names with wider types, the least change first."""
    choices = [(kind, *_WIDER.get(kind, ())) for kind in types.values()]
    yield from (dict(zip(types, picked, strict=True)) for picked in itertools.product(*choices))
