"""Matrix products."""

from __future__ import annotations

import string

from torch_mlir import ir

from .emitter import Emitter, broadcast
from .node import Node, Refused, converter, element, rank_of, shape_of
from .quantization import expanded_weights

__all__ = ["product"]


def product(
    emit: Emitter, a: ir.Value, b: ir.Value, *, transpose_a: bool = False, transpose_b: bool = False
) -> ir.Value:
    """a @ b over the last two dimensions; an operand of rank 1 is a vector, as NumPy has it."""
    vector_a, vector_b = rank_of(a) == 1, rank_of(b) == 1
    if not vector_a and not vector_b:
        rank = max(rank_of(a), rank_of(b))
        a, b = emit.expanded(a, rank), expanded_weights(emit, b, rank)
    elif rank_of(a) != rank_of(b):
        if vector_a:
            a = _batched_vector(emit, a, rank_of(b) - 1)
        else:
            b = _batched_vector(emit, b, rank_of(a) - 1)
    left, right = shape_of(a), shape_of(b)
    rows = [] if vector_a else [left[-1] if transpose_a else left[-2]]
    columns = [] if vector_b else [right[-2] if transpose_b else right[-1]]
    outer = broadcast(left[: -1 if vector_a else -2], right[: -1 if vector_b else -2])
    attributes = {"op0": _operation(vector_a, transpose_a), "op1": _operation(vector_b, transpose_b)}
    return emit.op("matrix_multiply", [a, b], attributes, emit.type([*outer, *rows, *columns], element(a)))


def _operation(vector: bool, transposed: bool) -> str:
    return "kVECTOR" if vector else "kTRANSPOSE" if transposed else "kNONE"


def _batched_vector(emit: Emitter, vector: ir.Value, rank: int) -> ir.Value:
    return emit.expanded(vector, rank)


@converter("MatMul")
def _matmul(node: Node, emit: Emitter) -> ir.Value:
    return product(emit, node[0], node[1])


@converter("Gemm")
def _gemm(node: Node, emit: Emitter) -> ir.Value:
    """alpha * A' @ B' + beta * C; weights keep their layout, the layer transposes."""
    alpha, beta, bias = node.attr("alpha", 1.0), node.attr("beta", 1.0), node.input(2)
    made = product(
        emit, node[0], node[1], transpose_a=bool(node.attr("transA")), transpose_b=bool(node.attr("transB"))
    )
    if alpha != 1.0:
        made = emit.with_number("kPROD", made, alpha)
    if bias is None or beta == 0.0:
        return made
    if beta != 1.0:
        bias = emit.with_number("kPROD", bias, beta)
    return emit.binary("kSUM", made, bias)


@converter("Einsum")
def _einsum(node: Node, emit: Emitter) -> ir.Value:
    values = [value for value in node.inputs if value is not None]
    equation = _plain_equation(node.attr("equation"), [rank_of(value) for value in values])
    terms, _, result = equation.partition("->")
    labels = terms.split(",")
    if any(len(set(term)) != len(term) for term in labels):
        raise Refused("a label twice in one operand of einsum")
    sizes: dict[str, int | None] = {}
    for term, value in zip(labels, values, strict=True):
        for label, size in zip(term, shape_of(value), strict=True):
            if sizes.get(label, 1) in (1, None):
                sizes[label] = size
    while len(values) > 2:  # the layer takes two operands: contract from the left
        rest = set("".join(labels[2:])) | set(result)
        kept = "".join(dict.fromkeys(c for c in labels[0] + labels[1] if c in rest))
        values[:2] = [_contract(emit, values[:2], labels[:2], kept, sizes)]
        labels[:2] = [kept]
    return _contract(emit, values, labels, result, sizes)


def _contract(
    emit: Emitter, values: list[ir.Value], labels: list[str], result: str, sizes: dict[str, int | None]
) -> ir.Value:
    kind = emit.type([sizes[label] for label in result], element(values[0]))
    return emit.op("einsum", [values], {"equation": f"{','.join(labels)}->{result}"}, kind)


def _plain_equation(equation: str, ranks: list[int]) -> str:
    """With an explicit result, without an ellipsis, and in lower case."""
    equation = equation.replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise Refused(f"einsum {equation!r} has {len(terms)} terms for {len(ranks)} operands")
    used = set(equation) & set(string.ascii_letters)
    free = [c for c in string.ascii_lowercase if c not in used]
    width = max(
        [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True) if "..." in term]
        or [0]
    )
    capitals = {c: free.pop() for c in sorted(used) if c.isupper()} if len(free) >= width else {}
    if any(c.isupper() and c not in capitals for c in used) or len(free) < width:
        raise Refused("einsum with more labels than the alphabet has")
    batch = "".join(free[:width])
    expanded = []
    for term, rank in zip(terms, ranks, strict=True):
        own = rank - len(term.replace("...", ""))
        expanded.append(term.replace("...", batch[width - own :] if "..." in term else ""))
    if not arrow:
        counts = "".join(expanded)
        letters = sorted(c for c in set("".join(terms)) if c.isalpha() and counts.count(c) == 1)
        result = ("..." if "..." in inputs else "") + "".join(letters)
    text = f"{','.join(expanded)}->{result.replace('...', batch)}"
    return "".join(capitals.get(c, c) for c in text)
