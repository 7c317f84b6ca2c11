"""The small parts that the text layer is made of."""

from __future__ import annotations

import pytest

from mlirtrt_nb.ir.assembly import split_input
from mlirtrt_nb.ir.assembly.groups import joined, split_groups
from mlirtrt_nb.ir.assembly.names import simple_op_end
from mlirtrt_nb.ir.assembly.sourcemap import Lines, SourceMap
from mlirtrt_nb.ir.assembly.templates import Template, Templates
from mlirtrt_nb.ir.assembly.tokens import Unbalanced, balanced_end, deep_end, types_of, unquote


def test_split_input() -> None:
    """Parts between dividers, with their first lines; parts of blanks are left out."""
    assert split_input("a\nb\n// -----\nc\n  // -----\n\n// -----\nd") == [
        ("a\nb\n", 1),
        ("\nc\n", 3),
        ("\nd", 7),
    ]
    assert split_input("") == [("", 1)]
    assert split_input("x // -----\ny") == [("x // -----\ny", 1)]


def test_balanced_end() -> None:
    """Brackets of all kinds, with arrows, comparisons, strings and comments among them."""
    text = '<(d0) -> {"}>", [1 >= 2]} // >\n>rest'
    assert text[balanced_end(text, 0) :] == "rest"
    for broken in ("(]", "((", "{ ( }"):
        with pytest.raises(Unbalanced):
            balanced_end(broken, 0)


@pytest.mark.parametrize(
    ("text", "attribute", "kind"),
    [
        ("1 : i64, x", "1 : i64", "1"),
        ("dense<[1, 2]> : tensor<2xi32> }", "dense<[1, 2]> : tensor<2xi32>", "dense<[1, 2]>"),
        ("(i32) -> (i32) -> i32 : f32", "(i32) -> (i32) -> i32 : f32", "(i32) -> (i32) -> i32"),
        ("affine_map<(d0) -> (d0)>)", "affine_map<(d0) -> (d0)>", "affine_map<(d0) -> (d0)>"),
        ("!quant.uniform<i8:f32, 1.0> to", "!quant.uniform<i8:f32, 1.0>", "!quant.uniform<i8:f32, 1.0>"),
        (": x", "", ""),
        ("", "", ""),
    ],
)
def test_deep_end(text: str, attribute: str, kind: str) -> None:
    """Where an attribute ends, with the type that may follow it, and where a type does."""
    assert text[: deep_end(text, 0, typed=True)] == attribute
    assert text[: deep_end(text, 0, typed=False)] == kind


def test_types_of() -> None:
    """Commas inside brackets do not divide a list of types."""
    types = ["tensor<4xf32, #plan.memory_space<host>>", "(i32, f32) -> (i1)", "!foo", "tuple<i1, i2>"]
    assert types_of(", ".join(types)) == types


def test_unquote() -> None:
    """MLIR's escapes."""
    assert unquote(r'"a\22\5C\n\"b"') == 'a"\\\n"b'


def test_source_map() -> None:
    """A place in copied text moves with it; one in rewritten text goes to the same token, or to the start."""
    user = "a %x b\n%y c"
    translated = "PREFIX a NEW(%x, %q) b\n%y c"
    marks = [(0, 0, False), (7, 0, True), (9, 2, False), (20, 4, True)]
    places = SourceMap(Lines(user), Lines(translated), marks)
    assert places.user_offset(1, 8) == 0
    assert places.user_offset(1, translated.index("%x") + 1) == user.index("%x")
    assert places.user_offset(1, translated.index("%q") + 1) == 2
    assert places.user_offset(1, translated.index(" b") + 2) == user.index("b")
    assert places.user_offset(2, 4) == user.index("c")
    assert places.user_offset(9, 9) == len(user)


def test_lines() -> None:
    """Lines and columns count from 1; MLIR's columns count bytes."""
    lines = Lines("ab\nä€c")
    assert lines.locate(0) == (1, 1) and lines.locate(4) == (2, 2)
    assert lines.line(2) == "ä€c" and lines.line(3) == ""
    assert lines.offset(2, 6) == 5


