"""LSTM, GRU and RNN: each becomes one op of the dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir

from ....dialects.tensorrt.recurrent import ACTIVATIONS, FUNCTIONS
from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of

__all__: list[str] = []

_FLOATS = frozenset({"f32", "f16", "bf16"})
_DIRECTIONS = {"forward": "kFORWARD", "reverse": "kREVERSE", "bidirectional": "kBIDIRECTIONAL"}
# By ONNX's name, in lower case.
_ACTIVATIONS = {kind[1:].replace("_", "").lower(): kind for kind in ACTIVATIONS}
# Others must be written: ONNX gives none, or ONNX Runtime another number than ONNX (ThresholdedRelu).
_DEFAULTS = {
    "kLEAKY_RELU": {"alpha": 0.01},
    "kELU": {"alpha": 1.0},
    "kHARD_SIGMOID": {"alpha": 0.2, "beta": 0.5},
}


@converter("LSTM", "GRU", "RNN")
def _recurrent(node: Node, emit: Emitter) -> Sequence[ir.Value]:
    """ONNX's inputs in order: X, W, R, B, sequence_lens, initial_h, initial_c, P."""
    kind = node.name.lower()
    for index in (0, 1, 2):
        if rank_of(node[index]) != 3:
            raise Refused(f"input {index} of rank {rank_of(node[index])}; it must have rank 3")
    if element(node[0]) not in _FLOATS:
        raise Refused(f"element type {element(node[0])} in {node.name}")
    operands = [node.input(n) for n in range(8 if kind == "lstm" else 6)]
    operands[4] = _lengths(node)
    attributes = {
        "hiddenSize": _hidden_size(node),
        "direction": _direction(node),
        "clip": node.attr("clip"),
        "layout": node.attr("layout", 0),
        **_functions(node, kind),
    }
    if kind == "lstm":
        attributes["inputForget"] = bool(node.attr("input_forget", 0))
    if kind == "gru":
        attributes["linearBeforeReset"] = bool(node.attr("linear_before_reset", 0))
    return emit.ops(kind, operands, attributes, None)


def _direction(node: Node) -> str:
    given = node.attr("direction", "forward")
    if given not in _DIRECTIONS:
        raise Refused(f"direction = {given!r}")
    return _DIRECTIONS[given]


def _hidden_size(node: Node) -> int:
    """The last dimension of R, which the attribute repeats."""
    known = shape_of(node[2])[2]
    given = node.attr("hidden_size", known)
    if given is None or (known is not None and known != given):
        raise Refused(f"hidden_size = {given}, but R has {known}")
    return int(given)


def _lengths(node: Node) -> ir.Value | None:
    """sequence_lens, unless every sequence has all steps."""
    value, array = node.input(4), node.array(4)
    if array is not None:
        steps = shape_of(node[0])[1 if node.attr("layout", 0) else 0]
        if steps is not None and (array == steps).all():
            return None
    return value


def _functions(node: Node, kind: str) -> dict[str, Any]:
    """The activations with a number of each kind for each, as in the dialect; nothing for the standard ones."""
    given = [name.decode() if isinstance(name, bytes) else name for name in node.attr("activations") or ()]
    if not given:
        return {}
    standard = FUNCTIONS[kind] * (2 if _direction(node) == "kBIDIRECTIONAL" else 1)
    if len(given) < len(standard):
        raise Refused(f"{len(given)} activations; it takes {len(standard)}")
    del given[len(standard) :]  # the schema's default for RNN is for two directions
    unknown = [name for name in given if name.lower() not in _ACTIVATIONS]
    if unknown:
        raise Refused(f"activation {unknown[0]!r}")
    kinds = [_ACTIVATIONS[name.lower()] for name in given]
    if tuple(kinds) == standard:
        return {}
    listed = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in kinds])
    return {
        "activations": listed,
        "alphas": _numbers(node, kinds, "alpha"),
        "betas": _numbers(node, kinds, "beta"),
    }


def _numbers(node: Node, kinds: Sequence[str], which: str) -> list[float] | None:
    """One number per activation. ONNX lists them for those alone that take one, in order."""
    if not any(which in ACTIVATIONS[kind] for kind in kinds):
        return None
    given = iter(node.attr(f"activation_{which}") or ())
    found = []
    for kind in kinds:
        if which not in ACTIVATIONS[kind]:
            found.append(0.0)
            continue
        number = next(given, _DEFAULTS.get(kind, {}).get(which))
        if number is None:
            raise Refused(f"activation {kind} without activation_{which}")
        found.append(float(number))
    return found
