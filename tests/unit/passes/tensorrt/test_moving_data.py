"""expand-ops, broadcast-elimination and transpose-reshape-elimination."""

import pytest

from .before_after import check, check_unchanged, function, mnemonics, run


def _transpose(name: str, value: str, order: str, before: str, after: str) -> str:
    dims = ", ".join(f"d{n}" for n in range(order.count("d")))
    return (
        f"%{name} = tensorrt.transpose {{permutation = affine_map<({dims}) -> ({order})>}} "
        f"%{value} : tensor<{before}> to tensor<{after}>\n"
    )


def _shuffle(name: str, value: str, before: str, after: str, first, second, reshape=None, zero=True) -> str:
    shape = "" if reshape is None else f", reshape = {_array(reshape)}"
    flag = "" if zero else ", zero_is_placeholder = false"
    return (
        f"%{name} = tensorrt.shuffle {{first_transpose = {_array(first)}{shape}, second_transpose = "
        f"{_array(second)}{flag}}} ins(%{value} : tensor<{before}>) -> tensor<{after}>\n"
    )


def _array(numbers) -> str:
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def _one(before: str, body: str, after: str, name: str = "y") -> str:
    return function(f"%x: tensor<{before}>", body, f"%{name} : tensor<{after}>")


@pytest.mark.parametrize(
    ("kind", "result", "body", "expected"),
    [
        (
            "2x?x4xf32",
            "4x2x?xf32",
            _transpose("y", "x", "d2, d0, d1", "2x?x4xf32", "4x2x?xf32"),
            _shuffle("y", "x", "2x?x4xf32", "4x2x?xf32", [2, 0, 1], [0, 1, 2]),
        ),
        (
            "2x?xf32",
            "?xf32",
            "%y = tensorrt.reshape %x : tensor<2x?xf32> to tensor<?xf32>",
            _shuffle("y", "x", "2x?xf32", "?xf32", [0, 1], [0], [-1]),
        ),
        (
            "2x0xf32",
            "0x7xf32",
            "%y = tensorrt.reshape %x : tensor<2x0xf32> to tensor<0x7xf32>",
            _shuffle("y", "x", "2x0xf32", "0x7xf32", [0, 1], [0, 1], [0, 7], zero=False),
        ),
        (
            "f32",
            "1x1xf32",
            "%y = tensorrt.expand_rank %x : tensor<f32> to tensor<1x1xf32>",
            _shuffle("y", "x", "f32", "1x1xf32", [], [0, 1], [1, 1]),
        ),
        (
            "?x?xf32",
            "?x1x?xf32",
            "%y = tensorrt.expand_rank %x : tensor<?x?xf32> to tensor<?x1x?xf32>",
            "%y = tensorrt.unsqueeze {axes = array<i64: 1>} %x : tensor<?x?xf32> to tensor<?x1x?xf32>",
        ),
        (
            "?x1x?x1xf32",
            "?x?xf32",
            "%y = tensorrt.collapse_rank %x : tensor<?x1x?x1xf32> to tensor<?x?xf32>",
            "%y = tensorrt.squeeze {axes = array<i64: 1, 3>} %x : tensor<?x1x?x1xf32> to tensor<?x?xf32>",
        ),
        (
            "2x1xf32",
            "2x3xf32",
            "%y = tensorrt.broadcast %x broadcast_dims<0, 1> : tensor<2x1xf32> to tensor<2x3xf32>",
            "%y = tensorrt.slice %x[0, 0][2, 3][1, 0] : tensor<2x1xf32> to tensor<2x3xf32>",
        ),
        (
            "1x8xf32",
            "8x3x5xf32",
            "%y = tensorrt.broadcast %x broadcast_dims<2, 0> : tensor<1x8xf32> to tensor<8x3x5xf32>",
            _shuffle("g", "x", "1x8xf32", "8x1x1xf32", [1, 0], [0, 1, 2], [8, 1, 1])
            + "%y = tensorrt.slice %g[0, 0, 0][8, 3, 5][1, 0, 0] : tensor<8x1x1xf32> to tensor<8x3x5xf32>",
        ),
    ],
)
def test_expand_ops(kind, result, body, expected):
    """Each op becomes the layers that do its work."""
    check(_one(kind, body, result), _one(kind, expected, result), "expand-ops")


