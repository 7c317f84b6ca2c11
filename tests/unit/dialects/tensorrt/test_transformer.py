"""Attention, KV cache, rotary embedding, mixture of experts."""

import pytest

from .cases import check_inferred, check_rejected

Q, K, V = "1x4x8x16xf16", "1x2x10x16xf16", "1x2x10x32xf16"
C, U = "2x4x32x16xf16", "2x4x3x16xf16"
MOE = ["1x8x16xf16", "1x8x2xi32", "1x8x2xf16", "4x16x32xf16", "4x16x32xf16", "4x32x16xf16"]


def _with(position, spelling):
    return [*MOE[:position], spelling, *MOE[position + 1 :]]


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("attention", [Q, K, V], {}, "1x4x8x32xf16"),
        ("attention", ["?x4x?x16xf32"] * 3, {"causalKind": "kLOWER_RIGHT"}, "?x4x?x16xf32"),
        ("attention", [Q, K, V, "1x1x8x10xi1"], {"decomposable": True}, "1x4x8x32xf16"),
        (
            "attention",
            ["20x4x16xf16", "1x2x10x16xf16", "1x2x10x16xf16", None, None, "2xi32"],
            {"queryForm": "kPACKED_NHD"},
            "20x4x16xf16",
        ),
        ("kv_cache_update", [C, U, "2xi32"], {}, C),
        ("kv_cache_update", [C, "7x4x16xf16", "2xi32", "3xi32"], {"updateForm": "kPACKED_NHD"}, C),
        ("rotary_embedding", [C, "2x32x8xf16", "2x32x8xf16"], {"interleaved": True}, C),
        ("rotary_embedding", [C, "100x4xf16", "100x4xf16", "2x32xi64"], {"rotaryEmbeddingDim": 8}, C),
        ("moe", MOE, {}, "1x8x16xf16"),
        ("moe", [*MOE, "4x32xf16", "4x32xf16", "4x16xf16"], {}, "1x8x16xf16"),
    ],
)
def test_inference(name, operands, attrs, expected):
    """The result has the query's, cache's or input's shape, with the value's last dimension for attention."""
    check_inferred(name, operands, attrs, [expected])


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "fragments"),
    [
        ("attention", [Q, "1x2x10x16xf32", V], {}, ["query is", "element types"]),
        ("attention", ["4x8x16xf16", K, V], {}, ["query is tensor<4x8x16xf16>", "rank 4"]),
        ("attention", [Q, "1x2x10x8xf16", V], {}, ["key is tensor<1x2x10x8xf16>", "last dimensions"]),
        ("attention", [Q, K, "1x2x9x16xf16"], {}, ["value is tensor<1x2x9x16xf16>"]),
        ("attention", [Q, "2x2x10x16xf16", "2x2x10x16xf16"], {}, ["key is tensor<2x2x10x16xf16>", "batches"]),
        ("attention", [Q, "1x3x10x16xf16", "1x3x10x16xf16"], {}, ["4 heads", "3 heads"]),
        (
            "attention",
            [Q, K, V, "1x1x8x10xi1"],
            {"causalKind": "kUPPER_LEFT"},
            ["causalKind = kUPPER_LEFT", "mask"],
        ),
        ("attention", [Q, K, V, "1x1x8x9xi1"], {}, ["mask is tensor<1x1x8x9xi1>", "1x4x8x10"]),
        ("attention", ["20x4x16xf16", K, V], {"queryForm": "kPACKED_NHD"}, ["queryForm", "queryLengths"]),
        ("attention", [Q, K, V, None, "f16"], {}, ["normalizationQuantizeToType"]),
        ("kv_cache_update", ["4x32x16xf16", U, "2xi32"], {}, ["cache is tensor<4x32x16xf16>", "rank 4"]),
        ("kv_cache_update", [C, U, "3xi32"], {}, ["writeIndices is tensor<3xi32>"]),
        ("kv_cache_update", [C, "2x5x3x16xf16", "2xi32"], {}, ["update is tensor<2x5x3x16xf16>"]),
        ("kv_cache_update", [C, "7x4x16xf16", "2xi32"], {"updateForm": "kPACKED_NHD"}, ["updateLengths"]),
        ("rotary_embedding", ["4x32x16xf16", "32x8xf16", "32x8xf16"], {}, ["input is tensor<4x32x16xf16>"]),
        ("rotary_embedding", [C, "32x8xf16", "32x8xf16"], {}, ["cosCache is tensor<32x8xf16>", "rank 3"]),
        ("rotary_embedding", [C, "2x32x8xf16", "2x32x4xf16"], {}, ["sinCache is tensor<2x32x4xf16>"]),
        ("rotary_embedding", [C, "2x32x4xf16", "2x32x4xf16"], {}, ["cosCache is tensor<2x32x4xf16>", "half"]),
        (
            "rotary_embedding",
            [C, "2x32x8xf16", "2x32x8xf16"],
            {"rotaryEmbeddingDim": 7},
            ["rotaryEmbeddingDim = 7"],
        ),
        (
            "rotary_embedding",
            [C, "2x32x9xf16", "2x32x9xf16"],
            {"rotaryEmbeddingDim": 18},
            ["rotaryEmbeddingDim = 18"],
        ),
        ("moe", _with(0, "8x16xf16"), {}, ["hiddenStates is tensor<8x16xf16>", "rank 3"]),
        ("moe", _with(1, "1x8x3xi32"), {}, ["selectedExpertsForTokens is tensor<1x8x3xi32>"]),
        ("moe", [MOE[0], "1x9x2xi32", "1x9x2xf16", *MOE[3:]], {}, ["tokens", "tensor<1x8x16xf16>"]),
        ("moe", _with(4, "4x16x31xf16"), {}, ["fcUpWeights is tensor<4x16x31xf16>"]),
        ("moe", _with(5, "4x16x32xf16"), {}, ["fcDownWeights is tensor<4x16x32xf16>"]),
        ("moe", ["1x8x15xf16", *MOE[1:]], {}, ["fcGateWeights", "tensor<1x8x15xf16>"]),
        ("moe", [*MOE, "4x32xf16"], {}, ["fcGateBiases, fcUpBiases, fcDownBiases"]),
        ("moe", [*MOE, None, None, None, "f16"], {}, ["quantizationToType"]),
    ],
)
def test_rejected(name, operands, attrs, fragments):
    """Each rule names the attribute and the types that break it."""
    check_rejected(name, operands, attrs, None, *fragments)
