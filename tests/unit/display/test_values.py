"""Links from the uses of a value to its definition, in text where names come twice."""

from __future__ import annotations

import re

from mlirtrt_nb.display.regions import regions_html
from mlirtrt_nb.display.values import links_of

BRANCHES = """func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = tensorrt.if (%c : tensor<i1>) -> tensor<4xf32> {
    %1 = a.op %x : tensor<4xf32>
    tensorrt.yield %1 : tensor<4xf32>
  } else {
    %1 = b.op %x : tensor<4xf32>
    tensorrt.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}"""
LOOP = """%r:2, %s = scf.for %i = %lb to %ub iter_args(%a = %init, %b = %init) -> (f32, f32) {
  %n = a.op %a, %b, %i : f32
}
return %r#1, %s : f32, f32"""


def numbers(text: str) -> list[dict[str, int]]:
    """Per line, which definition each name means; negative where it is defined."""
    return [
        {name: -value.number - 1 if value.defined else value.number + 1 for name, value in line.items()}
        for line in links_of(text.split("\n"))
    ]


def test_a_name_means_the_definition_of_its_region() -> None:
    """The two `%1` of two branches are two values; what is around is seen from both."""
    lines = numbers(BRANCHES)
    assert lines[2]["%1"] == -lines[3]["%1"] < 0
    assert lines[5]["%1"] == -lines[6]["%1"] < 0
    assert lines[3]["%1"] != lines[6]["%1"]
    assert lines[2]["%x"] == lines[5]["%x"] == -lines[0]["%x"]
    assert lines[8]["%0"] == -lines[1]["%0"]


def test_loops_and_groups() -> None:
    """What a loop carries is defined in its head, for its body; several results have one line."""
    lines = numbers(LOOP)
    assert {"%a", "%b", "%i"} <= lines[1].keys()
    assert all(lines[1][name] == -lines[0][name] for name in ("%a", "%b", "%i"))
    assert lines[3] == {"%r": -lines[0]["%r"], "%s": -lines[0]["%s"]}
    # Without a definition in the text, or without a use, there is no link.
    assert not {"%init", "%lb", "%n"} & (lines[0].keys() | lines[1].keys())


def test_functions_do_not_see_each_other() -> None:
    """The same name in the next function is another value."""
    lines = numbers(f"{BRANCHES}\n{BRANCHES}")
    assert abs(lines[0]["%x"]) != abs(lines[10]["%x"]) == lines[12]["%x"]


def test_every_link_leads_somewhere() -> None:
    """Each use's address is an id of the output, said once; uses say which op they come from."""
    html = regions_html(BRANCHES)
    ids = re.findall(r'<a id="([^"]+)"', html)
    assert len(ids) == len(set(ids)) == 5
    assert set(re.findall(r'href="#([^"]+)" tabindex', html)) == set(ids)
    assert html.count('title="a.op"') == 1
    assert html.count('title="argument"') == 3
    assert all(f'[href="#{name}"]' in html for name in ids)


def test_names_in_strings_and_comments_link_nowhere() -> None:
    """Only values are links."""
    html = regions_html('%a = b.c {note = "%a"} : f32  // %a\nreturn %a : f32')
    assert html.count("<a ") == 2


def test_other_texts_have_other_ids() -> None:
    """Two outputs on one page do not lead into each other; the same text gives the same output."""
    one, other = (re.findall(r' id="([^"]+)"', regions_html(BRANCHES.replace("a.op", op))) for op in ("b", "c"))
    assert one and other and not set(one) & set(other)
    assert regions_html(BRANCHES) == regions_html(BRANCHES)