def test_expand_ops_with_shapes():
    """A dynamic shape goes along; a dimension that may be 1 leaves a broadcast as it is."""
    arguments = "%x: tensor<?x?xf32>, %s: tensor<3xi32>, %t: tensor<2xi32>, %o: tensor<1x4xf32>"
    before = function(
        arguments,
        "%y = tensorrt.reshape %x shape(%s: tensor<3xi32>) : tensor<?x?xf32> to tensor<?x?x?xf32>\n"
        "%z = tensorrt.broadcast %x broadcast_dims<0, 1> shape(%t : tensor<2xi32>) : tensor<?x?xf32> to "
        "tensor<?x?xf32>\n"
        "%w = tensorrt.broadcast %o broadcast_dims<0, 1> shape(%t : tensor<2xi32>) : tensor<1x4xf32> to "
        "tensor<?x4xf32>\n",
        "%y, %z, %w : tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?x4xf32>",
    )
    after = function(
        arguments,
        "%y = tensorrt.shuffle {first_transpose = array<i64: 0, 1>, second_transpose = array<i64: 0, 1, 2>, "
        "zero_is_placeholder = false} ins(%x, %s : tensor<?x?xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>\n"
        "%z = tensorrt.broadcast %x broadcast_dims<0, 1> shape(%t : tensor<2xi32>) : tensor<?x?xf32> to "
        "tensor<?x?xf32>\n"
        "%w = tensorrt.slice %o[0, 0][%t: tensor<2xi32>][0, 1] : tensor<1x4xf32> to tensor<?x4xf32>\n",
        "%y, %z, %w : tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?x4xf32>",
    )
    check(before, after, "expand-ops")


def test_expand_argmax():
    """argmin and argmax are top_k with k = 1, their axis counted from the front."""
    results = "tensor<2x1xf32>, tensor<2x1xi32>"
    before = function(
        "%x: tensor<2x8xf32>",
        f"%v, %i = tensorrt.argmax {{axis = -1 : i64}} %x : tensor<2x8xf32> -> {results}",
        f"%v, %i : {results}",
    )
    after = function(
        "%x: tensor<2x8xf32>",
        f"%v, %i = tensorrt.top_k <kMAX> {{axis = 1 : i64, k = 1 : i64}} %x : tensor<2x8xf32> -> {results}",
        f"%v, %i : {results}",
    )
    check(before, after, "expand-ops")


BROADCAST = "%b = tensorrt.broadcast %x broadcast_dims<1> : tensor<8xf32> to tensor<4x8xf32>\n"


def test_broadcast_into_element_wise():
    """A sum broadcasts by itself once the rank is right."""
    arguments = "%x: tensor<8xf32>, %z: tensor<4x8xf32>"
    kinds = "tensor<4x8xf32>, tensor<4x8xf32>"
    before = function(
        arguments,
        f"{BROADCAST}%y = tensorrt.element_wise <kSUM>(%b, %z : {kinds}) -> tensor<4x8xf32>",
        "%y : tensor<4x8xf32>",
    )
    after = function(
        arguments,
        "%b = tensorrt.expand_rank %x : tensor<8xf32> to tensor<1x8xf32>\n"
        "%y = tensorrt.element_wise <kSUM>(%b, %z : tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>",
        "%y : tensor<4x8xf32>",
    )
    check(before, after, "broadcast-elimination")


def test_broadcast_into_matrix_multiply():
    """Outer dimensions of a product broadcast; the last two must be there."""
    arguments = "%x: tensor<1x2x3xf32>, %z: tensor<5x3x4xf32>"
    text = (
        "%b = tensorrt.broadcast %x broadcast_dims<0, 1, 2> : tensor<1x2x3xf32> to tensor<5x2x3xf32>\n"
        "%y = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>, op1 = "
        "#tensorrt.matrix_operation<kNONE>} ins(%b, %z : tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> "
        "tensor<5x2x4xf32>"
    )
    program = run(function(arguments, text, "%y : tensor<5x2x4xf32>"), "broadcast-elimination")
    assert mnemonics(program) == ["matrix_multiply"]


