"""How an op is defined: one `OpDef` value says its operands, attributes, syntax, inference and rules.

From it come the IRDL definition that MLIR loads, the builder and the accessors, the custom assembly,
the verifier and the reference page. Nothing else about an op is written down twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch_mlir import ir

    from .builder import Op

__all__ = ["VARIADIC_SLOTS", "Attr", "DialectDef", "EnumDef", "OpDef", "Operand", "Region", "ResultDef"]

# IRDL binds each constraint once per op, so a variadic of mixed types is this many optional slots.
VARIADIC_SLOTS = 256


@dataclass(frozen=True)
class Operand:
    """One operand. `types` lists the element types it takes ("f16 bf16 f32"), or "any"."""

    name: str
    types: str = "any"
    optional: bool = False
    variadic: bool = False
    doc: str = ""


@dataclass(frozen=True)
class Attr:
    """One attribute.

    `kind` is one of: i1 (BoolAttr), i32 i64 si64 ui32 (IntegerAttr of that type), f32 f64, str, unit,
    array<i32> array<i64> array<f32>, elements (dense or dense_resource), affine_map, symbol, type, dict,
    array, any, or `enum:<mnemonic>`. `default` is in Python form (see builder.to_python); an attribute
    equal to its default is not printed.
    """

    name: str
    kind: str
    optional: bool = False
    default: Any = None
    doc: str = ""


@dataclass(frozen=True)
class ResultDef:
    """One result; `variadic` stands for any number."""

    name: str = "result"
    types: str = "any"
    variadic: bool = False


@dataclass(frozen=True)
class Region:
    """One region. `args` says in words what block arguments it has."""

    name: str
    args: str = ""


@dataclass(frozen=True)
class EnumDef:
    """An enum attribute, spelled `#<dialect>.<mnemonic><kVALUE>`. Positions are TensorRT's values."""

    mnemonic: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class OpDef:
    """One op.

    `assembly` is the declarative format after the op's name (None: generic-like form).
    `infer(op: Op) -> list[ir.Type] | None` gives the result types from operands and attributes.
    `verify(op: Op) -> None` raises `VerificationError`; it runs at stage boundaries and after passes of the
    user's own, not after each pass.
    `layer` names the TensorRT call it becomes ("addSlice"), or "".
    """

    name: str
    summary: str
    operands: tuple[Operand, ...] = ()
    attrs: tuple[Attr, ...] = ()
    results: tuple[ResultDef, ...] = (ResultDef(),)
    regions: tuple[Region, ...] = ()
    assembly: str | None = None
    traits: frozenset[str] = frozenset({"pure"})  # pure terminator isolated no_terminator symbol symbol_table
    infer: Callable[[Op], Sequence[ir.Type] | None] | None = None
    verify: Callable[[Op], None] | None = None
    layer: str = ""
    example: str = ""
    display_name: str = ""  # what the text layer shows, where MLIR's lower-case name differs (onnx.Conv)

    @property
    def dialect(self) -> str:
        """ "tensorrt" of "tensorrt.convolution"."""
        return self.name.partition(".")[0]

    @property
    def mnemonic(self) -> str:
        """ "convolution" of "tensorrt.convolution"."""
        return self.name.partition(".")[2]

    def attr(self, name: str) -> Attr | None:
        """The definition of an attribute; None if the op has none of that name."""
        return next((a for a in self.attrs if a.name == name), None)


@dataclass(frozen=True, eq=False)
class DialectDef:
    """A dialect: its ops by full name, its enums by mnemonic, and its other attributes.

    `params` are attributes with parameters: mnemonic -> the parameters' names. `types` are types likewise, or
    just their mnemonics where none has parameters. `arguments` has a rule for each attribute of function
    arguments, by full name: what is wrong with the attribute on an argument of that type, or None.
    """

    name: str
    ops: dict[str, OpDef] = field(default_factory=dict)
    enums: dict[str, EnumDef] = field(default_factory=dict)
    params: dict[str, tuple[str, ...]] = field(default_factory=dict)
    types: dict[str, tuple[str, ...]] | tuple[str, ...] = ()
    arguments: dict[str, Callable[[ir.Attribute, ir.Type], str | None]] = field(default_factory=dict)
