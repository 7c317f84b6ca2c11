"""A Pygments lexer for MLIR: generic and custom forms of any dialect, attributes, types and locations.

Registered under the entry point "mlir", so nbconvert, Sphinx and `pygmentize` find it too. An Error token
means a character that MLIR does not have.
"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, include, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

__all__ = ["MlirLexer"]

_ID = r"(?:[A-Za-z_$][\w$.-]*|\d+)"
# Dimensions of a shape, each with its `x`: 1x?x224x, [4]x, *x.
_DIMS = r"(?:(?:\[?\d+\]?|\?|\*)\s*x\s*)+"
_SHAPED = words(("tensor", "memref", "vector"), prefix=r"\b", suffix=r"(?=\s*<)")
# Not followed by what would make it a longer name: `f32`, `si8`, `bf16`, `f8E4M3FN`.
_ELEMENT = r"(?:bf16|tf32|[su]?i[1-9]\d*|f\d+(?:E\d+M\d+\w*)?|index|none)(?![\w$.])"

_STRUCTURE = (
    "attributes", "else", "do", "ins", "outs", "into", "on", "at", "to", "from", "step", "iter_args", "private",
    "public", "nested", "module", "func", "return", "yield", "loc", "callsite", "fused", "unknown", "with",
    "workspace", "iterator_types", "indexing_maps",
)  # fmt: skip
_ATTRIBUTE_WORDS = (
    "affine_map", "affine_set", "array", "dense", "dense_resource", "distinct", "opaque", "sparse", "strided",
    "tuple", "complex", "unit", "offset", "size",
)  # fmt: skip


class MlirLexer(RegexLexer):
    """MLIR textual IR."""

    name = "MLIR"
    aliases: ClassVar[list[str]] = ["mlir"]
    filenames: ClassVar[list[str]] = ["*.mlir"]
    mimetypes: ClassVar[list[str]] = ["text/x-mlir"]
    url = "https://mlir.llvm.org"
    version_added = ""

    tokens: ClassVar[dict[str, list]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"\{-#|#-\}", Comment.Preproc),
            include("names"),
            include("types"),
            include("literals"),
            include("words"),
            (r"->|::|[-+*/=<>|&?]", Operator),
            (r"[{}()\[\],:;.]", Punctuation),
        ],
        "names": [
            # The name of an op in generic form is a string before its operands.
            (r'"[a-z_][\w$.]*"(?=\s*\()', Name.Function),
            (rf"%{_ID}(?:[:#]\d+)?", Name.Variable),
            (rf'@(?:{_ID}|"(?:[^"\\\n]|\\.)*")', Name.Entity),
            (rf"\^{_ID}", Name.Label),
            (rf"#{_ID}", Name.Decorator),
            (rf"!{_ID}", Keyword.Type),
        ],
        "types": [
            (_SHAPED, Keyword.Type, "shape"),
            (_ELEMENT, Keyword.Type),
        ],
        # Just after `tensor`: an angle bracket, then dimensions, where `0x3` is two of them and no hex number.
        "shape": [(rf"(\s*<\s*)({_DIMS})?", bygroups(Operator, Number.Integer), "#pop")],
        "literals": [
            (r'"', String.Double, "string"),
            (rf"{_DIMS}(?={_ELEMENT})", Number.Integer),
            (r"0x[0-9A-Fa-f]+", Number.Hex),
            (r"-?\d+\.\d*(?:[eE][-+]?\d+)?", Number.Float),
            (r"-?\d+(?:[eE][-+]?\d+)?", Number.Integer),
            (words(("true", "false", "nan", "inf"), prefix=r"\b", suffix=r"\b"), Keyword.Constant),
        ],
        "string": [
            (r'[^"\\\n]+', String.Double),
            (r"\\(?:[0-9A-Fa-f]{2}|.)", String.Escape),
            (r'"', String.Double, "#pop"),
        ],
        "words": [
            # `tensorrt.slice`, `func.func`; a dotted key of a dictionary is an attribute.
            (r"[A-Za-z_][\w$-]*(?:\.[\w$-]+)+(?=\s*=[^=])", Name.Attribute),
            (r"[A-Za-z_][\w$]*(?:\.[\w$-]+)+", Name.Function),
            (words(_STRUCTURE, prefix=r"\b", suffix=r"\b(?!\s*=)"), Keyword),
            (words(_ATTRIBUTE_WORDS, prefix=r"\b", suffix=r"\b(?!\s*=)"), Keyword.Pseudo),
            (r"k[A-Z][A-Z0-9_]*\b", Name.Constant),
            (r"[A-Za-z_][\w$-]*(?=\s*=[^=])", Name.Attribute),
            (r"[A-Za-z_][\w$-]*", Name),
        ],
    }
