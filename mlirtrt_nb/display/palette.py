"""Colours by role, for light and dark themes. Every text colour has 4.5:1 contrast on its background."""

from __future__ import annotations

__all__ = ["DARK", "LIGHT", "TOKEN_ROLES", "contrast"]

# Roles: `page`, `code`, `head`, `came` and `went` (lines of a diff) are backgrounds, `line` borders and rules,
# `bar` the fill of bars on `track`; the rest is text.
LIGHT = {
    "page": "#ffffff",
    "code": "#f6f7f9",
    "head": "#eef1f5",
    "line": "#c9d1da",
    "bar": "#2f6fb5",
    "track": "#dfe5ec",
    "came": "#e9f6ec",
    "went": "#fdeeee",
    "text": "#1b2127",
    "muted": "#56616d",
    "accent": "#1f5fa8",
    "good": "#1d6b35",
    "warn": "#8a4b00",
    "bad": "#b3261e",
    "keyword": "#8a2090",
    "op": "#1f5fa8",
    "value": "#1b2127",
    "symbol": "#7a4b00",
    "type": "#12695f",
    "attribute": "#6b4d9e",
    "string": "#9a2f23",
    "number": "#2a6a1f",
    "comment": "#5f6872",
}
DARK = {
    "page": "#16191d",
    "code": "#1d2126",
    "head": "#262b32",
    "line": "#414a55",
    "bar": "#6aa7e8",
    "track": "#333b45",
    "came": "#16301d",
    "went": "#3a1d1f",
    "text": "#e3e7ec",
    "muted": "#a3adb8",
    "accent": "#82b9f5",
    "good": "#7fcf95",
    "warn": "#f0b35c",
    "bad": "#ff9b92",
    "keyword": "#dd9be3",
    "op": "#82b9f5",
    "value": "#e3e7ec",
    "symbol": "#e8b765",
    "type": "#6fd0c2",
    "attribute": "#c0a8ee",
    "string": "#f2a196",
    "number": "#a5d590",
    "comment": "#98a2ad",
}

# Pygments token (as its dotted name, the longest match counts) -> role.
TOKEN_ROLES = {
    "Token.Comment": "comment",
    "Token.Keyword": "keyword",
    "Token.Keyword.Type": "type",
    "Token.Keyword.Pseudo": "keyword",
    "Token.Keyword.Constant": "number",
    "Token.Literal.Number": "number",
    "Token.Literal.String": "string",
    "Token.Name.Attribute": "attribute",
    "Token.Name.Constant": "number",
    "Token.Name.Decorator": "attribute",
    "Token.Name.Entity": "symbol",
    "Token.Name.Function": "op",
    "Token.Name.Label": "symbol",
    "Token.Name.Variable": "value",
}


def contrast(one: str, other: str) -> float:
    """The WCAG contrast ratio of two `#rrggbb` colours, 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
