"""ONNX's node cases: a model, its inputs, what must come out, and how to compare."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from onnx import ModelProto, SequenceProto, TensorProto, numpy_helper

__all__ = ["NodeCase", "agree", "collect", "compile_shapes", "op_types", "with_shape_inputs"]

# Cases whose numbers come from a generator that the standard does not specify: shapes and dtypes are compared.
_RANDOM_OPS = frozenset({"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"})


@dataclass(frozen=True)
class NodeCase:
    """One case. `inputs` and `outputs` are arrays (ml_dtypes for types that NumPy lacks), lists, or None."""

    name: str
    model: ModelProto
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    rtol: float
    atol: float

    @property
    def random(self) -> bool:
        """Whether the outputs are random: Dropout in training mode draws a mask."""
        return self.name.startswith("test_training_dropout") or bool(_RANDOM_OPS & set(op_types(self.model)))

    def feeds(self) -> dict[str, Any]:
        """The inputs by name, without those that are initializers."""
        return dict(zip([entry.name for entry in self.model.graph.input], self.inputs, strict=True))


def op_types(model: ModelProto) -> list[str]:
    """The op types of the main graph, in order."""
    return [node.op_type for node in model.graph.node]


@cache
def collect() -> dict[str, NodeCase]:
    """Every case of the installed onnx package by name, in its order."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = collect_testcases(None)  # type: ignore[arg-type]
    return {case.name: _node_case(case) for case in found}


def _node_case(case: Any) -> NodeCase:
    ((inputs, outputs),) = case.data_sets
    return NodeCase(
        case.name,
        case.model,
        tuple(_value(value) for value in inputs),
        tuple(_value(value) for value in outputs),
        case.rtol,
        case.atol,
    )


def _value(value: Any) -> Any:
    """A case's value as a Session takes it."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, SequenceProto):
        return numpy_helper.to_list(value)
    if isinstance(value, list):
        return [_value(item) for item in value]
    return value if value is None else np.asarray(value)


def compile_shapes(case: NodeCase) -> dict[str, tuple[int, ...]]:
    """The shapes of the inputs that the model does not fix, for `mt.compile(shapes=)`."""
    wanted = {}
    for entry, value in zip(case.model.graph.input, case.inputs, strict=True):
        kind = entry.type.tensor_type
        ranked = kind.HasField("shape")
        if entry.type.HasField("tensor_type") and not (
            ranked and all(d.HasField("dim_value") for d in kind.shape.dim)
        ):
            wanted[entry.name] = tuple(value.shape)
    return wanted


def agree(case: NodeCase, found: Sequence[Any]) -> str | None:
    """None if `found` is what the case expects, else the first difference in words."""
    if len(found) != len(case.outputs):
        return f"{len(found)} outputs, expected {len(case.outputs)}"
    for number, (ours, expected) in enumerate(zip(found, case.outputs, strict=True)):
        problem = _differs(ours, expected, case)
        if problem:
            return f"output {number}: {problem}"
    return None


def _differs(ours: Any, expected: Any, case: NodeCase) -> str | None:
    if expected is None or ours is None:
        return None if ours is None and expected is None else f"{ours!r}, expected {expected!r}"
    if isinstance(expected, list):
        if not isinstance(ours, list) or len(ours) != len(expected):
            return f"not a sequence of {len(expected)}"
        problems = [_differs(a, b, case) for a, b in zip(ours, expected, strict=True)]
        return next((problem for problem in problems if problem), None)
    ours = np.asarray(ours)
    if expected.dtype.kind in "OUST":
        same = ours.shape == expected.shape and (ours.astype(str) == expected.astype(str)).all()
        return None if same else "strings differ"
    if ours.dtype != expected.dtype:
        return f"dtype {ours.dtype}, expected {expected.dtype}"
    if ours.shape != expected.shape:
        return f"shape {ours.shape}, expected {expected.shape}"
    return None if case.random else _values_differ(ours, expected, case)


def _values_differ(ours: np.ndarray, expected: np.ndarray, case: NodeCase) -> str | None:
    if expected.dtype.kind not in "fiubc":
        ours, expected = ours.astype(np.float32), expected.astype(np.float32)
    with np.errstate(all="ignore"):
        close = np.isclose(ours, expected, rtol=case.rtol, atol=case.atol, equal_nan=True)
    if close.all():
        return None
    at = tuple(int(n) for n in np.argwhere(~close)[0])
    count = f"{(~close).sum()} of {close.size} values differ"
    return f"{count}, the first at {at}: {ours[at]}, expected {expected[at]}"


# Which inputs of an op say a shape, axes or a count: what a TensorRT engine is built for.
_SHAPE_INPUTS: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Expand": (1,),
    "MaxUnpool": (2,),
    "NonMaxSuppression": (2,),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}


def with_shape_inputs(case: NodeCase) -> NodeCase:
    """The case as engines are built for it: shape inputs have its own values, and all shapes are its own."""
    named = {
        name
        for node in case.model.graph.node
        for index in (1,) * node.op_type.startswith("Reduce") + _SHAPE_INPUTS.get(node.op_type, ())
        for name in node.input[index : index + 1]
    }
    model = ModelProto()
    model.CopyFrom(case.model)
    kept, inputs = [], []
    for entry, value in zip(case.model.graph.input, case.inputs, strict=True):
        if entry.name in named:
            model.graph.initializer.append(numpy_helper.from_array(value, entry.name))
            continue
        kept.append(entry)
        inputs.append(value)
    del model.graph.input[:]
    model.graph.input.extend(kept)
    made = replace(case, model=model, inputs=tuple(inputs))
    shapes = compile_shapes(made)
    for entry in model.graph.input:
        if entry.name in shapes:
            del entry.type.tensor_type.shape.dim[:]
            for size in shapes[entry.name]:
                entry.type.tensor_type.shape.dim.add(dim_value=size)
    return made
