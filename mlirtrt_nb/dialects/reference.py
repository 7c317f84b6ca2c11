"""The reference of the package's dialects, written from the definitions alone: `help_op`, and Markdown pages.

`python -m mlirtrt_nb.dialects.reference docs/dialects` writes the pages that are checked in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path

from ..errors import OptionError
from ..ir.context import definitions, op_named
from ..ir.hints import near_ops
from ..ir.opdef import Attr, DialectDef, OpDef, Operand, ResultDef
from ..kind_name import kind_name

__all__ = ["PAGES", "OpHelp", "help_op", "help_text", "markdown", "write"]

# The dialects with a page. The onnx dialect is ONNX's own operators, documented by ONNX.
PAGES = ("tensorrt", "plan")


@dataclass(frozen=True)
class _Table:
    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class OpHelp:
    """What there is to know about one op; shows itself as text in a terminal and as HTML in a notebook."""

    def __init__(self, op: OpDef) -> None:
        self.op = op

    def __repr__(self) -> str:
        return "\n".join(_text_lines(self.op))

    def _repr_html_(self) -> str:
        return "".join(_html_parts(self.op))

    def _repr_markdown_(self) -> str:
        return "\n".join(_markdown_lines(self.op, level=3))


def help_op(name: str) -> OpHelp:
    """The reference of one op: its syntax, operands, attributes, results, TensorRT layer, and an example.

    `name` is "tensorrt.slice", or "slice" where only one dialect has it.
    Raises OptionError for an unknown name, with the names that are nearest.
    """
    if not isinstance(name, str):
        raise OptionError(
            f"an op goes by its name, not by {kind_name(name)}", hint="mt.help_op('tensorrt.slice')"
        )
    found = op_named(name)
    if found is not None:
        return OpHelp(found)
    shown = {_name(op): op for dialect in definitions().values() for op in dialect.ops.values()}
    short = [op for full, op in shown.items() if full.partition(".")[2] == name]
    if len(short) == 1:
        return OpHelp(short[0])
    near = f"did you mean {' or '.join(map(_name, short))}?" if short else near_ops(name)
    raise OptionError(f"there is no op {name!r}", hint=near or f"the dialects are {', '.join(definitions())}")


def help_text(name: str) -> str:
    """`help_op` as plain text."""
    return repr(help_op(name))


def markdown(dialect: str) -> str:
    """The page of one dialect."""
    definition, package = definitions()[dialect], import_module(f"{__package__}.{dialect}")
    lines = [f"# The `{dialect}` dialect", "", *_paragraphs(package.__doc__), *_contents(package.FAMILIES)]
    for family in package.FAMILIES:
        lines += [f"## {_heading(family.__name__)}", "", *_paragraphs(family.__doc__)]
        for op in family.OPS:
            lines += _markdown_lines(op, level=3)
    return "\n".join([*lines, *_attribute_lines(definition)]).rstrip() + "\n"


def write(folder: Path) -> list[Path]:
    """Write every page into `folder` and return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in PAGES:
        paths.append(folder / f"{name}.md")
        paths[-1].write_text(markdown(name), encoding="utf-8")
    return paths


def _name(op: OpDef) -> str:
    return op.display_name or op.name


def _heading(module: str) -> str:
    return module.rpartition(".")[2].replace("_", " ").capitalize()


def _paragraphs(doc: str | None) -> list[str]:
    """A docstring's paragraphs, one a line, each with an empty line after it."""
    blocks = (doc or "").strip().split("\n\n")
    return [line for block in blocks for line in (" ".join(block.split()), "")]


def _contents(families: tuple) -> list[str]:
    lines = []
    for family in families:
        links = ", ".join(f"[`{op.mnemonic}`](#{_anchor(op)})" for op in family.OPS)
        lines.append(f"- {_heading(family.__name__)}: {links}")
    return [*lines, ""]


def _anchor(op: OpDef) -> str:
    return _name(op).lower().replace(".", "")


def _attribute_lines(dialect: DialectDef) -> Iterator[str]:
    """The enums and other attributes at the end of a page."""
    if dialect.enums:
        yield from (
            "## Enums",
            "",
            f"Spelled `#{dialect.name}.<name><kVALUE>`, or `<kVALUE>` in an op's own slot.",
            "",
        )
        yield from _markdown_table(
            _Table("", ("name", "values"), [(e.mnemonic, " ".join(e.values)) for e in dialect.enums.values()])
        )
    if dialect.params:
        yield from ("## Other attributes", "")
        rows = [(f"#{dialect.name}.{name}", ", ".join(params)) for name, params in dialect.params.items()]
        yield from _markdown_table(_Table("", ("name", "parameters"), rows))


def _syntax(op: OpDef) -> str:
    """The assembly format in MLIR's notation, after the op's name."""
    return f"{_name(op)} {op.assembly}" if op.assembly else f'"{op.name}"(operands) {{attributes}} : type'


def _facts(op: OpDef) -> list[tuple[str, str]]:
    facts = [("TensorRT layer", op.layer)] if op.layer else []
    if op.results:
        facts.append(("Result types", "inferred" if op.infer else "to be written in the text, after the colon"))
    if op.name.startswith("tensorrt.") and "pure" not in op.traits and op.results:
        facts.append(("Effects", "kept even where nothing reads its result"))
    return facts


