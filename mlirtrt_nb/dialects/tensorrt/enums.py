"""The dialect's enums. A value's position is TensorRT's own number for it."""

from __future__ import annotations

from ...ir.opdef import EnumDef

__all__ = ["ENUMS"]


def _enum(mnemonic: str, values: str) -> EnumDef:
    return EnumDef(mnemonic, tuple(f"k{value}" for value in values.split()))


_LIST = (
    _enum(
        "activation_type",
        "RELU SIGMOID TANH LEAKY_RELU ELU SELU SOFTSIGN SOFTPLUS CLIP HARD_SIGMOID SCALED_TANH "
        "THRESHOLDED_RELU GELU_ERF GELU_TANH",
    ),
    _enum(
        "element_wise_operation",
        "SUM PROD MAX MIN SUB DIV POW FLOOR_DIV AND OR XOR EQUAL GREATER LESS",
    ),
    _enum(
        "unary_operation",
        "EXP LOG SQRT RECIP ABS NEG SIN COS TAN SINH COSH ASIN ACOS ATAN ASINH ACOSH ATANH CEIL FLOOR "
        "ERF NOT SIGN ROUND ISINF ISNAN",
    ),
    _enum("reduce_operation", "SUM PROD MAX MIN AVG"),
    _enum("pooling_type", "MAX AVERAGE MAX_AVERAGE_BLEND"),
    _enum("padding_mode", "EXPLICIT_ROUND_DOWN EXPLICIT_ROUND_UP SAME_UPPER SAME_LOWER"),
    _enum("gather_mode", "DEFAULT ELEMENT ND"),
    _enum("scatter_mode", "ELEMENT ND"),
    # kDEFAULT is TensorRT's STRICT_BOUNDS.
    _enum("slice_mode", "DEFAULT WRAP CLAMP FILL REFLECT"),
    _enum("top_k_operation", "MAX MIN"),
    _enum("matrix_operation", "NONE TRANSPOSE VECTOR"),
    _enum("resize_mode", "NEAREST LINEAR CUBIC"),
    _enum("resize_coordinate_transformation", "ALIGN_CORNERS ASYMMETRIC HALF_PIXEL"),
    _enum("resize_selector", "FORMULA UPPER"),
    _enum("resize_round_mode", "HALF_UP HALF_DOWN FLOOR CEIL"),
    _enum("loop_output", "LAST_VALUE CONCATENATE REVERSE"),
    _enum("trip_limit", "COUNT WHILE"),
    _enum("fill_operation", "LINSPACE RANDOM_UNIFORM RANDOM_NORMAL"),
    # From here on: layers of TensorRT 11 for which the public dialect has no op.
    _enum("attention_normalization_op", "NONE SOFTMAX"),
    _enum("attention_io_form", "PADDED_BHND PACKED_NHD"),
    _enum("causal_mask_kind", "NONE UPPER_LEFT LOWER_RIGHT"),
    _enum("kv_cache_mode", "LINEAR"),
    _enum("moe_act_type", "NONE SILU"),
    _enum("recurrence_direction", "FORWARD REVERSE BIDIRECTIONAL"),  # TensorRT has no enum for it
    _enum("bounding_box_format", "CORNER_PAIRS CENTER_SIZES"),
    _enum("cumulative_operation", "SUM"),
    _enum("scale_mode", "UNIFORM CHANNEL ELEMENTWISE"),
    _enum(
        "collective_operation",
        "ALL_REDUCE ALL_GATHER BROADCAST REDUCE REDUCE_SCATTER ALL_TO_ALL GATHER SCATTER",
    ),
)

ENUMS: dict[str, EnumDef] = {entry.mnemonic: entry for entry in _LIST}
