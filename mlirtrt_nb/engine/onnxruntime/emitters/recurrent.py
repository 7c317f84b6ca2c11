"""lstm, gru and rnn: ONNX's own ops, which ONNX Runtime has fast kernels for."""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from ....dialects.tensorrt.recurrent import ACTIVATIONS, functions_of
from ....ir.builder import Op
from ..scope import Scope
from .dims import transpose
from .registry import emits

__all__: list[str] = []

# Between steps first (the form that ONNX Runtime has) and batch first. Each undoes itself.
_SWAPPED = {"input": (1, 0, 2), "initialHidden": (1, 0, 2), "initialCell": (1, 0, 2)}
_RESULTS = {"output": (2, 0, 1, 3), "lastHidden": (1, 0, 2), "lastCell": (1, 0, 2)}


@emits("lstm", "gru", "rnn")
def recurrent(op: Op, scope: Scope) -> None:
    batch_first = op.attr("layout") == 1
    inputs: list[str | None] = []
    for operand in op.definition.operands:
        value = op.operand(operand.name)
        name = None if value is None else scope.tensor(value)
        if name is not None and batch_first and operand.name in _SWAPPED:
            name = transpose(scope, name, _SWAPPED[operand.name])
        inputs.append(name)
    while inputs[-1] is None:
        inputs.pop()
    results = list(op.operation.results)
    names = scope.ops(op.definition.mnemonic.upper(), inputs, len(results), **_attributes(op))
    for definition, result, name in zip(op.definition.results, results, names, strict=True):
        order = _RESULTS[definition.name] if batch_first else range(ir.RankedTensorType(result.type).rank)
        scope.set(result, transpose(scope, name, order))


def _attributes(op: Op) -> dict[str, Any]:
    """As the op has them; None where one is left out."""
    given: dict[str, Any] = {
        "hidden_size": op.attr("hiddenSize"),
        "direction": op.attr("direction")[1:].lower(),
        "clip": op.attr("clip"),
        "input_forget": 1 if op.attr("inputForget") else None,
        "linear_before_reset": 1 if op.attr("linearBeforeReset") else None,
    }
    if op.attr("activations") is not None:
        functions = functions_of(op)
        given["activations"] = [name[1:].title().replace("_", "") for name, _, _ in functions]
        alphas = [alpha for name, alpha, _ in functions if "alpha" in ACTIVATIONS[name]]
        betas = [beta for name, _, beta in functions if "beta" in ACTIVATIONS[name]]
        given["activation_alpha"], given["activation_beta"] = alphas or None, betas or None
    return given