@pytest.mark.parametrize(
    ("arguments", "text", "returns"),
    [
        # Both sides are broadcast: nothing else gives the result its length.
        (
            "%x: tensor<8xf32>, %z: tensor<1x8xf32>",
            f"{BROADCAST}%y = tensorrt.element_wise <kSUM>(%b, %z : tensor<4x8xf32>, tensor<1x8xf32>) -> "
            "tensor<4x8xf32>",
            "%y : tensor<4x8xf32>",
        ),
        # The dynamic side may be 1 at run time.
        (
            "%x: tensor<8xf32>, %z: tensor<?x8xf32>",
            f"{BROADCAST}%y = tensorrt.element_wise <kSUM>(%b, %z : tensor<4x8xf32>, tensor<?x8xf32>) -> "
            "tensor<4x8xf32>",
            "%y : tensor<4x8xf32>",
        ),
        # A result of the function.
        ("%x: tensor<8xf32>", BROADCAST, "%b : tensor<4x8xf32>"),
        # It permutes.
        (
            "%x: tensor<4x1xf32>, %z: tensor<8x4xf32>",
            "%b = tensorrt.broadcast %x broadcast_dims<1, 0> : tensor<4x1xf32> to tensor<8x4xf32>\n"
            "%y = tensorrt.element_wise <kSUM>(%b, %z : tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>",
            "%y : tensor<8x4xf32>",
        ),
        # Concatenation does not broadcast.
        (
            "%x: tensor<8xf32>, %z: tensor<4x8xf32>",
            f"{BROADCAST}%y = tensorrt.concatenation {{axis = 0 : i32}} ins(%b, %z : tensor<4x8xf32>, "
            "tensor<4x8xf32>) -> tensor<8x8xf32>",
            "%y : tensor<8x8xf32>",
        ),
    ],
)
def test_broadcast_stays(arguments, text, returns):
    """A broadcast that somebody needs is left alone."""
    check_unchanged(function(arguments, text, returns), "broadcast-elimination")


@pytest.mark.parametrize(
    ("kind", "body", "result", "expected"),
    [
        # Two transposes that cancel.
        (
            "2x?x4xf32",
            _transpose("a", "x", "d1, d2, d0", "2x?x4xf32", "?x4x2xf32")
            + _transpose("y", "a", "d2, d0, d1", "?x4x2xf32", "2x?x4xf32"),
            "2x?x4xf32",
            "",
        ),
        # Two transposes that do not.
        (
            "2x3x4xf32",
            _transpose("a", "x", "d1, d2, d0", "2x3x4xf32", "3x4x2xf32")
            + _transpose("y", "a", "d0, d2, d1", "3x4x2xf32", "3x2x4xf32"),
            "3x2x4xf32",
            _shuffle("y", "x", "2x3x4xf32", "3x2x4xf32", [1, 0, 2], [0, 1, 2]),
        ),
        # Reshapes one after the other, the last of which undoes the first.
        (
            "2x?xf32",
            "%a = tensorrt.reshape %x : tensor<2x?xf32> to tensor<?xf32>\n"
            "%y = tensorrt.reshape %a : tensor<?xf32> to tensor<4x?xf32>\n",
            "4x?xf32",
            _shuffle("y", "x", "2x?xf32", "4x?xf32", [0, 1], [0, 1], [4, -1]),
        ),
        (
            "2x3xf32",
            "%a = tensorrt.reshape %x : tensor<2x3xf32> to tensor<6xf32>\n"
            "%y = tensorrt.reshape %a : tensor<6xf32> to tensor<2x3xf32>\n",
            "2x3xf32",
            "",
        ),
        # A channel shuffle: the transpose goes into one of its reshapes.
        (
            "1x6x2xf32",
            "%a = tensorrt.reshape %x : tensor<1x6x2xf32> to tensor<1x2x3x2xf32>\n"
            + _transpose("b", "a", "d0, d2, d1, d3", "1x2x3x2xf32", "1x3x2x2xf32")
            + "%y = tensorrt.reshape %b : tensor<1x3x2x2xf32> to tensor<1x6x2xf32>\n",
            "1x6x2xf32",
            _shuffle("b", "x", "1x6x2xf32", "1x3x2x2xf32", [0, 1, 2], [0, 2, 1, 3], [1, 2, 3, 2])
            + "%y = tensorrt.reshape %b : tensor<1x3x2x2xf32> to tensor<1x6x2xf32>\n",
        ),
        # A transpose that moves dimensions of length 1 only.
        (
            "1x3x1xf32",
            _transpose("y", "x", "d1, d2, d0", "1x3x1xf32", "3x1x1xf32"),
            "3x1x1xf32",
            _shuffle("y", "x", "1x3x1xf32", "3x1x1xf32", [0, 1, 2], [0, 1, 2], [3, 1, 1]),
        ),
        # A shuffle that does nothing.
        ("?x?xf32", _shuffle("y", "x", "?x?xf32", "?x?xf32", [1, 0], [1, 0]), "?x?xf32", ""),
    ],
)
def test_moves_are_joined(kind, body, result, expected):
    """Chains become one shuffle, or nothing."""
    after = _one(kind, expected, result, "y" if expected else "x")
    check(_one(kind, body, result), after, "transpose-reshape-elimination")


