"""attention, kv_cache_update, rotary_embedding and moe, from simpler ops."""

from __future__ import annotations

from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Scope
from .dims import dims_of, range_to, refuse, reshape, size_of, unsqueeze
from .registry import emits

__all__: list[str] = []


@emits("attention")
def attention(op: Op, scope: Scope) -> None:
    if "kPACKED_NHD" in (op.attr("queryForm"), op.attr("keyValueForm")):
        raise refuse("packed attention has no ONNX form", "use kPADDED_BHND")
    if op.raw("normalizationQuantizeToType") is not None:
        raise refuse("a quantized attention score has no ONNX form")
    query, key, value = (scope.tensor(op.operand(n)) for n in ("query", "key", "value"))
    heads, shared = (dims_of(op.operand(n))[1] for n in ("query", "key"))
    if heads != shared:
        key, value = (_repeated(scope, n, heads // shared, heads) for n in (key, value))
    scores = scope.op("MatMul", [query, scope.op("Transpose", [key], perm=[0, 1, 3, 2])])
    scores = _masked(op, scope, scores)
    if op.attr("normOp") == "kSOFTMAX":
        scores = scope.op("Softmax", [scores], axis=-1)
    scope.set(op.operation.results[0], scope.op("MatMul", [scores, value]))


def _repeated(scope: Scope, name: str, times: int, heads: int) -> str:
    """Each head of keys or values for a group of query heads."""
    wide = scope.op("Expand", [unsqueeze(scope, name, [2]), scope.literal([1, 1, times, 1, 1])])
    batch, length, width = (size_of(scope, name, n) for n in (0, 2, 3))
    return reshape(scope, wide, scope.op("Concat", [batch, scope.literal([heads]), length, width], axis=0))


def _masked(op: Op, scope: Scope, scores: str) -> str:
    lowest = scope.like(float("-inf"), scores)
    mask = op.operand("mask")
    if mask is not None:
        name = scope.tensor(mask)
        boolean = scope.dtype(name) == "i1"
        scores = scope.op("Where", [name, scores, lowest]) if boolean else scope.op("Add", [scores, name])
    if op.attr("causalKind") != "kNONE":
        scores = scope.op("Where", [_causal(op, scope, scores), scores, lowest])
    if op.operand("keyValueLengths") is not None:
        keys = range_to(scope, size_of(scope, scores, 3))
        lengths = reshape(scope, scope.cast(scope.tensor(op.operand("keyValueLengths")), "i64"), [-1, 1, 1, 1])
        scores = scope.op("Where", [scope.op("Less", [keys, lengths]), scores, lowest])
    return scores


def _causal(op: Op, scope: Scope, scores: str) -> str:
    """Query n sees keys up to n, counted from the upper left corner or from the lower right one."""
    rows, columns = size_of(scope, scores, 2), size_of(scope, scores, 3)
    row = unsqueeze(scope, range_to(scope, rows), [1])
    if op.attr("causalKind") == "kLOWER_RIGHT":
        row = scope.op("Add", [row, scope.op("Sub", [columns, rows])])
    return scope.op("Not", [scope.op("Greater", [range_to(scope, columns), row])])


@emits("kv_cache_update")
def kv_cache_update(op: Op, scope: Scope) -> None:
    """Each place of the cache takes the update's row that falls on it, if one does."""
    if op.attr("updateForm") == "kPACKED_NHD":
        raise refuse("a packed cache update has no ONNX form", "use kPADDED_BHND")
    cache, update = scope.tensor(op.operand("cache")), scope.tensor(op.operand("update"))
    begins = reshape(scope, scope.cast(scope.tensor(op.operand("writeIndices")), "i64"), [-1, 1, 1, 1])
    places = reshape(scope, range_to(scope, size_of(scope, cache, 2)), [-1, 1])
    row = scope.op("Sub", [places, begins])
    last = scope.op("Sub", [size_of(scope, update, 2), scope.literal(1)])
    nearest = scope.op("Max", [scope.op("Min", [row, last]), scope.literal(0)])
    written = scope.op("Equal", [row, nearest])
    index = scope.op("Expand", [nearest, scope.op("Shape", [cache])])
    scope.set(
        op.operation.results[0],
        scope.op("Where", [written, scope.op("GatherElements", [update, index], axis=2), cache]),
    )


@emits("rotary_embedding")
def rotary_embedding(op: Op, scope: Scope) -> None:
    x = scope.tensor(op.operand("input"))
    width = dims_of(op.operand("input"))[3]
    turning = op.attr("rotaryEmbeddingDim") or width
    if width == -1:
        raise refuse("the hidden dimension must be static")
    cosine, sine = (_angles(op, scope, name) for name in ("cosCache", "sinCache"))
    inner, rest = _part(scope, x, 0, turning, 1), None
    if turning < width:
        rest = _part(scope, x, turning, width, 1)
    pairs = op.attr("interleaved")
    half = turning // 2
    spans = [(0, turning, 2), (1, turning, 2)] if pairs else [(0, half, 1), (half, turning, 1)]
    one, two = (_part(scope, inner, *span) for span in spans)
    first = scope.op("Sub", [scope.op("Mul", [one, cosine]), scope.op("Mul", [two, sine])])
    second = scope.op("Add", [scope.op("Mul", [two, cosine]), scope.op("Mul", [one, sine])])
    if pairs:
        both = scope.op("Concat", [unsqueeze(scope, first, [4]), unsqueeze(scope, second, [4])], axis=4)
        turned = reshape(scope, both, [0, 0, 0, turning])
    else:
        turned = scope.op("Concat", [first, second], axis=3)
    scope.set(op.operation.results[0], scope.op("Concat", [turned, rest], axis=3) if rest else turned)


def _part(scope: Scope, name: str, start: int, end: int, step: int) -> str:
    numbers = [scope.literal([n]) for n in (start, end, 3, step)]
    return scope.op("Slice", [name, *numbers])


def _angles(op: Op, scope: Scope, name: str) -> str:
    """The cosines or sines per position, with an axis for the heads."""
    cache = scope.tensor(op.operand(name))
    positions: ir.Value | None = op.operand("positionIds")
    if positions is not None:
        cache = scope.op("Gather", [cache, scope.tensor(positions)])
    return unsqueeze(scope, cache, [1])


@emits("moe")
def moe(op: Op, scope: Scope) -> None:
    """Every expert on every token, weighted by its score: right for all choices, not fast."""
    if op.raw("quantizationToType") is not None or op.operand("fcDownActivationScale") is not None:
        raise refuse("a quantized mixture of experts has no ONNX form")
    hidden = scope.tensor(op.operand("hiddenStates"))
    kind = scope.dtype(hidden)
    experts, width = dims_of(op.operand("fcGateWeights"))[:2]
    tokens = unsqueeze(scope, reshape(scope, hidden, [-1, width]), [0])
    gate, up = (_projected(op, scope, tokens, name) for name in ("fcGate", "fcUp"))
    down = _projected(op, scope, _gated(op, scope, gate, up), "fcDown")
    chosen = scope.cast(scope.tensor(op.operand("selectedExpertsForTokens")), "i64")
    hits = scope.op("Equal", [unsqueeze(scope, chosen, [3]), range_to(scope, experts)])
    scores = unsqueeze(scope, scope.tensor(op.operand("scoresForSelectedExperts")), [3])
    shares = scope.op(
        "ReduceSum", [scope.op("Mul", [scope.cast(hits, kind), scores]), scope.literal([2])], keepdims=0
    )
    by_expert = scope.op("Transpose", [reshape(scope, shares, [-1, experts])], perm=[1, 0])
    weighted = scope.op("Mul", [down, unsqueeze(scope, by_expert, [2])])
    total = scope.op("ReduceSum", [weighted, scope.literal([0])], keepdims=0)
    scope.set(op.operation.results[0], reshape(scope, total, scope.op("Shape", [hidden])))


def _projected(op: Op, scope: Scope, tokens: str, name: str) -> str:
    made = scope.op("MatMul", [tokens, scope.tensor(op.operand(f"{name}Weights"))])
    bias = op.operand(f"{name}Biases")
    return made if bias is None else scope.op("Add", [made, unsqueeze(scope, scope.tensor(bias), [1])])


def _gated(op: Op, scope: Scope, gate: str, up: str) -> str:
    limit, alpha, beta = (op.attr(f"swigluParam{n}") for n in ("Limit", "Alpha", "Beta"))
    if limit is not None:
        gate = scope.op("Min", [gate, scope.like(limit, gate)])
        up = scope.op("Clip", [up, scope.like(-limit, up), scope.like(limit, up)])
    if op.attr("activationType") == "kSILU":
        inner = gate if alpha in (None, 1.0) else scope.op("Mul", [gate, scope.like(alpha, gate)])
        gate = scope.op("Mul", [gate, scope.op("Sigmoid", [inner])])
    return scope.op("Mul", [gate, scope.op("Add", [up, scope.like(beta, up)]) if beta else up])
