"""Whole recurrent layers: LSTM, GRU and the simple RNN, as ONNX defines them.

TensorRT has no layer for them: its engines get the loop that the pass `expand-recurrent` makes of one, and
ONNX Runtime runs them as they are. Below, T is the number of steps, B the batch, I the width of the input, H
that of the hidden state, D 2 for both directions and else 1.
"""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from ...ir.verifier import reject
from .common import FLOATS, check_rank, check_same_element, example

__all__ = ["ACTIVATIONS", "FUNCTIONS", "GATES", "OPS", "directions_of", "functions_of"]

# By op: how many gates its weights hold, and which functions a direction has where none are named.
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
FUNCTIONS = {"lstm": ("kSIGMOID", "kTANH", "kTANH"), "gru": ("kSIGMOID", "kTANH"), "rnn": ("kTANH",)}

# The functions that a gate may have, and which of alpha and beta each takes. All but kAFFINE (alpha * x + beta)
# are of #tensorrt.activation_type.
ACTIVATIONS = {
    **dict.fromkeys(("kRELU", "kTANH", "kSIGMOID", "kSOFTSIGN", "kSOFTPLUS"), ()),
    **dict.fromkeys(("kLEAKY_RELU", "kTHRESHOLDED_RELU", "kELU"), ("alpha",)),
    **dict.fromkeys(("kAFFINE", "kSCALED_TANH", "kHARD_SIGMOID"), ("alpha", "beta")),
}


def directions_of(op: Op) -> int:
    """D: 1 or 2."""
    return 2 if op.attr("direction") == "kBIDIRECTIONAL" else 1


def functions_of(op: Op) -> list[tuple[str, float | None, float | None]]:
    """(function, alpha, beta) of each direction's gates in turn; None for a number that it does not take."""
    names = op.attr("activations") or list(FUNCTIONS[op.definition.mnemonic]) * directions_of(op)
    numbers = {key: op.attr(f"{key}s") or [0.0] * len(names) for key in ("alpha", "beta")}
    taken = [
        [numbers[key][n] if key in ACTIVATIONS[name] else None for key in numbers]
        for n, name in enumerate(names)
    ]
    return [(name, alpha, beta) for name, (alpha, beta) in zip(names, taken, strict=True)]


def _extents(op: Op) -> tuple[int, int, int]:
    """T, B and I of the input."""
    shape = op.type("input").shape
    if len(shape) != 3:
        reject(op, f"input is {op.type('input')}; it must have rank 3")
    steps, batch = shape[:2] if op.attr("layout") == 0 else (shape[1], shape[0])
    return steps, batch, shape[2]


def _infer(op: Op) -> list[ir.Type]:
    steps, batch, _ = _extents(op)
    hidden, both = op.attr("hiddenSize"), directions_of(op)
    if op.attr("layout") == 0:
        whole, last = [steps, both, batch, hidden], [both, batch, hidden]
    else:
        whole, last = [batch, steps, both, hidden], [batch, both, hidden]
    element = op.type("input").element_type
    return [shapes.tensor(dims, element) for dims in (whole, *[last] * (len(op.definition.results) - 1))]


def _verify(op: Op) -> None:
    _, batch, width = _extents(op)
    if op.attr("layout") not in (0, 1):
        reject(op, f"layout = {op.attr('layout')} must be 0 or 1")
    hidden, both, kind = op.attr("hiddenSize"), directions_of(op), op.definition.mnemonic
    rows = GATES[kind] * hidden
    state = [both, batch, hidden] if op.attr("layout") == 0 else [batch, both, hidden]
    wanted = {
        "weights": [both, rows, width],
        "recurrenceWeights": [both, rows, hidden],
        "bias": [both, 2 * rows],
        "sequenceLens": [batch],
        "initialHidden": state,
    }
    if kind == "lstm":
        wanted |= {"initialCell": state, "peepholes": [both, 3 * hidden]}
    for name, shape in wanted.items():
        if op.operand(name) is None:
            continue
        check_rank(op, name, len(shape))
        if not shapes.compatible(op.type(name).shape, shape):
            reject(op, f"{name} is {op.type(name)}; it must be {shapes.text(shape)}")
        if name != "sequenceLens":
            check_same_element(op, "input", name)
    _verify_functions(op)


def _verify_functions(op: Op) -> None:
    count = len(FUNCTIONS[op.definition.mnemonic]) * directions_of(op)
    names = op.attr("activations")
    for key in ("activations", "alphas", "betas"):
        given = op.attr(key)
        if given is not None and len(given) != count:
            reject(op, f"{key} has {len(given)} entries; it must have {count}")
    for name in names or ():
        if name not in ACTIVATIONS:
            reject(op, f"activations: {name} is not one of {', '.join(ACTIVATIONS)}")
        for key in ACTIVATIONS[name]:
            if op.attr(f"{key}s") is None:
                reject(op, f"activations: {name} needs the attribute {key}s")
    clip = op.attr("clip")
    if clip is not None and not clip > 0:
        reject(op, f"clip = {clip} must be greater than 0")


