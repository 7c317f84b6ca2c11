"""Fields for a pass's options, made from its dataclass fields: type, default and help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from html import escape
from typing import Any

import ipywidgets

from ..passes.base import Pass
from ..passes.mlir_pass import MlirPass

__all__ = ["option_form"]

# Called with an option's name and its new value.
OnChange = Callable[[str, Any], None]
_WIDE = {"description_width": "initial"}


def option_form(pass_: Pass, on_change: OnChange) -> list[ipywidgets.Widget]:
    """A field for each option, with its help beside it; a line that says so where there is none."""
    if isinstance(pass_, MlirPass):
        return [_free_text(pass_, on_change)]
    options = fields(pass_) if is_dataclass(pass_) else ()
    if not options:
        return [ipywidgets.HTML("<i>This pass has no options.</i>")]
    return [_row(field, getattr(pass_, field.name), on_change) for field in options]


def _row(field: Field[Any], value: Any, on_change: OnChange) -> ipywidgets.Widget:
    text = str(field.metadata.get("help", ""))
    widget = _field(field.name.replace("_", "-"), value)
    widget.tooltip = text

    def changed(change: dict[str, Any]) -> None:
        nothing = change["new"] == "" and field.default is None
        on_change(field.name, None if nothing else change["new"])

    if isinstance(widget, ipywidgets.Text):
        widget.continuous_update = False
    widget.observe(changed, "value")
    usual = _default(field)
    note = f"{text} (default: {usual})" if text else f"default: {usual}"
    label = ipywidgets.HTML(escape(note), layout=ipywidgets.Layout(flex="1 1 240px"))
    label.add_class("mt-small")
    return ipywidgets.HBox([widget, label], layout=ipywidgets.Layout(align_items="center"))


def _field(name: str, value: Any) -> Any:
    """A check box, a number, or text, by the type of the value."""
    if isinstance(value, bool):
        return ipywidgets.Checkbox(value=value, description=name, indent=False)
    if isinstance(value, int):
        return ipywidgets.IntText(value=value, description=name, style=_WIDE)
    if isinstance(value, float):
        return ipywidgets.FloatText(value=value, description=name, style=_WIDE)
    shown = (
        ";".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
    )
    return ipywidgets.Text(value=shown, description=name, style=_WIDE)


def _default(field: Field[Any]) -> str:
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return ";".join(map(str, value)) or "none"
    return "none" if value is None or value == "" else str(value)


def _free_text(pass_: MlirPass, on_change: OnChange) -> ipywidgets.Widget:
    """MLIR says nothing of its passes' options, so they are typed as in a pipeline."""
    widget = ipywidgets.Text(
        value=" ".join(f"{key}={value}" for key, value in pass_.options.items()),
        placeholder="max-iterations=3",
        description="MLIR options",
        continuous_update=False,
        style=_WIDE,
    )

    def changed(change: dict[str, Any]) -> None:
        for item in change["new"].split():
            name, _, value = item.partition("=")
            on_change(name.replace("-", "_"), value)

    widget.observe(changed, "value")
    return widget