@pytest.mark.parametrize(
    ("arguments", "body", "returns"),
    [
        # Several open dimensions: the shapes alone do not say how it reshapes.
        (
            "%x: tensor<?x?xf32>, %s: tensor<2xi32>, %t: tensor<2xi32>",
            "%a = tensorrt.reshape %x shape(%s: tensor<2xi32>) : tensor<?x?xf32> to tensor<?x?xf32>\n"
            "%y = tensorrt.reshape %a shape(%t: tensor<2xi32>) : tensor<?x?xf32> to tensor<?x?xf32>\n",
            "%y : tensor<?x?xf32>",
        ),
        # Empty tensors: -1 would have no value.
        (
            "%x: tensor<0x3xf32>",
            "%a = tensorrt.reshape %x : tensor<0x3xf32> to tensor<0xf32>\n"
            "%y = tensorrt.reshape %a : tensor<0xf32> to tensor<5x0xf32>\n",
            "%y : tensor<5x0xf32>",
        ),
        # Others read the transpose; joining would copy twice.
        (
            "%x: tensor<2x3xf32>",
            _transpose("a", "x", "d1, d0", "2x3xf32", "3x2xf32")
            + "%y = tensorrt.reshape %a : tensor<3x2xf32> to tensor<6xf32>\n",
            "%a, %y : tensor<3x2xf32>, tensor<6xf32>",
        ),
    ],
)
def test_moves_that_stay(arguments, body, returns):
    """A chain that cannot be joined, or would cost more, is left alone."""
    check_unchanged(function(arguments, body, returns), "transpose-reshape-elimination")


@pytest.mark.parametrize(("reading", "flipped"), [("kNONE", "kTRANSPOSE"), ("kTRANSPOSE", "kNONE")])
def test_matrix_multiply_reads_through(reading, flipped):
    """A transpose of the last two dimensions becomes the way in which the product reads its operand."""
    shape = "5x4x3xf32" if reading == "kNONE" else "5x3x4xf32"
    turned = "5x3x4xf32" if reading == "kNONE" else "5x4x3xf32"

    def product(op1: str, value: str, kind: str) -> str:
        return (
            f"%y = tensorrt.matrix_multiply {{op0 = #tensorrt.matrix_operation<kNONE>, op1 = "
            f"#tensorrt.matrix_operation<{op1}>}} ins(%l, %{value} : tensor<5x2x3xf32>, tensor<{kind}>) -> "
            "tensor<5x2x4xf32>\n"
        )

    arguments, returns = f"%l: tensor<5x2x3xf32>, %x: tensor<{shape}>", "%y : tensor<5x2x4xf32>"
    moved = _transpose("t", "x", "d0, d2, d1", shape, turned)
    before = function(arguments, moved + product(reading, "t", turned), returns)
    check(before, function(arguments, product(flipped, "x", shape), returns), "transpose-reshape-elimination")


def test_matrix_multiply_reads_through_both():
    """Both operands at once, one of them through a shuffle whose two transposes make the exchange."""
    arguments, returns = "%l: tensor<3x2xf32>, %x: tensor<4x3xf32>", "%y : tensor<2x4xf32>"
    body = _transpose("a", "l", "d1, d0", "3x2xf32", "2x3xf32")
    body += _shuffle("b", "x", "4x3xf32", "3x4xf32", [0, 1], [1, 0])
    product = (
        "%y = tensorrt.matrix_multiply {{op0 = #tensorrt.matrix_operation<{0}>, op1 = "
        "#tensorrt.matrix_operation<{0}>}} ins({1}) -> tensor<2x4xf32>\n"
    )
    before = body + product.format("kNONE", "%a, %b : tensor<2x3xf32>, tensor<3x4xf32>")
    after = product.format("kTRANSPOSE", "%l, %x : tensor<3x2xf32>, tensor<4x3xf32>")
    check(
        function(arguments, before, returns),
        function(arguments, after, returns),
        "transpose-reshape-elimination",
    )
