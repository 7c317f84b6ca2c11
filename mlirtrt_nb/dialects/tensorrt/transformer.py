"""Layers of transformers: attention, KV cache, rotary embedding, mixture of experts."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand
from ...ir.verifier import reject
from .common import FLOATS, check_rank, check_same_element, example, same_as

__all__ = ["OPS"]

_PADDED = "kPADDED_BHND"


def _check_form(op: Op, form: str, lengths: str, *names: str) -> bool:
    """Padded operands have rank 4, packed ones rank 3 and a tensor of lengths. True if packed."""
    packed = op.attr(form) != _PADDED
    for name in names:
        check_rank(op, name, 3 if packed else 4)
    if packed and op.operand(lengths) is None:
        reject(op, f"{form} = {op.attr(form)} needs the operand {lengths}")
    check_rank(op, lengths, 1)
    return packed


def _infer_attention(op: Op) -> list[ir.Type]:
    query, value = op.type("query"), op.type("value")
    if query.rank < 3 or value.rank < 3:
        reject(op, f"query is {query} and value is {value}; they must have rank 4, or 3 when packed")
    return [shapes.tensor([*query.shape[:-1], value.shape[-1]], query.element_type)]


def _verify_attention(op: Op) -> None:
    query, key, value = op.type("query"), op.type("key"), op.type("value")
    check_same_element(op, "query", "key")
    check_same_element(op, "query", "value")
    packed = _check_form(op, "queryForm", "queryLengths", "query")
    packed_keys = _check_form(op, "keyValueForm", "keyValueLengths", "key", "value")
    if not shapes.compatible(query.shape[-1:], key.shape[-1:]):
        reject(op, f"query is {query} and key is {key}; their last dimensions must be equal")
    if not shapes.compatible(key.shape[:-1], value.shape[:-1]):
        reject(op, f"key is {key} and value is {value}; all but their last dimensions must be equal")
    if not (packed or packed_keys or shapes.compatible(query.shape[:1], key.shape[:1])):
        reject(op, f"query is {query} and key is {key}; their batches must be equal")
    heads, shared = query.shape[-3 + packed], key.shape[-3 + packed_keys]
    if shapes.DYNAMIC not in (heads, shared) and (shared == 0 or heads % shared):
        reject(op, f"query {query} has {heads} heads, which the {shared} heads of key {key} do not divide")
    if op.operand("mask") is not None:
        _verify_mask(op, packed)
    quantized = op.operand("normalizationQuantizeScale") is not None
    if quantized != (op.raw("normalizationQuantizeToType") is not None):
        reject(op, "normalizationQuantizeScale and normalizationQuantizeToType go together")


def _verify_mask(op: Op, packed: bool) -> None:
    mask, query, key = op.type("mask"), op.type("query"), op.type("key")
    if op.attr("causalKind") != "kNONE":
        reject(op, f"causalKind = {op.attr('causalKind')} and a mask exclude each other")
    if packed or op.attr("keyValueForm") != _PADDED:
        return
    scores = [*query.shape[:3], key.shape[2]]
    if mask.rank != 4 or not all(
        m == 1 or shapes.compatible([m], [s]) for m, s in zip(mask.shape, scores, strict=True)
    ):
        reject(op, f"mask is {mask}; it must broadcast to {shapes.text(scores)}")


def _verify_kv_cache_update(op: Op) -> None:
    cache, update, places = op.type("cache"), op.type("update"), op.type("writeIndices")
    check_same_element(op, "cache", "update")
    check_rank(op, "cache", 4)
    packed = _check_form(op, "updateForm", "updateLengths", "update")
    if not shapes.compatible(places.shape, cache.shape[:1]):
        reject(op, f"writeIndices is {places}; it must hold one value per sequence of the cache, {cache}")
    ours = [update.shape[i] for i in ((1, 2) if packed else (0, 1, 3))]
    theirs = [cache.shape[i] for i in ((1, 3) if packed else (0, 1, 3))]
    if not shapes.compatible(ours, theirs):
        reject(op, f"update is {update}; but for its tokens it must fit the cache, {cache}")


def _verify_rotary_embedding(op: Op) -> None:
    data, cos = op.type("input"), op.type("cosCache")
    check_rank(op, "input", 4)
    indexed = op.operand("positionIds") is not None
    for name in ("cosCache", "sinCache"):
        check_rank(op, name, 2 if indexed else 3)
        check_same_element(op, "input", name)
    check_rank(op, "positionIds", 2)
    if not shapes.compatible(cos.shape, op.type("sinCache").shape):
        reject(op, f"cosCache is {cos} and sinCache is {op.type('sinCache')}; their shapes must be equal")
    hidden, rotated = data.shape[3], op.attr("rotaryEmbeddingDim")
    if rotated % 2 or rotated < 0 or (hidden != shapes.DYNAMIC and rotated > hidden):
        reject(op, f"rotaryEmbeddingDim = {rotated} must be even and at most the last dimension of {data}")
    pairs = shapes.DYNAMIC if hidden == shapes.DYNAMIC and not rotated else (rotated or hidden) // 2
    if not shapes.compatible(cos.shape[-1:], [pairs]):
        reject(op, f"cosCache is {cos}; its last dimension must be half of what rotates in {data}")


def _verify_moe(op: Op) -> None:
    hidden = op.type("hiddenStates")
    check_rank(op, "hiddenStates", 3)
    for name in (*_MOE_INPUTS, *_MOE_WEIGHTS):
        check_rank(op, name, 3)
    for name in _MOE_BIASES:
        check_rank(op, name, 2)
    experts, scores = op.type("selectedExpertsForTokens"), op.type("scoresForSelectedExperts")
    if not shapes.compatible(experts.shape, scores.shape):
        reject(
            op,
            f"selectedExpertsForTokens is {experts} and scoresForSelectedExperts is {scores}; their shapes "
            "must be equal",
        )
    if not shapes.compatible(experts.shape[:2], hidden.shape[:2]):
        reject(op, f"selectedExpertsForTokens is {experts}; its tokens must be those of hiddenStates, {hidden}")
    given = [op.operand(name) is not None for name in _MOE_BIASES]
    if any(given) and not all(given):
        reject(op, f"{', '.join(_MOE_BIASES)} must all be given, or none")
    gate, up, down = (op.type(name) for name in _MOE_WEIGHTS)
    if not shapes.compatible(gate.shape, up.shape):
        reject(op, f"fcGateWeights is {gate} and fcUpWeights is {up}; their shapes must be equal")
    if not shapes.compatible(down.shape, [gate.shape[0], gate.shape[2], gate.shape[1]]):
        reject(op, f"fcDownWeights is {down}; it must turn fcGateWeights, {gate}, around")
    if not shapes.compatible(gate.shape[1:2], hidden.shape[2:]):
        reject(op, f"fcGateWeights is {gate}; its second dimension must be the last of hiddenStates, {hidden}")
    if (op.operand("fcDownActivationScale") is not None) != (op.raw("quantizationToType") is not None):
        reject(op, "fcDownActivationScale and quantizationToType go together")


_FORM = "enum:attention_io_form"


def _group(keyword: str, name: str) -> str:
    return f"(`{keyword}` `(` ${name}^ `:` type(${name}) `)`)?"


_MOE_WEIGHTS = ("fcGateWeights", "fcUpWeights", "fcDownWeights")
_MOE_BIASES = ("fcGateBiases", "fcUpBiases", "fcDownBiases")


def _listed(names: tuple[str, ...]) -> str:
    """`$a, $b : type($a), type($b)`, the names in assembly notation."""
    values = " `,` ".join(f"${name}" for name in names)
    types = " `,` ".join(f"type(${name})" for name in names)
    return f"{values} `:` {types}"


_MOE_INPUTS = ("hiddenStates", "selectedExpertsForTokens", "scoresForSelectedExperts")

OPS = (
    OpDef(
        "tensorrt.attention",
        "softmax(query @ key^T + mask) @ value, per head. The query must be scaled beforehand.",
        operands=(
            Operand("query", FLOATS, doc="B x H x Nq x D, or Nq x H x D when packed."),
            Operand("key", FLOATS, doc="B x Hkv x Nkv x D."),
            Operand("value", FLOATS, doc="B x Hkv x Nkv x D."),
            Operand(
                "mask",
                f"i1 {FLOATS}",
                optional=True,
                doc="Broadcast to B x H x Nq x Nkv; added, or true keeps.",
            ),
            Operand("normalizationQuantizeScale", FLOATS, optional=True, doc="Quantizes the softmax's output."),
            Operand(
                "queryLengths", "i32", optional=True, doc="Packed query: running token counts, B + 1 values."
            ),
            Operand("keyValueLengths", "i32", optional=True, doc="Lengths of keys and values."),
        ),
        attrs=(
            Attr(
                "normOp", "enum:attention_normalization_op", default="kSOFTMAX", doc="What follows the product."
            ),
            Attr("causalKind", "enum:causal_mask_kind", default="kNONE", doc="A causal mask, and its corner."),
            Attr("decomposable", "i1", default=False, doc="Whether it may be built from simpler layers."),
            Attr("queryForm", _FORM, default="kPADDED_BHND", doc="Layout of the query."),
            Attr("keyValueForm", _FORM, default="kPADDED_BHND", doc="Layout of key and value."),
            Attr("normalizationQuantizeToType", "type", optional=True, doc="Element type after quantization."),
        ),
        assembly=f"attr-dict `ins` `(` {_listed(('query', 'key', 'value'))} `)` "
        f"{_group('mask', 'mask')} {_group('quantize_scale', 'normalizationQuantizeScale')} "
        f"{_group('query_lengths', 'queryLengths')} {_group('key_value_lengths', 'keyValueLengths')} `->` "
        f"type($result)",
        infer=_infer_attention,
        verify=_verify_attention,
        layer="addAttentionV2",
        example=example(
            "%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x8x16xf32>, %v: tensor<1x4x8x16xf32>",
            "%0 = tensorrt.attention {causalKind = #tensorrt.causal_mask_kind<kUPPER_LEFT>, decomposable = "
            "true} "
            "ins(%q, %k, %v : tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>) "
            "-> tensor<1x4x8x16xf32>",
            "%0 : tensor<1x4x8x16xf32>",
        ),
    ),
    OpDef(
        "tensorrt.kv_cache_update",
        "The cache with new keys or values written at a position per sequence.",
        operands=(
            Operand("cache", FLOATS, doc="B x H x Smax x D."),
            Operand("update", FLOATS, doc="B x H x S x D, or tokens x H x D when packed."),
            Operand("writeIndices", "i32 i64", doc="B values: where each sequence's update begins."),
            Operand(
                "updateLengths", "i32", optional=True, doc="Packed update: running token counts, B + 1 values."
            ),
        ),
        attrs=(
            Attr("cacheMode", "enum:kv_cache_mode", default="kLINEAR", doc="How the cache is laid out."),
            Attr("updateForm", _FORM, default="kPADDED_BHND", doc="Layout of the update."),
        ),
        assembly=f"attr-dict `ins` `(` {_listed(('cache', 'update', 'writeIndices'))} `)` "
        f"{_group('update_lengths', 'updateLengths')} `->` type($result)",
        infer=same_as("cache"),
        verify=_verify_kv_cache_update,
        layer="addKVCacheUpdate",
        example=example(
            "%c: tensor<1x4x32x16xf16>, %u: tensor<1x4x2x16xf16>, %i: tensor<1xi32>",
            "%0 = tensorrt.kv_cache_update ins(%c, %u, %i : tensor<1x4x32x16xf16>, tensor<1x4x2x16xf16>, "
            "tensor<1xi32>) -> tensor<1x4x32x16xf16>",
            "%0 : tensor<1x4x32x16xf16>",
        ),
    ),
    OpDef(
        "tensorrt.rotary_embedding",
        "Rotates pairs of hidden elements by angles that depend on the position.",
        operands=(
            Operand("input", FLOATS, doc="B x H x S x D."),
            Operand("cosCache", FLOATS, doc="B x S x D/2, or positions x D/2 where positionIds is given."),
            Operand("sinCache", FLOATS, doc="As cosCache."),
            Operand("positionIds", "i32 i64", optional=True, doc="B x S."),
        ),
        attrs=(
            Attr("interleaved", "i1", default=False, doc="Whether a pair is two neighbours, not two halves."),
            Attr("rotaryEmbeddingDim", "i64", default=0, doc="Hidden elements that rotate; 0 means all."),
        ),
        assembly=f"attr-dict `ins` `(` {_listed(('input', 'cosCache', 'sinCache'))} `)` "
        f"{_group('position_ids', 'positionIds')} `->` type($result)",
        infer=same_as("input"),
        verify=_verify_rotary_embedding,
        layer="addRotaryEmbedding",
        example=example(
            "%x: tensor<1x4x8x16xf32>, %c: tensor<1x8x8xf32>, %s: tensor<1x8x8xf32>",
            "%0 = tensorrt.rotary_embedding ins(%x, %c, %s : tensor<1x4x8x16xf32>, tensor<1x8x8xf32>, "
            "tensor<1x8x8xf32>) -> tensor<1x4x8x16xf32>",
            "%0 : tensor<1x4x8x16xf32>",
        ),
    ),
    OpDef(
        "tensorrt.moe",
        "A mixture of gated experts: each token goes through the experts chosen for it.",
        operands=(
            Operand("hiddenStates", f"{FLOATS} f8E4M3FN", doc="B x S x D."),
            Operand("selectedExpertsForTokens", "i32", doc="B x S x K."),
            Operand("scoresForSelectedExperts", FLOATS, doc="B x S x K."),
            *(
                Operand(name, f"{FLOATS} f8E4M3FN f4E2M1FN", doc="One matrix per expert.")
                for name in _MOE_WEIGHTS
            ),
            *(Operand(name, FLOATS, optional=True, doc="One vector per expert.") for name in _MOE_BIASES),
            Operand(
                "fcDownActivationScale", FLOATS, optional=True, doc="Quantizes the down projection's input."
            ),
        ),
        attrs=(
            Attr("activationType", "enum:moe_act_type", default="kSILU", doc="The gate's activation."),
            Attr(
                "quantizationToType", "type", optional=True, doc="Element type of the down projection's input."
            ),
            Attr("quantizationBlockShape", "array<i64>", optional=True, doc="Elements that share a scale."),
            Attr("dynQOutputScaleType", "type", optional=True, doc="Element type of computed scales."),
            Attr("swigluParamLimit", "f32", optional=True, doc="Clamps the gate; infinite where absent."),
            Attr("swigluParamAlpha", "f32", optional=True, doc="1 where absent."),
            Attr("swigluParamBeta", "f32", optional=True, doc="0 where absent."),
        ),
        assembly=f"attr-dict `ins` `(` {_listed(_MOE_INPUTS)} `)` `weights` `(` {_listed(_MOE_WEIGHTS)} `)` "
        + " ".join(_group(name, name) for name in (*_MOE_BIASES, "fcDownActivationScale"))
        + " `->` type($result)",
        infer=same_as("hiddenStates"),
        verify=_verify_moe,
        layer="addMoE",
        example=example(
            "%x: tensor<1x8x16xf16>, %e: tensor<1x8x2xi32>, %s: tensor<1x8x2xf16>, %g: tensor<4x16x32xf16>, "
            "%u: tensor<4x16x32xf16>, %d: tensor<4x32x16xf16>",
            "%0 = tensorrt.moe ins(%x, %e, %s : tensor<1x8x16xf16>, tensor<1x8x2xi32>, tensor<1x8x2xf16>) "
            "weights(%g, %u, %d : tensor<4x16x32xf16>, tensor<4x16x32xf16>, tensor<4x32x16xf16>) "
            "-> tensor<1x8x16xf16>",
            "%0 : tensor<1x8x16xf16>",
        ),
    ),
)
