"""Which ops relate the shapes of their operands and results in a simple way."""

from __future__ import annotations

from typing import Final

__all__ = ["BROADCASTING", "SAME_SHAPE"]

# The first result has the shape of the first operand.
_SAME_SHAPE: Final = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Cast CastLike Ceil Celu Clip Cos Cosh CumSum "
    "DequantizeLinear Dropout Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity "
    "InstanceNormalization IsInf IsNaN LRN LayerNormalization LeakyRelu Log LogSoftmax LpNormalization "
    "MeanVarianceNormalization Mish Neg Not PRelu QuantizeLinear RMSNormalization Reciprocal Relu Round "
    "ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan "
    "Tanh ThresholdedRelu Trilu"
)
SAME_SHAPE: Final = frozenset(_SAME_SHAPE.split())
# The result has the shape that all operands broadcast to.
_BROADCASTING: Final = (
    "Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min "
    "Mod Mul Or Pow Sub Sum Where Xor"
)
BROADCASTING: Final = frozenset(_BROADCASTING.split())
