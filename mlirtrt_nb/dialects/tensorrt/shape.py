"""Ops that change a tensor's shape and keep its elements, and the op that reads a shape."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from ...ir.verifier import reject
from .common import INS, MOVED, check_shape_tensor, example, result_type

__all__ = ["OPS"]


def _permuted(op: Op, name: str, shape: list[int]) -> list[int]:
    order = op.attr(name)
    if sorted(order) != list(range(len(shape))):
        reject(op, f"{name} = {order} must be a permutation of {len(shape)} dimensions")
    return [shape[i] for i in order]


def _reshaped(op: Op, shape: list[int]) -> list[int]:
    """The shape between the two transposes, of an input that the first has given `shape`."""
    given = op.attr("reshape")
    if given is None:
        dynamic = op.operand("dynamic_reshape")
        return shape if dynamic is None else [shapes.DYNAMIC] * op.type("dynamic_reshape").shape[0]
    placeholder = op.attr("zero_is_placeholder")
    if placeholder and any(d == 0 and i >= len(shape) for i, d in enumerate(given)):
        reject(op, f"reshape = {given} copies a dimension that the input, {op.type('input')}, does not have")
    result = [shape[i] if d == 0 and placeholder else d for i, d in enumerate(given)]
    if result.count(-1) == 1:
        rest = shapes.volume([d for d in result if d != -1])
        total = shapes.volume(shape)
        known = total is not None and rest is not None and rest > 0
        result[result.index(-1)] = total // rest if known else shapes.DYNAMIC  # type: ignore[operator]
    return result


def _infer_shuffle(op: Op) -> list[ir.Type]:
    kind = op.type("input")
    between = _reshaped(op, _permuted(op, "first_transpose", kind.shape))
    return [shapes.tensor(_permuted(op, "second_transpose", between), kind.element_type)]


def _verify_shuffle(op: Op) -> None:
    given, kind = op.attr("reshape"), op.type("input")
    check_shape_tensor(op, "dynamic_reshape")
    if given is None:
        return
    if op.operand("dynamic_reshape") is not None:
        reject(op, "the shape is given both as reshape and as dynamic_reshape")
    if given.count(-1) > 1 or any(d < -1 for d in given):
        reject(op, f"reshape = {given} may hold one -1 and no other negative number")
    if not op.attr("zero_is_placeholder") and -1 in given and 0 in given:
        reject(op, f"reshape = {given} cannot hold both 0 and -1 where zero_is_placeholder is false")
    _check_volume(op, kind, ir.RankedTensorType(_infer_shuffle(op)[0]))


def _check_volume(op: Op, source: ir.RankedTensorType, target: ir.RankedTensorType) -> None:
    before, after = shapes.volume(source.shape), shapes.volume(target.shape)
    if before is not None and after is not None and before != after:
        reject(op, f"input {source} has {before} elements and result {target} has {after}")


def _infer_transpose(op: Op) -> list[ir.Type]:
    kind, permutation = op.type("input"), op.attr("permutation")
    if permutation.n_dims != kind.rank or not permutation.is_permutation:
        reject(op, f"permutation = {permutation} must be a permutation of the {kind.rank} dimensions of {kind}")
    shape = kind.shape
    order = [ir.AffineDimExpr(result).position for result in permutation.results]
    return [shapes.tensor([shape[i] for i in order], kind.element_type)]


def _verify_rank(op: Op) -> None:
    """expand_rank and collapse_rank may only insert or drop unit dimensions."""
    source, target = op.type("input"), result_type(op)
    _check_element(op, source, target)
    small, large = sorted((source, target), key=lambda kind: kind.rank)
    if (large is target) != (op.name == "tensorrt.expand_rank") and small.rank != large.rank:
        reject(op, f"input is {source} and result is {target}; the rank changes the other way")
    if shapes.unit_axes(small.shape, large.shape) is None:
        reject(op, f"input is {source} and result is {target}; they may differ only in dimensions of length 1")


def _check_element(op: Op, source: ir.RankedTensorType, target: ir.RankedTensorType) -> None:
    if not shapes.same_element(source, target):
        reject(op, f"input is {source} and result is {target}; element types must be equal")


def _verify_reshape(op: Op) -> None:
    source, target = op.type("input"), result_type(op)
    _check_element(op, source, target)
    _check_volume(op, source, target)
    check_shape_tensor(op, "shape", target.rank)
    if op.operand("shape") is None and target.shape.count(shapes.DYNAMIC) > 1:
        reject(op, f"result is {target}; more than one dynamic dimension needs the operand shape")


def _axes(op: Op, rank: int) -> list[int]:
    axes = [shapes.axis_of(axis, rank) for axis in op.attr("axes")]
    if None in axes or len(set(axes)) != len(axes):
        reject(op, f"axes = {op.attr('axes')} must be different dimensions of a tensor of rank {rank}")
    return sorted(axis for axis in axes if axis is not None)


def _infer_squeeze(op: Op) -> list[ir.Type]:
    kind = op.type("input")
    shape = kind.shape
    axes = _axes(op, len(shape))
    for axis in axes:
        if shape[axis] not in (1, shapes.DYNAMIC):
            reject(op, f"axes = {op.attr('axes')}: dimension {axis} of {kind} is not 1")
    return [shapes.tensor([d for i, d in enumerate(shape) if i not in axes], kind.element_type)]


def _infer_unsqueeze(op: Op) -> list[ir.Type]:
    kind = op.type("input")
    shape = kind.shape
    for axis in _axes(op, len(shape) + len(op.attr("axes"))):
        shape.insert(axis, 1)
    return [shapes.tensor(shape, kind.element_type)]


def _infer_shape(op: Op) -> list[ir.Type]:
    kind = op.type("input")
    return [shapes.tensor([kind.rank], ir.IntegerType.get_signless(32, kind.context))]


_TO = "attr-dict $input `:` type($input) `to` type($result)"


def _rank(mnemonic: str, summary: str, before: str, after: str) -> OpDef:
    return OpDef(
        f"tensorrt.{mnemonic}",
        summary,
        operands=(Operand("input", MOVED),),
        assembly=_TO,
        verify=_verify_rank,
        example=example(
            f"%x: tensor<{before}>",
            f"%0 = tensorrt.{mnemonic} %x : tensor<{before}> to tensor<{after}>",
            f"%0 : tensor<{after}>",
        ),
    )


def _squeeze(
    mnemonic: str,
    summary: str,
    doc: str,
    infer: Callable[[Op], list[ir.Type]],
    layer: str,
    before: str,
    after: str,
) -> OpDef:
    return OpDef(
        f"tensorrt.{mnemonic}",
        summary,
        operands=(Operand("input", MOVED),),
        attrs=(Attr("axes", "array<i64>", doc=doc),),
        assembly=_TO,
        infer=infer,
        layer=layer,
        example=example(
            f"%x: tensor<{before}>",
            f"%0 = tensorrt.{mnemonic} {{axes = array<i64: 0, -1>}} %x : tensor<{before}> to tensor<{after}>",
            f"%0 : tensor<{after}>",
        ),
    )


OPS = (
    OpDef(
        "tensorrt.shuffle",
        "Transpose, reshape, transpose.",
        operands=(
            Operand("input", MOVED),
            Operand(
                "dynamic_reshape",
                "i32 i64",
                optional=True,
                doc="The shape in between; one value per dimension.",
            ),
        ),
        attrs=(
            Attr("first_transpose", "array<i64>", doc="A permutation of the input's dimensions."),
            Attr("reshape", "array<i64>", optional=True, doc="The shape in between; at most one -1."),
            Attr("second_transpose", "array<i64>", doc="A permutation of the reshaped dimensions."),
            Attr("zero_is_placeholder", "i1", default=True, doc="Whether 0 copies the input's dimension."),
        ),
        assembly=INS,
        infer=_infer_shuffle,
        verify=_verify_shuffle,
        layer="addShuffle",
        example=example(
            "%x: tensor<2x3x4xf32>",
            "%0 = tensorrt.shuffle {first_transpose = array<i64: 1, 0, 2>, reshape = array<i64: 3, 8>, "
            "second_transpose = array<i64: 1, 0>} ins(%x : tensor<2x3x4xf32>) -> tensor<8x3xf32>",
            "%0 : tensor<8x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.transpose",
        "Permutes the dimensions.",
        operands=(Operand("input", MOVED),),
        attrs=(Attr("permutation", "affine_map", doc="Result dimension i is input dimension permutation(i)."),),
        assembly=_TO,
        infer=_infer_transpose,
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.transpose {permutation = affine_map<(d0, d1) -> (d1, d0)>} %x : tensor<2x3xf32> "
            "to tensor<3x2xf32>",
            "%0 : tensor<3x2xf32>",
        ),
    ),
    _rank("expand_rank", "Inserts dimensions of length 1.", "2x3xf32", "1x2x1x3xf32"),
    _rank("collapse_rank", "Drops dimensions of length 1.", "1x2x1x3xf32", "2x3xf32"),
    OpDef(
        "tensorrt.reshape",
        "Gives a tensor another shape of the same volume.",
        operands=(
            Operand("input", MOVED),
            Operand(
                "shape", "i32 i64", optional=True, doc="The shape, where more than one dimension is dynamic."
            ),
        ),
        assembly="$input (`shape` `(` $shape^ `` `:` type($shape) `)`)? attr-dict `:` type($input) `to` "
        "type($result)",
        verify=_verify_reshape,
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.reshape %x : tensor<2x3xf32> to tensor<6xf32>",
            "%0 : tensor<6xf32>",
        ),
    ),
    _squeeze(
        "squeeze",
        "Drops the named dimensions of length 1.",
        "The input's dimensions to drop; negative counts from the end.",
        _infer_squeeze,
        "addSqueeze",
        "1x2x3x1xf32",
        "2x3xf32",
    ),
    _squeeze(
        "unsqueeze",
        "Inserts dimensions of length 1 at named places.",
        "The result's dimensions to insert; negative counts from the end.",
        _infer_unsqueeze,
        "addUnsqueeze",
        "2x3xf32",
        "1x2x3x1xf32",
    ),
    OpDef(
        "tensorrt.shape",
        "The shape of a tensor, as a tensor.",
        operands=(Operand("input", f"{MOVED} f4E2M1FN"),),
        results=(ResultDef("result", "i32 i64"),),
        assembly="attr-dict $input `:` type($input) `->` type($result)",
        infer=_infer_shape,
        layer="addShape",
        example=example(
            "%x: tensor<?x3xf32>",
            "%0 = tensorrt.shape %x : tensor<?x3xf32> -> tensor<2xi32>",
            "%0 : tensor<2xi32>",
        ),
    ),
)
