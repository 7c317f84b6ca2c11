"""The custom assembly of the package's dialects, as a text layer over MLIR's generic form.

MLIR knows the package's ops only in generic form. This package reads text in which they stand in their own
syntax (`Translator`, `parse_module`) and shows modules that way (`print_module`), by the format that each
`OpDef` declares. `register_directive` adds a `custom<...>` for syntax that a format cannot express.
"""

from __future__ import annotations

from .directives import register_directive
from .parse import parse_module
from .printer import print_module
from .split import split_input

__all__ = ["parse_module", "print_module", "register_directive", "split_input"]
