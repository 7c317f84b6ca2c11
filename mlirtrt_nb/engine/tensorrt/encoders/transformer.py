"""Layers of transformers: attention, KV cache, rotary embedding, mixture of experts."""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes, member


def _type(s: Scope, op: Op, name: str) -> Any:
    """The `DataType` of a type attribute, or None."""
    value = op.attr(name)
    return None if value is None else s.dtype(ir.Type(value))


@encodes("attention")
def attention(s: Scope, op: Op) -> Any:
    layer = s.made(
        s.net.add_attention_v2(
            *(s.input(op, name) for name in ("query", "key", "value")),
            member(s.trt.AttentionNormalizationOp, op.attr("normOp")),
            member(s.trt.CausalMaskKind, op.attr("causalKind")),
        )
    )
    layer.decomposable = bool(op.attr("decomposable"))
    layer.query_form = member(s.trt.AttentionIOForm, op.attr("queryForm"))
    layer.key_value_form = member(s.trt.AttentionIOForm, op.attr("keyValueForm"))
    quantized = _type(s, op, "normalizationQuantizeToType")
    if quantized is not None:
        layer.normalization_quantize_to_type = quantized
    for operand, field in (
        ("mask", "mask"),
        ("normalizationQuantizeScale", "normalization_quantize_scale"),
        ("queryLengths", "query_lengths"),
        ("keyValueLengths", "key_value_lengths"),
    ):
        tensor = s.input(op, operand)
        if tensor is not None:
            setattr(layer, field, tensor)
    return layer.get_output(0)


@encodes("kv_cache_update")
def kv_cache_update(s: Scope, op: Op) -> Any:
    tensors = (s.input(op, name) for name in ("cache", "update", "writeIndices"))
    layer = s.made(s.net.add_kv_cache_update(*tensors, member(s.trt.KVCacheMode, op.attr("cacheMode"))))
    layer.update_form = member(s.trt.AttentionIOForm, op.attr("updateForm"))
    lengths = s.input(op, "updateLengths")
    if lengths is not None:
        layer.update_lengths = lengths
    return layer.get_output(0)


@encodes("rotary_embedding")
def rotary_embedding(s: Scope, op: Op) -> Any:
    tensors = (s.input(op, name) for name in ("input", "cosCache", "sinCache"))
    layer = s.made(
        s.net.add_rotary_embedding(*tensors, bool(op.attr("interleaved")), op.attr("rotaryEmbeddingDim"))
    )
    positions = s.input(op, "positionIds")
    if positions is not None:
        layer.set_input(3, positions)
    return layer.get_output(0)


@encodes("moe")
def moe(s: Scope, op: Op) -> Any:
    names = ("hiddenStates", "selectedExpertsForTokens", "scoresForSelectedExperts")
    layer = s.made(s.net.add_moe(*(s.input(op, name) for name in names)))
    activation = member(s.trt.MoEActType, op.attr("activationType"))
    layer.set_gated_weights(
        *(s.input(op, name) for name in ("fcGateWeights", "fcUpWeights", "fcDownWeights")), activation
    )
    biases = [s.input(op, name) for name in ("fcGateBiases", "fcUpBiases", "fcDownBiases")]
    if any(bias is not None for bias in biases):
        layer.set_gated_biases(*biases)
    _quantized_experts(s, op, layer)
    for attribute, field in (
        ("swigluParamLimit", "swiglu_param_limit"),
        ("swigluParamAlpha", "swiglu_param_alpha"),
        ("swigluParamBeta", "swiglu_param_beta"),
    ):
        if op.attr(attribute) is not None:
            setattr(layer, field, op.attr(attribute))
    return layer.get_output(0)


def _quantized_experts(s: Scope, op: Op, layer: Any) -> None:
    """Quantise the down projection's input: in blocks with computed scales, or with one given scale."""
    kind, scale = _type(s, op, "quantizationToType"), s.input(op, "fcDownActivationScale")
    if kind is None:
        return
    block, scale_type = op.attr("quantizationBlockShape"), _type(s, op, "dynQOutputScaleType")
    if block is not None and scale_type is not None:
        layer.set_quantization_dynamic_dbl_q(scale, kind, tuple(block), scale_type)
    else:
        layer.set_quantization_static(scale, kind)