def test_templates() -> None:
    """A text is worked out once for all values, contents of constants, and lists of integers."""
    asked: list[str] = []

    def make(text: str) -> Template | None:
        asked.append(text)
        return None if text.startswith("no") else Template(f"<{text}> 100% %1 %0", ["t"])

    templates = Templates(make, "")
    for one, two in (("%a", "dense<1>"), ("%b#1", 'dense<"0x%">')):
        template, varying = templates.lookup(f"op {one}, {two} : t") or pytest.fail("no template")
        assert template.fill(varying) == f"<op {one}, {two} : t> 100% {two} {one}"
        assert template.types == ["t"]
    assert templates.lookup("no %a") is None
    assert templates.lookup("op dense<1>, %a : t") is not None
    assert asked == ["op %0, dense<%1> : t", "no %0", "op dense<%0>, %1 : t"]


def test_lists_of_integers_in_templates() -> None:
    """Lists of any length are one; those with a special value are not taken for others."""
    special = ("op %x[-2147483648]", "op %x[1, 9000000001]")
    whole = "\n".join(special)
    templates = Templates(lambda text: Template(text.replace("[", "array<i32: ").replace("]", ">"), []), whole)
    for integers in ("1", "1, -2, 3"):
        template, varying = templates.lookup(f"op %x[{integers}]") or pytest.fail("no template")
        assert template.fill(varying) == f"op %xarray<i32: {integers}>"
    for text in special:
        assert templates.lookup(text) is None
    printing = Templates(lambda text: Template(text.replace("array<i64: ", "[").replace(">", "]"), []), "")
    template, varying = printing.lookup("op %x {a = array<i64: 4, 5>}") or pytest.fail("no template")
    assert template.fill(varying) == "op %x {a = [4, 5]}"


def test_notes_in_templates() -> None:
    """Attributes of other dialects may have any number or text; their names stay what they are."""
    asked: list[str] = []

    def make(text: str) -> Template:
        asked.append(text)
        return Template(text, [])

    templates = Templates(make, "")
    first = 'op %x {a.b = 5 : i64, c.d = "x, %y", e = 1 : i64}'
    second = 'op %y {a.b = -2.5e+00 : f32, c.d = "", e = 1 : i64}'
    for text in (first, second):
        template, varying = templates.lookup(text) or pytest.fail("no template")
        assert template.fill(varying) == text
    assert asked == ["op %0 {a.b = %1, c.d = %2, e = 1 : i64}"]
    for text in ("op %x {a.b = 5 : i64, c.b = 6, e = 1 : i64}", "op %x {a.b = 5 : i64, c.d = 6, e = 2 : i64}"):
        templates.lookup(text)
    assert len(asked) == 3


def test_groups() -> None:
    """Names of several results survive MLIR's printing, unless one is taken."""
    assert joined(["%v", "%i"]) == "%v,i"
    assert split_groups("%v2Ci:2 = op\nuse %v2Ci#1, %v2Ci#0") == "%v, %i = op\nuse %i, %v"
    assert split_groups("%v2Ci_3:2 = op\nuse %v2Ci_3#1") == "%v_3, %i_3 = op\nuse %i_3"
    assert split_groups("%v2Ci, %v2Ci_0 = op\nuse %v2Ci_0") == "%v, %i = op\nuse %i"
    taken = "%i = other\n%v2Ci:2 = op"
    assert split_groups(taken) == taken
    assert split_groups("%x2C:2 = op") == "%x2C:2 = op"


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("arith.addf %a, %b : f32\n  return", True),
        ("arith.addf %a, %b : f32\n  // comment\n\n  %x = foo", True),
        ("arith.addf %a, %b : f32", True),
        ("arith.addf %a,\n  %b : f32", False),
        ("arith.constant 1.0\n  : f32", False),
        ("scf.if %c -> f32 {\n", False),
        ("linalg.add ins(%a)\n  outs(%b)", False),
        ("arith.addf %a, %b : f32 // why\n  return", False),
    ],
)
def test_simple_op_end(text: str, simple: bool) -> None:
    """An op is taken to end with its line only where the next one clearly begins something else."""
    end = simple_op_end(text, 0)
    assert (end is not None) == simple
    if end is not None:
        assert text[:end] == text.split("\n")[0]
