"""What objects look like: HTML for notebooks and saved pages, plain text for terminals.

Each object is first described as a `Card` (facts, tables, code, notes), and a card is drawn in either form,
so that both say the same. HTML is static: complete with no kernel, no script and no style sheet.
"""

from __future__ import annotations

from .ir import ir_html
from .latency import latency_html, latency_text
from .machine import machine_html, machine_text
from .plan import plan_card, plan_text, report_html, report_text
from .program import program_html, program_text

__all__ = [
    "ir_html",
    "latency_html",
    "latency_text",
    "machine_html",
    "machine_text",
    "plan_card",
    "plan_text",
    "program_html",
    "program_text",
    "report_html",
    "report_text",
]