def _tables(op: OpDef) -> list[_Table]:
    tables = [
        _Table("Operands", ("operand", "element types", ""), [_operand_row(o) for o in op.operands]),
        _Table("Attributes", ("attribute", "kind", ""), [_attribute_row(op, a) for a in op.attrs]),
        _Table(
            "Results",
            ("result", "element types"),
            [(r.name + ("..." if r.variadic else ""), _result_types(op, r)) for r in op.results],
        ),
        _Table("Regions", ("region", "block arguments"), [(r.name, r.args) for r in op.regions]),
    ]
    return [table for table in tables if table.rows]


def _types(types: str) -> str:
    return types.replace(" ", ", ")


def _result_types(op: OpDef, result: ResultDef) -> str:
    return "as inferred" if result.types == "any" and op.infer else _types(result.types)


def _operand_row(operand: Operand) -> tuple[str, ...]:
    note = "Optional. " if operand.optional and not operand.doc.startswith("Optional") else ""
    return (operand.name + ("..." if operand.variadic else ""), _types(operand.types), f"{note}{operand.doc}")


def _attribute_row(op: OpDef, attr: Attr) -> tuple[str, ...]:
    note = "Optional. " if attr.optional else ""
    if attr.default is not None:
        shown = str(attr.default).lower() if isinstance(attr.default, bool) else attr.default
        note = f"Default {shown}. "
    kind = attr.kind
    if kind.startswith("enum:"):
        enum = definitions()[op.dialect].enums.get(kind[5:])
        kind = f"{kind[5:]}: {', '.join(enum.values)}" if enum else kind[5:]
    return (attr.name, kind, f"{note}{attr.doc}")


def _with_schema(op: OpDef) -> OpDef:
    """An op of ONNX's own with what the newest version of its schema says; others as they are."""
    from .onnx.documentation import documented

    return documented(op) if op.dialect == "onnx" else op


def _text_lines(op: OpDef) -> Iterator[str]:
    op = _with_schema(op)
    yield from (_name(op), "", f"  {op.summary}", "", "Syntax", f"  {_syntax(op)}", "")
    for table in _tables(op):
        yield table.title
        widths = [max(len(row[i]) for row in table.rows) for i in range(len(table.header))]
        for row in table.rows:
            cells = [cell.ljust(min(width, 40)) for cell, width in zip(row, widths, strict=True)]
            yield f"  {'  '.join(cells)}".rstrip()
        yield ""
    for title, fact in _facts(op):
        yield f"{title}: {fact}"
    if op.example:
        yield from ("", "Example", *(f"  {line}" for line in op.example.rstrip().split("\n")))


def _markdown_lines(op: OpDef, level: int) -> Iterator[str]:
    op = _with_schema(op)
    yield from (f"{'#' * level} {_name(op)}", "", op.summary, "", "```", _syntax(op), "```", "")
    for table in _tables(op):
        yield from _markdown_table(table)
    facts = [f"- {title}: {fact}" for title, fact in _facts(op)]
    yield from (*facts, "") if facts else ()
    if op.example:
        yield from ("```mlir", op.example.rstrip(), "```", "")


def _markdown_table(table: _Table) -> Iterator[str]:
    yield f"| {' | '.join(table.header)} |"
    yield f"|{'---|' * len(table.header)}"
    for name, *rest in table.rows:
        yield f"| {' | '.join([f'`{name}`', *(cell.replace('|', chr(92) + '|') for cell in rest)])} |"
    yield ""


# Notebook front ends align cells to the right.
_LEFT = 'style="text-align:left"'
# An exported page gives text in an output the font of its prose, and breaks it within words.
_MONOSPACE = (
    'style="font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);'
    'white-space:pre;overflow-wrap:normal;word-break:normal;overflow-x:auto"'
)


def _html_parts(op: OpDef) -> Iterator[str]:
    """Plain elements without colours, so that it follows the notebook's theme."""
    op = _with_schema(op)
    yield f"<h3><code>{escape(_name(op))}</code></h3><p>{escape(op.summary)}</p>"
    yield f"<pre {_MONOSPACE}>{escape(_syntax(op))}</pre>"
    for table in _tables(op):
        head = "".join(f'<th scope="col" {_LEFT}>{escape(cell)}</th>' for cell in table.header)
        yield f"<table><caption {_LEFT}>{table.title}</caption><thead><tr>{head}</tr></thead><tbody>"
        for name, *rest in table.rows:
            cells = "".join(f"<td {_LEFT}>{escape(cell)}</td>" for cell in rest)
            yield f'<tr><th scope="row" {_LEFT}><code>{escape(name)}</code></th>{cells}</tr>'
        yield "</tbody></table>"
    facts = "".join(f"<li>{escape(title)}: {escape(fact)}</li>" for title, fact in _facts(op))
    if facts:
        yield f"<ul>{facts}</ul>"
    if op.example:
        yield f"<p>Example</p><pre {_MONOSPACE}>{escape(op.example.rstrip())}</pre>"


if __name__ == "__main__":
    for page in write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/dialects")):
        print(page)
