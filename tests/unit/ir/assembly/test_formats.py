"""The format notation."""

from __future__ import annotations

import pytest

from mlirtrt_nb.ir.assembly import formats as f
from mlirtrt_nb.ir.assembly.emit import Emitter
from mlirtrt_nb.ir.assembly.parsed import Parsed
from mlirtrt_nb.ir.assembly.printed import Printed
from mlirtrt_nb.ir.assembly.syntax import Syntax
from mlirtrt_nb.ir.opdef import Attr, OpDef, Operand, Region

A, B, C = Operand("a"), Operand("b", optional=True), Operand("c", variadic=True)
N = Attr("n", "i64")


def op(assembly: str, operands: tuple[Operand, ...] = (A,), regions: tuple[Region, ...] = ()) -> OpDef:
    """An op with one result and that format."""
    return OpDef("test.op", "", operands=operands, attrs=(N,), regions=regions, assembly=assembly)


def test_elements() -> None:
    """Each kind of element is recognised."""
    parsed = f.parse_format(
        op(
            "attr-dict $a `` `,` $n (`[` $b^ `]`) : (`none`)? custom<For>($a, type($c)) `:` "
            "functional-type(operands, results) type($result) $body",
            operands=(A, B, C),
            regions=(Region("body"),),
        )
    )
    assert parsed == (
        f.AttrDict(False),
        f.Operands((0,)),
        f.Space(""),
        f.Literal(","),
        f.AttrSlot(N),
        f.Group((f.Literal("["), f.Operands((1,)), f.Literal("]")), f.Operands((1,)), (f.Literal("none"),)),
        f.Custom("For", (f.Operands((0,)), f.Types(False, (2,)))),
        f.Literal(":"),
        f.FunctionalType(f.Types(False, (0, 1, 2)), f.Types(True, (0,))),
        f.Types(True, (0,)),
        f.RegionSlot(0),
    )
    assert f.slots_of(parsed) == {"n"}


@pytest.mark.parametrize(
    "assembly", ["$x", "type($x)", "(`a` $a^", "attr_dict", "`a", "type(`a`)", "$a $", "(`a`)!", "operands ;"]
)
def test_broken_format(assembly: str) -> None:
    """A format that names something unknown, or is incomplete, is refused with the op's name."""
    with pytest.raises(f.FormatError):
        f.parse_format(op(assembly))


def read(definition: OpDef, text: str) -> str:
    """What an op's text becomes, after the op's name."""
    reader = Emitter(text, "cell")
    parsed = Parsed(Syntax(definition), 0)
    parsed.syntax.read(reader, parsed)
    assert text[reader.position :].strip() == ""
    return reader.without_regions(parsed)[0].removeprefix('"test.op"')


@pytest.mark.parametrize(
    ("assembly", "text", "generic"),
    [
        (
            "$a attr-dict `:` type($a) `->` type($result)",
            "%x {n = 1} : i1 -> i2",
            "(%x) {n = 1 : i64} : (i1) -> i2",
        ),
        ("$n `,` $a `:` functional-type($a, results)", "7, %x : (i1) -> i2", "(%x) {n = 7 : i64} : (i1) -> i2"),
        (
            "$a attr-dict-with-keyword `:` type($a) type($result)",
            "%x attributes {n = 1} : i1 i2",
            "(%x) {n = 1 : i64} : (i1) -> i2",
        ),
        ("$a attr-dict-with-keyword `:` type($a) type($result)", "%x : i1 i2", "(%x) : (i1) -> i2"),
        (
            "$a `:` type($a) (`n` $n^)? (`->` type($result)^)?",
            "%x : i1 n 3 -> i2",
            "(%x) {n = 3 : i64} : (i1) -> i2",
        ),
        ("$a `:` type($a) (`n` $n^)? (`->` type($result)^)?", "%x : i1 -> i2", "(%x) : (i1) -> i2"),
        (
            "`[` ($n^) : (`none`)? `]` $a `:` functional-type(operands, results)",
            "[none] %x : (i1) -> i2",
            "(%x) : (i1) -> i2",
        ),
        (
            "`[` ($n^) : (`none`)? `]` $a `:` functional-type(operands, results)",
            "[] %x : (i1) -> i2",
            "(%x) : (i1) -> i2",
        ),
        (
            "`[` ($n^) : (`none`)? `]` $a `:` functional-type(operands, results)",
            "[5] %x : (i1) -> i2",
            "(%x) {n = 5 : i64} : (i1) -> i2",
        ),
    ],
)
def test_reading(assembly: str, text: str, generic: str) -> None:
    """Slots, dictionaries, optional groups with and without an alternative, types in each form."""
    assert read(op(assembly), text) == generic


def test_reading_what_nests_deeply() -> None:
    """Types and attributes too deep for an expression are read all the same, also at the end."""
    kind = "tuple<" * 9 + "i1" + ">" * 9
    value = "[" * 9 + "]" * 9
    text = f"%x {{n = 1, t.v = {value}}} : {kind} -> {kind}"
    assert read(op("$a attr-dict `:` type($a) (`->` type($result)^)?"), text) == (
        f"(%x) {{n = 1 : i64, t.v = {value}}} : ({kind}) -> {kind}"
    )


def printed(definition: OpDef, attributes: dict[str, str | None], operands: list[str]) -> str:
    types = (["i1"] * len(operands), ["i2"])
    return Syntax(definition).write(Printed(definition, operands, attributes, types, [], ""))


@pytest.mark.parametrize(
    ("assembly", "text"),
    [
        ("$a attr-dict `:` type($a)", " %x {n = 1 : i64} : i1"),
        ("`<` $n `>` $a", "<1> %x"),
        ("$a `[` $n `]` `(` `)` `,` `x`", " %x[1] (), x"),
        ("$a `` $n", " %x1"),
        ("(`n` `(` $n^ `)`)? `->` type($result)", " n(1) -> i2"),
    ],
)
def test_spacing(assembly: str, text: str) -> None:
    """Blanks follow MLIR's rules for literals, punctuation and variables."""
    assert printed(op(assembly), {"n": "1 : i64"}, ["%x"]) == text
