"""What the op families share: element type lists, frequent pieces of syntax, and how examples are spelled."""

from __future__ import annotations

__all__ = ["ALL_TYPES", "FLOATS", "INS", "INS_ONE", "SAME", "TENSOR", "example"]

# Element types, in the notation of `Operand.types`.
TENSOR = "i1 i8 i32 i64 f16 bf16 f32"
ALL_TYPES = f"{TENSOR} i4 f8E4M3FN"
FLOATS = "f16 bf16 f32"

# Syntax.
INS = "attr-dict `ins` `(` operands `:` type(operands) `)` `->` type(results)"
INS_ONE = "attr-dict $input `:` type($input) `->` type(results)"
SAME = "attr-dict $input `:` type($input)"


def example(arguments: str, body: str, returns: str = "") -> str:
    """A whole function: `arguments` as in its signature, one op a line in `body`, `returns` as "%0 : type"."""
    values, _, types = returns.partition(" : ")
    lines = [line.strip() for line in body.strip().splitlines()]
    result = f" -> ({types})" if "," in types else f" -> {types}" if types else ""
    text = "".join(f"  {line}\n" for line in [*lines, f"return {returns}" if values else "return"])
    return f"func.func @main({arguments}){result} {{\n{text}}}\n"
