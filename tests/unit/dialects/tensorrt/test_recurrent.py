"""LSTM, GRU, RNN."""

import pytest

from .cases import check_inferred, check_rejected

X, W, R = "5x3x4xf32", "1x8x4xf32", "1x8x2xf32"
BOTH = [X, "2x8x4xf32", "2x8x2xf32", "2x16xf32", "3xi32", "2x3x2xf32", "2x3x2xf32", "2x6xf32"]
LSTM = {"hiddenSize": 2}
FUNCTIONS = 'mlir:["kSIGMOID", "kTANH", "kTANH"]'


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "expected"),
    [
        ("lstm", [X, W, R], LSTM, ["5x1x3x2xf32", "1x3x2xf32", "1x3x2xf32"]),
        ("lstm", BOTH, {**LSTM, "direction": "kBIDIRECTIONAL"}, ["5x2x3x2xf32", "2x3x2xf32", "2x3x2xf32"]),
        (
            "lstm",
            [X, W, R, None, None, "5x1x2xf32"],
            {**LSTM, "layout": 1, "activations": FUNCTIONS},
            ["5x3x1x2xf32", "5x1x2xf32", "5x1x2xf32"],
        ),
        (
            "gru",
            ["?x?x4xf16", "1x6x4xf16", "1x6x2xf16", "1x12xf16"],
            {"hiddenSize": 2, "linearBeforeReset": True},
            ["?x1x?x2xf16", "1x?x2xf16"],
        ),
        (
            "rnn",
            [X, "1x2x4xf32", "1x2x2xf32"],
            {"hiddenSize": 2, "activations": 'mlir:["kAFFINE"]', "alphas": [2.0], "betas": [1.0]},
            ["5x1x3x2xf32", "1x3x2xf32"],
        ),
    ],
)
def test_inference(name, operands, attrs, expected):
    """All hidden states have an axis for the directions; the last ones have none for the steps."""
    check_inferred(name, operands, attrs, expected)


@pytest.mark.parametrize(
    ("operands", "attrs", "fragments"),
    [
        (["3x4xf32", W, R], {}, ["input is tensor<3x4xf32>", "rank 3"]),
        ([X, W, R], {"layout": 2}, ["layout = 2"]),
        ([X, "1x6x4xf32", R], {}, ["weights is tensor<1x6x4xf32>", "1x8x4"]),
        ([X, "2x8x4xf32", R], {}, ["weights is tensor<2x8x4xf32>", "1x8x4"]),
        ([X, W, "1x8x3xf32"], {}, ["recurrenceWeights is tensor<1x8x3xf32>", "1x8x2"]),
        ([X, W, "1x8x2xf16"], {}, ["recurrenceWeights is tensor<1x8x2xf16>", "element types"]),
        ([X, W, R, "1x8xf32"], {}, ["bias is tensor<1x8xf32>", "1x16"]),
        ([X, W, R, None, "5xi32"], {}, ["sequenceLens is tensor<5xi32>", "it must be 3"]),
        ([X, W, R, None, None, "3x2xf32"], {}, ["initialHidden is tensor<3x2xf32>", "rank 3"]),
        ([X, W, R, None, None, None, "3x1x2xf32"], {}, ["initialCell is tensor<3x1x2xf32>", "1x3x2"]),
        ([X, W, R, None, None, None, None, "1x8xf32"], {}, ["peepholes is tensor<1x8xf32>", "1x6"]),
        ([X, W, R], {"clip": 0.0}, ["clip = 0.0"]),
        ([X, W, R], {"activations": 'mlir:["kTANH"]'}, ["activations has 1 entries", "3"]),
        ([X, W, R], {"alphas": [1.0]}, ["alphas has 1 entries", "3"]),
        ([X, W, R], {"activations": 'mlir:["kTANH", "kCLIP", "kTANH"]'}, ["kCLIP is not one of"]),
        ([X, W, R], {"activations": 'mlir:["kTANH", "kELU", "kTANH"]'}, ["kELU needs the attribute alphas"]),
    ],
)
def test_rejected(operands, attrs, fragments):
    """Each rule names the operand or attribute that breaks it, and what it must be."""
    check_rejected("lstm", operands, {**LSTM, **attrs}, None, *fragments)
