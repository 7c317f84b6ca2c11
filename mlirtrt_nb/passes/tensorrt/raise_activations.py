"""raise-activations: chains of elementary ops that are an activation become that one layer."""

from __future__ import annotations

from math import isclose, pi, sqrt

from torch_mlir import ir

from ...ir.builder import create
from ...program import Program
from ..base import Pass, PassContext, register
from .matching import binary, fused, kind_of, only_user, operations, other_operand, replace, scalar

__all__ = ["RaiseActivations"]

# Exporters write the factors with five digits or more.
_TOLERANCE = 1e-4


@register
class RaiseActivations(Pass):
    """Replace the elementary spellings of GELU, by Erf and by Tanh, with one `tensorrt.activation`. The
    factors may stand in any order; a chain whose inner values are read elsewhere stays."""

    name = "raise-activations"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            _Raiser(program).run()


class _Raiser:
    def __init__(self, program: Program) -> None:
        self._program = program

    def run(self) -> None:
        # Listed before the first rewrite, which erases ops of the same name.
        cores = [(op, kind_of(op)) for op in operations(self._program, "unary", "activation")]
        for core in [op for op, kind in cores if kind == "kERF"]:
            self._raise(core, self._erf_input(core), "kGELU_ERF")
        for core in [op for op, kind in cores if kind == "kTANH"]:
            self._raise(core, self._tanh_input(core), "kGELU_TANH")

    def _raise(self, core: ir.Operation, x: ir.Value | None, kind: str) -> None:
        """`core` is erf or tanh of a function of `x`: replace x * 0.5 * (1 + core), if that is what follows."""
        chain = None if x is None else self._half_of_sum(core, x)
        if x is None or chain is None or chain[-1].results[0].type != x.type:
            return
        root = chain[-1]
        location, point = fused(core, *chain), ir.InsertionPoint(root)
        made = create("tensorrt.activation", [x], {"activationType": kind}, loc=location, ip=point)
        replace(root, made.results[0])

    def _is(self, value: ir.Value, number: float) -> bool:
        found = scalar(value, self._program.weights)
        return found is not None and isclose(found, number, rel_tol=_TOLERANCE)

    def _times(self, value: ir.Value, number: float) -> ir.Value | None:
        """y, where `value` is y * number or y / (1 / number)."""
        product, quotient = binary(value, "kPROD"), binary(value, "kDIV")
        for one, other in (product, product[::-1]) if product else ():
            if self._is(other, number):
                return one
        return quotient[0] if quotient and self._is(quotient[1], 1 / number) else None

    def _erf_input(self, erf: ir.Operation) -> ir.Value | None:
        """x of erf(x / sqrt(2))."""
        return self._times(erf.operands[0], sqrt(0.5))

    def _tanh_input(self, tanh: ir.Operation) -> ir.Value | None:
        """x of tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))."""
        inner = self._times(tanh.operands[0], sqrt(2 / pi))
        terms = None if inner is None else binary(inner, "kSUM")
        for x, cubic in (terms, terms[::-1]) if terms else ():
            cube = self._times(cubic, 0.044715)
            if cube is not None and self._is_power(cube, x, 3):
                return x
        return None

    def _is_power(self, value: ir.Value, x: ir.Value, exponent: int) -> bool:
        """Whether `value` is x ** exponent, as a power or as products."""
        if exponent == 1:
            return value == x
        power, product = binary(value, "kPOW"), binary(value, "kPROD")
        if power is not None:
            return power[0] == x and self._is(power[1], exponent)
        return product is not None and any(
            one == x and self._is_power(other, x, exponent - 1) for one, other in (product, product[::-1])
        )

    def _half_of_sum(self, core: ir.Operation, x: ir.Value) -> list[ir.Operation] | None:
        """The ops from 1 + core up to the product that also holds x and one half, each factor once."""
        added = only_user(core.results[0])
        if added is None or kind_of(added) != "kSUM" or not self._is(other_operand(added, core.results[0]), 1):
            return None
        chain, needed = [added], {"x", "half"}
        while needed:
            value = chain[-1].results[0]
            user = only_user(value)
            found = None if user is None else self._factor(user, value, x)
            if user is None or found is None or not found <= needed:
                return None
            needed -= found
            chain.append(user)
        return chain

    def _factor(self, user: ir.Operation, value: ir.Value, x: ir.Value) -> set[str] | None:
        """Which of x and one half `user` multiplies `value` with; None if with something else."""
        kind = kind_of(user)
        other = other_operand(user, value) if kind in ("kPROD", "kDIV") else value
        if kind == "kDIV" and user.operands[0] == value and self._is(other, 2):
            return {"half"}
        if kind != "kPROD":
            return None
        if other == x:
            return {"x"}
        if self._is(other, 0.5):
            return {"half"}
        return {"x", "half"} if self._times(other, 0.5) == x else None
