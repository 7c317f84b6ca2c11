"""Matrix products and einsum."""

import pytest

from .cases import check_inferred, check_rejected


def _ops(op0="kNONE", op1="kNONE"):
    return {"op0": op0, "op1": op1}


@pytest.mark.parametrize(
    ("operands", "attrs", "expected"),
    [
        (["2x8xf32", "8x16xf32"], _ops(), "2x16xf32"),
        (["8x2xf32", "16x8xf32"], _ops("kTRANSPOSE", "kTRANSPOSE"), "2x16xf32"),
        (["5x1x2x8xf16", "1x3x8x4xf16"], _ops(), "5x3x2x4xf16"),
        (["?x2x8xf32", "4x8x?xf32"], _ops(), "4x2x?xf32"),
        (["8xf32", "8x16xf32"], _ops("kVECTOR"), "16xf32"),
        (["3x2x8xf32", "3x8xf32"], _ops("kNONE", "kVECTOR"), "3x2xf32"),
        (["8xf32", "?xf32"], _ops("kVECTOR", "kVECTOR"), "f32"),
    ],
)
def test_matrix_multiply(operands, attrs, expected):
    """Outer dimensions broadcast; a vector adds no dimension."""
    check_inferred("matrix_multiply", operands, attrs, [expected])


@pytest.mark.parametrize(
    ("inputs", "equation", "expected"),
    [
        (["2x3x4xf32", "2x4x5xf32"], "bij,bjk->bik", "2x3x5xf32"),
        (["2x3xf32"], "ij -> ji", "3x2xf32"),
        (["2x3xf32", "3x4xf32"], "ij,jk", "2x4xf32"),
        (["?x3xf32", "?x4xf32"], "bi,bk->bik", "?x3x4xf32"),
        (["1x3xf32", "7x4xf32"], "bi,bk->bik", "7x3x4xf32"),
        (["3xf16", "3xf16"], "i,i->", "f16"),
        (["2x3xf32"], "zy", "3x2xf32"),
    ],
)
def test_einsum(inputs, equation, expected):
    """Without an arrow the result has the labels seen once, sorted."""
    check_inferred("einsum", [inputs], {"equation": equation}, [expected])


@pytest.mark.parametrize(
    ("operands", "attrs", "fragments"),
    [
        (["2x8xf32", "7x16xf32"], _ops(), ["input0 tensor<2x8xf32>", "input1 tensor<7x16xf32>", "8 and 7"]),
        (["2x2x8xf32", "3x8x16xf32"], _ops(), ["tensor<2x2x8xf32>", "tensor<3x8x16xf32>", "do not broadcast"]),
        (["2x2x8xf32", "8x16xf32"], _ops(), ["do not broadcast"]),
        (["8xf32", "8x16xf32"], _ops(), ["input0 is tensor<8xf32>", "op0 = kNONE"]),
        (["f32", "8x16xf32"], _ops("kVECTOR"), ["input0 is tensor<f32>", "op0 = kVECTOR"]),
        (["2x8xf32", "8x16xf16"], _ops(), ["tensor<2x8xf32>", "tensor<8x16xf16>", "element types"]),
        (["2x8xi32", "8x16xi32"], _ops(), ["tensor<2x8xi32>"]),
    ],
)
def test_matrix_multiply_rejected(operands, attrs, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected("matrix_multiply", operands, attrs, None, *fragments)


@pytest.mark.parametrize(
    ("inputs", "equation", "fragments"),
    [
        (["2x3xf32", "3x4xf32", "4x5xf32"], "ij,jk,kl->il", ["3 terms for 3 inputs"]),
        (["2x3xf32"], "ij,jk->ik", ["2 terms for 1 inputs"]),
        (["2x3xf32"], "IJ->JI", ['equation = "IJ->JI"', "lower-case"]),
        (["2x3xf32"], "...i->i", ["lower-case"]),
        (["2x3xf32"], "ijk->k", ['"ijk"', "tensor<2x3xf32>"]),
        (["2x3xf32", "4x5xf32"], "ij,jk->ik", ['label "j"', "3 and 4"]),
        (["2x3xf32"], "ij->ik", ['"ik"']),
        (["2x3xf32"], "ij->ii", ['"ii"']),
        (["3x3xf32"], "ii->i", ['"ii"', "diagonals"]),
        (["2x3xf32", "3x4xf16"], "ij,jk->ik", ["tensor<3x4xf16>", "element types"]),
    ],
)
def test_einsum_rejected(inputs, equation, fragments):
    """Each rule quotes the part of the equation that breaks it."""
    check_rejected("einsum", [inputs], {"equation": equation}, None, *fragments)
