"""The onnx dialect: every ONNX op of every version, on builtin tensor types.

Names are lower case in MLIR (`onnx.conv`), as ONNX has them in what is shown (`onnx.Conv`). Ops keep the
meaning of the opset that their function's `onnx.opset_import` names.
"""

from ...ir.context import register_dialect
from .schemas import build_dialect

__all__ = ["DIALECT"]

DIALECT = build_dialect()
register_dialect(DIALECT)