def _group(keyword: str, name: str) -> str:
    return f"(`{keyword}` `(` ${name}^ `:` type(${name}) `)`)?"


def _operands(kind: str) -> tuple[Operand, ...]:
    gates = {"lstm": "4H, the gates i, o, f, c", "gru": "3H, the gates z, r, h", "rnn": "H"}[kind]
    listed = (
        Operand("input", FLOATS, doc="T x B x I."),
        Operand("weights", FLOATS, doc=f"D x G x I, where G is {gates}."),
        Operand("recurrenceWeights", FLOATS, doc="D x G x H."),
        Operand("bias", FLOATS, optional=True, doc="D x 2G: the input's, then the recurrence's."),
        Operand("sequenceLens", "i32", optional=True, doc="B values: each sequence's steps; T if absent."),
        Operand("initialHidden", FLOATS, optional=True, doc="D x B x H; zeros if absent."),
    )
    if kind != "lstm":
        return listed
    return (
        *listed,
        Operand("initialCell", FLOATS, optional=True, doc="D x B x H; zeros if absent."),
        Operand("peepholes", FLOATS, optional=True, doc="D x 3H: of the gates i, o, f."),
    )


def _attrs(kind: str) -> tuple[Attr, ...]:
    standard = ", ".join(FUNCTIONS[kind])
    listed = [
        Attr("hiddenSize", "i64", doc="H."),
        Attr("direction", "enum:recurrence_direction", default="kFORWARD", doc="Which way it runs."),
        Attr(
            "activations",
            "array",
            optional=True,
            doc=f"Each direction's functions in turn; {standard} if absent. Any of {', '.join(ACTIVATIONS)}.",
        ),
        Attr("alphas", "array<f32>", optional=True, doc="A number for each of the activations."),
        Attr("betas", "array<f32>", optional=True, doc="A number for each of the activations."),
        Attr("clip", "f32", optional=True, doc="Bounds what goes into a gate's activation, to both sides."),
        Attr("layout", "i64", default=0, doc="1: the batch is the first axis of all but the weights."),
    ]
    if kind == "lstm":
        listed.append(Attr("inputForget", "i1", default=False, doc="The forget gate is 1 - the input gate."))
    if kind == "gru":
        doc = "The reset gate multiplies the recurrence's product, not the state that goes into it."
        listed.append(Attr("linearBeforeReset", "i1", default=False, doc=doc))
    return tuple(listed)


def _op(kind: str, summary: str) -> OpDef:
    tail = " ".join(
        _group(keyword, name)
        for keyword, name in (
            ("bias", "bias"),
            ("sequence_lens", "sequenceLens"),
            ("initial_hidden", "initialHidden"),
            ("initial_cell", "initialCell"),
            ("peepholes", "peepholes"),
        )
        if kind == "lstm" or name not in ("initialCell", "peepholes")
    )
    rows = 8 * GATES[kind]
    last = ["tensor<1x2x8xf32>"] * (2 if kind == "lstm" else 1)
    types = ", ".join(["tensor<5x1x2x8xf32>", *last])
    results = ", ".join(("%y", "%h", "%c")[: len(last) + 1])
    names = ("output", "lastHidden", "lastCell")[: len(last) + 1]
    given = f"tensor<5x2x4xf32>, tensor<1x{rows}x4xf32>, tensor<1x{rows}x8xf32>"
    return OpDef(
        f"tensorrt.{kind}",
        summary,
        operands=_operands(kind),
        attrs=_attrs(kind),
        results=tuple(ResultDef(name, FLOATS) for name in names),
        assembly="attr-dict `ins` `(` $input `,` $weights `,` $recurrenceWeights `:` type($input) `,` "
        f"type($weights) `,` type($recurrenceWeights) `)` {tail} `->` type(results)",
        infer=_infer,
        verify=_verify,
        example=example(
            f"%x: tensor<5x2x4xf32>, %w: tensor<1x{rows}x4xf32>, %r: tensor<1x{rows}x8xf32>, %b: "
            f"tensor<1x{2 * rows}xf32>",
            f"{results} = tensorrt.{kind} {{hiddenSize = 8 : i64}} ins(%x, %w, %r : {given}) "
            f"bias(%b : tensor<1x{2 * rows}xf32>) -> {types}",
            f"{results} : {types}",
        ),
    )


_STATES = "over a sequence: all hidden states, T x D x B x H, and the last"

OPS = (
    _op("lstm", f"A long short-term memory {_STATES}, with the last cell."),
    _op("gru", f"Gated recurrent units {_STATES}."),
    _op("rnn", f"A simple recurrence {_STATES}."),
)
