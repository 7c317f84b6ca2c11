"""Layers of transformers: attention, KV cache, rotary embedding, mixture of experts."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand
from .common import FLOATS, example

__all__ = ["OPS"]

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
        f"{_group('query_lengths', 'queryLengths')} {_group('key_value_lengths', 'keyValueLengths')} `->` type($result)",
        layer="addAttentionV2",
        example=example(
            "%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x8x16xf32>, %v: tensor<1x4x8x16xf32>",
            "%0 = tensorrt.attention {causalKind = #tensorrt.causal_mask_kind<kUPPER_LEFT>, decomposable = true} "
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
