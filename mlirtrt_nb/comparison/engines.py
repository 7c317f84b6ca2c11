"""What the builders say of a variant's engines: layers, bytes, and layers that only change format or type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ..engine.base import LayerRow
from ..engine.tensorrt.layer_log import layer_count
from ..plan import Plan
from ..targets import device_kind

__all__ = ["EngineNumbers", "engine_numbers", "layer_role"]

# The compiler names its generated kernels after the steps in them: "__myl_CastMulMinMaxRounCast_myl0_0".
_GENERATED = re.compile(r"^__myl_((?:[A-Z][a-z]*\d*)+)_myl\d+_\d+")
_STEP = re.compile(r"[A-Z][a-z]*")
_MOVES = frozenset({"Move", "Cast", "Tran", "Resh", "Copy"})
_QUANTIZES = frozenset({*_MOVES, "Mul", "Div", "Min", "Max", "Roun", "Repl"})

_ORT_CONVERSIONS = frozenset({"Cast"})
_ORT_QDQ = frozenset({"QuantizeLinear", "DequantizeLinear"})


@dataclass(frozen=True)
class EngineNumbers:
    """Sums over a variant's engines for one target; None where a builder does not say.

    `memory_bytes` is what one run holds: weights, buffers and workspace. `reformat_layers` only change format
    or element type; `qdq_layers` only quantize or dequantize.
    """

    target: str
    builder: str
    layers: int
    weights_bytes: int | None
    activation_bytes: int | None
    memory_bytes: int | None
    reformat_layers: int
    qdq_layers: int
    build_seconds: float


def engine_numbers(plan: Plan, target: str) -> EngineNumbers | None:
    """The numbers of a Plan's engines for `target`; None if it has none."""
    engines = [engine for engine in plan.engine_values if engine.target == target]
    if not engines:
        return None
    rows = [row for engine in engines for row in engine.report.layers]
    roles = Counter(map(layer_role, rows))
    weights = _total(engine.report.weights_bytes for engine in engines)
    return EngineNumbers(
        target=target,
        builder=", ".join(dict.fromkeys(engine.report.builder for engine in engines)),
        layers=layer_count(rows),
        weights_bytes=weights,
        activation_bytes=_total(engine.report.activation_bytes for engine in engines),
        memory_bytes=_memory(plan, target, weights),
        reformat_layers=roles["reformat"],
        qdq_layers=roles["qdq"],
        build_seconds=sum(engine.report.build_seconds for engine in engines),
    )


def _total(values: Iterable[int | None]) -> int | None:
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if len(known) == len(listed) else None


def _memory(plan: Plan, target: str, weights: int | None) -> int | None:
    """ONNX Runtime keeps its own activations in memory that it does not report."""
    schedule = plan.schedules.get(device_kind(target))
    if target == "cpu" or schedule is None or weights is None:
        return None
    own = [buffer for buffer in schedule.buffers if buffer.role in ("tensor", "workspace", "staging")]
    return None if any(buffer.bytes is None for buffer in own) else weights + schedule.arena_bytes


def layer_role(row: LayerRow) -> str:
    """ "reformat" for a layer that only changes format or element type, "qdq" for one that only quantizes or
    dequantizes, "work" for all others."""
    steps = _steps(row)
    if row.kind in _ORT_CONVERSIONS or row.kind.lower() == "reformat" or (steps and steps <= _MOVES):
        return "reformat"
    if row.kind in _ORT_QDQ or ("Roun" in steps and steps <= _QUANTIZES):
        return "qdq"
    return "work"


def _steps(row: LayerRow) -> set[str]:
    """The steps in a generated kernel's name; none for other layers."""
    match = _GENERATED.match(row.name)
    return set(_STEP.findall(match.group(1))) if match else set()
