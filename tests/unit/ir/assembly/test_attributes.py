"""Attributes between the users' spelling and MLIR's."""

from __future__ import annotations

import pytest

from mlirtrt_nb.ir.assembly.attributes import Problem, clean, split_dict, split_list, to_custom, to_generic


@pytest.mark.parametrize(
    ("custom", "generic"),
    [
        ("#tensorrt.slice_mode<kFILL>", '#tensorrt.slice_mode<"kFILL">'),
        (
            "#tensorrt.shape_profile<min = [1, 8], opt = [4, 8], max = [16, 8]>",
            "#tensorrt.shape_profile<array<i64: 1, 8>, array<i64: 4, 8>, array<i64: 16, 8>>",
        ),
        (
            "#tensorrt.shape_profile<min = [], opt = [], max = []>",
            "#tensorrt.shape_profile<array<i64>, array<i64>, array<i64>>",
        ),
        ("tensor<4xf32, #plan.memory_space<host>>", 'tensor<4xf32, #plan.memory_space<"host">>'),
        ("#plan.bounds<none>", '#plan.bounds<"none", unit, unit>'),
        ("#plan.bounds<shape, [1, 2], [3, 4]>", '#plan.bounds<"shape", array<i64: 1, 2>, array<i64: 3, 4>>'),
        (
            "#plan.bounds<value, dense<1> : tensor<2xi32>, dense<4> : tensor<2xi32>>",
            '#plan.bounds<"value", dense<1> : tensor<2xi32>, dense<4> : tensor<2xi32>>',
        ),
        ("#plan.host_backend<benefit = 1>", "#plan.host_backend<1>"),
        (
            "#plan.tensorrt_backend<disallow_shape_tensor_calculations = false, benefit = 3>",
            "#plan.tensorrt_backend<false, 3, unit, unit>",
        ),
        ("[#plan.memory_space<host>, 1 : i64]", '[#plan.memory_space<"host">, 1 : i64]'),
        ('"#tensorrt.slice_mode<kFILL>"', '"#tensorrt.slice_mode<kFILL>"'),
    ],
)
def test_both_ways(custom: str, generic: str) -> None:
    """Each spelling becomes the other, and MLIR's own is left as it is when read."""
    assert to_generic(custom) == generic
    assert to_custom(generic) == custom
    assert to_generic(generic) == generic


@pytest.mark.parametrize(
    ("text", "message", "hint", "position"),
    [
        ("x = #tensorrt.slice_mode<kFIL>", "tensorrt.slice_mode has no value kFIL", "did you mean kFILL?", 14),
        ("#tensorrt.slice_mod<kFILL>", "unknown attribute #tensorrt.slice_mod", "did you mean slice_mode", 10),
        ("#tensorrt.shape_profile<mi = [1]>", "#tensorrt.shape_profile is not of the form", None, 10),
        ("#plan.bounds<shape, [1]>", "#plan.bounds is not of the form", None, 10),
    ],
)
def test_wrong_attributes(text: str, message: str, hint: str | None, position: int) -> None:
    """A wrong name, value or form is named, with the nearest right one, at its place."""
    with pytest.raises(Problem) as caught:
        to_generic(text, 10)
    assert caught.value.message.startswith(message)
    assert caught.value.position == position
    assert (caught.value.hint or "").startswith(hint or "")


def test_elided_weights_get_a_name_by_type() -> None:
    """Zeros of two types are two weights."""
    given = "[dense_resource<__elided__> : tensor<4xf32>, dense_resource<__elided__> : tensor<2xi8>]"
    assert to_generic(given) == (
        '[dense_resource<"__elided__tensor<4xf32>"> : tensor<4xf32>, '
        'dense_resource<"__elided__tensor<2xi8>"> : tensor<2xi8>]'
    )


def test_split_dict() -> None:
    """Entries with brackets, strings, arrows and nested dictionaries stay whole."""
    deep = "[" * 9 + "1" + "]" * 9
    text = (
        f'{{axis = 1 : i64, "a b" = {{a = 1, b}}, unit, f = (i32, f32) -> i32, s = ",}}", d = {deep}, z = -1}}'
    )
    assert [(key, value) for key, value, _ in split_dict(text)] == [
        ("axis", "1 : i64"),
        ('"a b"', "{a = 1, b}"),
        ("unit", None),
        ("f", "(i32, f32) -> i32"),
        ("s", '",}"'),
        ("d", deep),
        ("z", "-1"),
    ]
    assert split_dict("{ }") == []


@pytest.mark.parametrize("text", ["{a = }", "{1}", "{a b}", "{a = 1,,}", "{= 1}"])
def test_broken_dict(text: str) -> None:
    """What is no dictionary is refused."""
    with pytest.raises(Problem, match="expected an attribute"):
        split_dict(text)


def test_split_list() -> None:
    """Items at the top level, however deep their brackets."""
    assert split_list("a, dense<[1, 2]> : tensor<2xi32>, {b = 1, c}, <<<<<<1, 2>>>>>>, 'x'") == [
        "a",
        "dense<[1, 2]> : tensor<2xi32>",
        "{b = 1, c}",
        "<<<<<<1, 2>>>>>>",
        "'x'",
    ]


def test_clean_keeps_offsets() -> None:
    """Comments and line breaks become blanks; strings keep what looks like a comment."""
    assert clean('a // x\n"//" b') == 'a      "//" b'
