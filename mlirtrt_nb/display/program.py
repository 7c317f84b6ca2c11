"""The card of a Program: inputs, outputs, weights, what ops it has, and its IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .card import Card, Code, Section, table_of
from .html import card_html
from .text import card_text
from .weights import weights_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..program import Program, TensorSpec

__all__ = ["program_card", "program_html", "program_text", "specs_text"]


def specs_text(specs: Sequence[TensorSpec]) -> str:
    """Inputs or outputs in one line; shapes with named dimensions in brackets, for an x would be ambiguous."""
    return "; ".join(map(_spec_text, specs)) or "none"


def _spec_text(spec: TensorSpec) -> str:
    if not any(isinstance(dim, str) for dim in spec.shape):
        return str(spec)
    dims = ", ".join("?" if dim is None else str(dim) for dim in spec.shape)
    return f"{spec.name}: [{dims}] {spec.dtype}"


def program_card(program: Program) -> Card:
    """What is shown of `program`; its text is cut, its weights are only counted."""
    ops = program.ops
    dialects = ops.groupby("dialect")["count"].sum().sort_values(ascending=False)
    facts = (
        ("inputs", specs_text(program.inputs)),
        ("outputs", specs_text(program.outputs)),
        ("weights", weights_text(program.weights)),
        ("ops", ", ".join(f"{number} {dialect}" for dialect, number in dialects.items()) or "none"),
    )
    return Card(
        title=program.name,
        subtitle=f"Program from {program.source}",
        facts=facts,
        sections=(
            Section("MLIR", Code(_ir_text(program))),
            Section("Ops by kind", table_of(ops, limit=40, bar="count"), open=False),
        ),
    )


def _ir_text(program: Program) -> str:
    """The IR, each op with its source node; a user's own text is its own source."""
    return program.text(locations=False if program.text_source is not None else "sources")


def program_html(program: Program) -> str:
    """The card as HTML."""
    return card_html(program_card(program))


def program_text(program: Program, *, limit: int = 60) -> str:
    """The card as text, with at most `limit` lines of IR."""
    card = program_card(program)
    code = Section("MLIR", Code(_ir_text(program), limit))
    return card_text(Card(card.title, card.subtitle, card.facts, card.notes, (code,)), code=True)
