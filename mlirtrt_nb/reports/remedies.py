"""What to change so that TensorRT takes an op: a kind of cause and a concrete remedy for every reason.

Reasons are the texts of the attribute `plan.fallback`: of conversions, of the builder's limits, of the builder
itself. A test reads every such text from the sources and holds that none is left to the last rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["CAUSES", "Explanation", "explain"]

# The kinds of cause, as the column `cause` of `plan.fallbacks` spells them.
CAUSES = ("no layer", "type", "dynamic", "attribute", "builder", "setting")


@dataclass(frozen=True)
class Explanation:
    """Why an op is not in an engine: one of `CAUSES`, and what to change."""

    cause: str
    remedy: str


# Ops for which there is no layer, and what does their work on TensorRT, or why it does not matter.
_WITHOUT_LAYER = {
    "an op on texts; do it before the model, and feed its numbers": (
        "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer ImageDecoder"
    ),
    "make the random numbers outside and feed them as an input, or export for inference": (
        "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike"
    ),
    "export with tensors in place of sequences and optionals: Split, Concat and Gather have layers": (
        "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct "
        "SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap SplitToSequence"
    ),
    "use a mask of fixed shape (Where, or a product with 0 and 1) instead of positions or a shorter tensor": (
        "Compress NonZero Unique"
    ),
    "end the engine before it, as it is small work for the host; or keep the best K boxes by TopK": (
        "NonMaxSuppression"
    ),
    "on booleans use And, Or, Not and Xor; otherwise use Mul, Div and Mod by powers of two": (
        "BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor"
    ),
    "replace it by GridSample on a grid of sampling points": "AffineGrid DeformConv MaxRoiPool RoiAlign",
    "compute it once outside of the model and give it as a weight": "MelWeightMatrix",
    "replace it by Conv with the windowed Fourier basis as its weights": "STFT",
    "replace it by ConvTranspose with a kernel of ones on the diagonal": "Col2Im",
    "replace it by ScatterElements": "MaxUnpool TensorScatter",
    "replace it by Exp of CumSum of Log where all factors are positive": "CumProd",
    "write it out in Mul, Sub and Gather for the matrix size that you have": "Det",
    "replace it by Cast if the bits need not be kept": "BitCast",
    "write it out in MatMul, Conv, Sigmoid and Mul, which have layers": (
        "CausalConvWithState LinearAttention SwiGLU"
    ),
}
_BY_OP = {op: remedy for remedy, ops in _WITHOUT_LAYER.items() for op in ops.split()}
_OTHER_OP = "replace it in the exporter by ops that have a layer; docs/onnx-conformance.md counts them by op"

_FIX_DIM = (
    "give the dimension one size: shapes={input: (1, 3, 224, 224)} (--shape input=1x3x224x224), "
    "or export it static"
)
_RANK_BY = "add or drop dimensions of size 1 around it (Unsqueeze, Squeeze, Reshape)"
_CAST = "cast its inputs to float32 or float16 before it, and back after it"
_CONSTANT = "make that input an initializer or a Constant, or fix the shapes that it is computed from"
_NEWER = "convert the model with onnx.version_converter to opset 13 or newer"
_INVALID = "the model contradicts ONNX's definition of the op; correct the export"
_PAD_APART = "put the padding into a Pad of its own before it"

# (pattern of the reason, cause, remedy). The first that matches counts; \1 is what the pattern's group found.
_RULES: tuple[tuple[str, str, str], ...] = (
    # Settings of this package.
    (
        r"its cluster is smaller than min-cluster-size",
        "setting",
        'pipeline.set("plan-clustering", min_cluster_size=1)',
    ),
    (r"kept by the option keep", "setting", 'take it out of the option keep of "onnx-to-tensorrt"'),
    (
        r"it is no op of TensorRT's: MLIR compiles it for the host",
        "no layer",
        "nothing if its native code is fast enough; write it in tensorrt or onnx ops to have it in an engine",
    ),
    (r"the pipeline did not convert it", "setting", 'enable the pass "onnx-to-tensorrt" for it'),
    (r"conditions on data are checked on the host", "setting", "nothing: it only checks which branch is taken"),
    (
        r"op \S+ of domain (\S*) is not known",
        "no layer",
        r"give the op of \1 as a local function of the model, or replace it by standard ops",
    ),
    # Element types.
    (
        r"ui8 inside an engine|ui8 only at",
        "type",
        "cast to float16 or int32 instead: an engine computes in no uint8",
    ),
    (
        r"a constant of element type|zero point per row|scales along an axis",
        "type",
        "quantize by QuantizeLinear and DequantizeLinear around a float op, per tensor or per output channel",
    ),
    (
        r"TensorRT has no element type (\S+)",
        "type",
        r"convert the model away from \1: float32, float16, bfloat16, "
        r"int64, int32, int8 and bool have layers",
    ),
    (r"element type (\S+) in attention that is not decomposable", "type", "set decomposable, or use float16"),
    (
        r"element type \S+ in [^;]*; it takes (.*)",
        "type",
        r"cast its inputs to one of \1 before it, and back after it",
    ),
    (r"element type", "type", _CAST),
    (r"a cast from \S+ to (\S+)", "type", "cast to float32 or int32 first, or keep the tensor in its type"),
    (r"base \S+ with exponent", "type", "cast base and exponent to one floating-point type"),
    (
        r"inexact in f32",
        "type",
        "quantize by QuantizeLinear and DequantizeLinear around a float MatMul or Conv instead",
    ),
    (
        r"quantization (from|to) |dequantization from",
        "type",
        "quantize float32 or float16 to int8, float8e4m3fn or int4, the types that TensorRT's quantization has",
    ),
    (
        r"positive, finite ones|scales for the .* channels|scales of dynamic number",
        "attribute",
        "quantize again: scales are positive, finite, and one for each channel",
    ),
    (r"quantization in blocks", "type", "quantize per tensor or per axis, or weights only in blocks of int4"),
    (
        r"its layer would not be valid",
        "type",
        "give the op's operands one element type, and shapes that go together",
    ),
    (
        r"is declared .* and the layer's is",
        "type",
        "let shape inference work the result out: drop the declared type",
    ),
    (
        r"is not a tensor of known rank",
        "dynamic",
        "give the model's inputs shapes of fixed rank; sequences and optionals have no layer",
    ),
    # Shapes that follow from data.
    (
        r"the values of input '.*' decide a shape",
        "dynamic",
        "make it (a Loop's trip count, a target shape) a constant of the model, if it is always the same",
    ),
    (
        r"no known range|depends on the data|too much to be run|no range|no shape profile|computed from data",
        "dynamic",
        "compute it before the data-dependent op, or pad that op's result to a fixed size",
    ),
    (r"collected over an unknown number of turns", "dynamic", "give the Loop a constant trip count"),
    (
        r"a carried value that changes",
        "dynamic",
        "keep the shapes that a Loop or Scan carries the same in each turn",
    ),
    (r"branches that give|a branch that gives", "dynamic", "let both branches give one shape and one type"),
    (r"a mask that may be shorter", "dynamic", "export the mask with the keys' length"),
    (
        r"auto_pad = \S+ ",
        "dynamic",
        "write pads out as numbers (auto_pad = NOTSET), or give the dimension one size",
    ),
    (r"output_shape on a dynamic", "dynamic", "give pads and output_padding instead of output_shape"),
    (r"dynamic|unknown length|may be 1", "dynamic", _FIX_DIM),
    (r"is not constant|axis is not one number|computed at run time", "dynamic", _CONSTANT),
    (
        r"a cache that is computed in the engine",
        "attribute",
        "make the cache an input of the model, and feed it back from the output",
    ),
    (
        r"attention in a branch or a loop",
        "attribute",
        "take the attention out of the branch or the loop, or write it out in MatMul and Softmax",
    ),
    (
        r"head dimension|last dimensions must be equal",
        "attribute",
        "write the attention out in MatMul, Mul, Add and Softmax, which take any sizes",
    ),
    (r"one value per channel", "attribute", "give scale and bias one value per channel (opset 21)"),
    # Attribute values.
    (r"opset 6 and older|of opset 8|spatial = 0", "attribute", _NEWER),
    (r"training mode", "attribute", "export for inference: model.eval() before torch.onnx.export"),
    (r"antialias", "attribute", "set antialias = 0, or average-pool before it to the same effect"),
    (r"keep_aspect_ratio_policy", "attribute", "give sizes that already keep the ratio, with policy stretch"),
    (r"coordinate_transformation_mode", "attribute", "use half_pixel, align_corners or asymmetric"),
    (
        r"resize of dimension",
        "attribute",
        "resize spatial dimensions only; others by Expand",
    ),
    (r"neither scales nor sizes|is absent|without activation_", "attribute", _INVALID),
    (
        r"out of range|do not broadcast|pads for|per dimension|one that is inferred|but R has|of \S+ numbers",
        "attribute",
        _INVALID,
    ),
    (r"negative padding", "attribute", "put a Slice in the place of the negative pads"),
    (r"padding as large as|ceil_mode", "attribute", _PAD_APART),
    (
        r"dilated pooling over windows",
        "attribute",
        "use a smaller window, or a strided Slice before the pooling",
    ),
    (r"a window of", "attribute", "use an odd size up to 15"),
    (r"mode = ", "attribute", "use constant, edge or reflect for Pad; nearest, linear or cubic for Resize"),
    (r"approximate = ", "attribute", 'set approximate to "none" or "tanh"'),
    (r"softmax_precision", "attribute", "leave softmax_precision away: softmax is done in the inputs' type"),
    (
        r"direction = |activation|hidden_size",
        "attribute",
        "use direction forward, reverse or bidirectional, and the op's standard activations",
    ),
    (r"reduction = ", "attribute", "scatter without reduction, or add on disjoint positions"),
    (r"batch_dims", "attribute", "use GatherElements, or put the batch position into the indices"),
    (r"more than one axis", "attribute", "take the axes one after the other, in one op each"),
    (r"a reduction over no axes", "attribute", "replace it by Identity"),
    (r"k = ", "attribute", "k must be from 1 to 3840 and no more than the dimension has"),
    (r"einsum", "attribute", "split it into Einsums of two operands, or into Transpose and MatMul"),
    (
        r"one-sided inverse|axis \d+$",
        "attribute",
        "transform along the last axis, with onesided = 0 for the inverse",
    ),
    (r"result \d+ is used", "attribute", "do without that optional output, or compute it by separate ops"),
    (r"rank \d|spatial dimensions|of rank", "attribute", _RANK_BY),
    # No layer, and the builder's own words.
    (r"the builder implements no (\w+) layer", "no layer", ""),
    (r"no TensorRT layer for (\w+)", "no layer", ""),
    (
        r"its conversion failed|a body without an end",
        "no layer",
        "report it with the model: the conversion of this op is at fault; it runs on the host meanwhile",
    ),
    (
        r"TensorRT-RTX has no plugins|no plugin|refused its parameters",
        "builder",
        'compile for target="cuda" with the plugin library loaded',
    ),
    (
        r"(?i)out of memory|workspace|requires? .*bytes",
        "builder",
        "compile for smaller shapes: lower max in shapes= (--shape)",
    ),
    (
        r"(?i)profile|kMIN|kMAX|kOPT",
        "builder",
        "narrow the range: bring min and max in shapes= (--shape) nearer to opt",
    ),
    (
        r"FP32 GEMM is not supported",
        "type",
        'compile with precision="fp16" (--precision fp16): TensorRT-RTX multiplies no fp32 matrices on Turing',
    ),
    (
        r"TensorRT refuse|cannot become a layer|has no form|op that becomes a layer|TensorRT, ",
        "builder",
        'write that op otherwise, or leave it to the host by pipeline.set("onnx-to-tensorrt", keep=[op])',
    ),
)
_COMPILED = tuple((re.compile(pattern), cause, remedy) for pattern, cause, remedy in _RULES)
_IN_BODY = re.compile(r"in its body, \w+: (.+)", re.DOTALL)
_UNKNOWN = Explanation(
    "builder", "write the op otherwise, or fix its shapes and types; it runs on the host meanwhile"
)
_OP_OF_LAYER = {"non_zero": "NonZero", "nms": "NonMaxSuppression"}


@lru_cache(maxsize=1024)
def explain(reason: str) -> Explanation:
    """The cause and the remedy of a reason, as in `plan.fallbacks`."""
    inner = _IN_BODY.match(reason)
    if inner:
        return explain(inner[1])
    for pattern, cause, remedy in _COMPILED:
        found = pattern.search(reason)
        if found:
            return Explanation(cause, found.expand(remedy) if remedy else _instead_of(found[1]))
    return _UNKNOWN


def _instead_of(op: str) -> str:
    return _BY_OP.get(_OP_OF_LAYER.get(op, op), _OTHER_OP)
