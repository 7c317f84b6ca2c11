"""What the text layer knows about each op: its spellings, and its compiled reader and writer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ..context import definitions
from ..irdl import needs_segments
from ..opdef import Attr, DialectDef, OpDef
from .slots import default_text

if TYPE_CHECKING:
    from .emit import Emitter
    from .parsed import Parsed
    from .printed import Printed

__all__ = ["Syntax", "dialect_names", "shown_names", "syntax_of"]


class Syntax:
    """One op's syntax; its reader and writer are compiled when they are first wanted."""

    def __init__(self, op: OpDef) -> None:
        self.op = op
        self.name = op.name
        self.shown = op.display_name or op.name
        self.attrs: dict[str, Attr] = {attr.name: attr for attr in op.attrs}
        self.sized_operands = needs_segments(op.operands)
        self.sized_results = needs_segments(op.results)
        self.terminator = "terminator" in op.traits

    @cached_property
    def read(self) -> Callable[[Emitter, Parsed], None]:
        """Reads what follows the op's name."""
        from .read_op import compile_reader

        return compile_reader(self.op)

    @cached_property
    def write(self) -> Callable[[Printed], str]:
        """Gives what follows the op's name, with the blank before it."""
        from .write_op import compile_writer

        return compile_writer(self.op)

    @cached_property
    def sample(self) -> str | None:
        """The op as its example has it, for those who wrote it otherwise; None without one."""
        found = (line.strip() for line in self.op.example.split("\n") if f"{self.shown} " in line)
        line = next(found, None)
        return None if line is None else f"it is written {line}"

    @cached_property
    def defaults(self) -> dict[str, str]:
        """The defaults of attributes as MLIR prints them."""
        texts = {attr.name: default_text(self.op.dialect, attr) for attr in self.op.attrs}
        return {name: text for name, text in texts.items() if text is not None}

    @cached_property
    def array_defaults(self) -> bool:
        """Whether a list of integers may be a default, which is left out."""
        return any(text.startswith("array<") for text in self.defaults.values())


def dialect_names() -> tuple[str, ...]:
    """The package's dialects."""
    return tuple(definitions())


@cache
def shown_names(dialect: DialectDef) -> dict[str, Syntax]:
    """The syntax of a dialect's ops by every spelling of their names: MLIR's and the one that is shown."""
    names: dict[str, Syntax] = {}
    for op in dialect.ops.values():
        syntax = Syntax(op)
        names[syntax.name] = names[syntax.shown] = syntax
    return names


def syntax_of(name: str) -> Syntax | None:
    """The syntax of an op by any spelling of its name; None if there is no such op."""
    dialect = definitions().get(name.partition(".")[0])
    return shown_names(dialect).get(name) if dialect is not None else None
