"""Attributes of the `plan` dialect: memory spaces, backends, bounds."""

from __future__ import annotations

from torch_mlir import ir

from ...ir.opdef import EnumDef

__all__ = [
    "BACKENDS",
    "ENUMS",
    "PARAMS",
    "backend",
    "backend_name",
    "memory_space",
    "space_of",
]

ENUMS = {
    entry.mnemonic: entry
    for entry in (
        EnumDef("memory_space", ("unknown", "host", "host_pinned", "device", "unified")),
        EnumDef("bounds_kind", ("none", "shape", "value")),
        EnumDef("input_kind", ("stablehlo", "tensorrt", "linalg", "onnx")),
    )
}

# A parameter that is left out is `unit` in MLIR's form.
PARAMS: dict[str, tuple[str, ...]] = {
    "bounds": ("kind", "min", "max"),
    "tensorrt_backend": (
        "disallow_shape_tensor_calculations",
        "benefit",
        "tensorrt_major_version",
        "prefer_destination_style_calling_convention",
    ),
    "kernel_backend": ("benefit",),
    "host_backend": ("benefit",),
    "onnx_backend": ("benefit",),
}

# Which backend takes an op first when several could: NVIDIA's three values, and ONNX Runtime last.
BACKENDS = {"tensorrt": 3, "kernel": 2, "host": 1, "onnx": 0}


def backend(name: str, benefit: int | None = None) -> ir.Attribute:
    """`#plan.<name>_backend<...>` in the current context, with its usual benefit unless one is given."""
    i64 = ir.IntegerType.get_signless(64)
    rank = ir.IntegerAttr.get(i64, BACKENDS[name] if benefit is None else benefit)
    if name != "tensorrt":
        return ir.DynamicAttr.get(f"plan.{name}_backend", [rank])
    unset = ir.UnitAttr.get()
    return ir.DynamicAttr.get("plan.tensorrt_backend", [ir.BoolAttr.get(False), rank, unset, unset])


def _dynamic(attribute: ir.Attribute) -> ir.DynamicAttr | None:
    try:
        return ir.DynamicAttr(attribute)
    except ValueError:
        return None


def backend_name(attribute: ir.Attribute) -> str:
    """ "tensorrt" for `#plan.tensorrt_backend<...>`. Raises ValueError for another attribute."""
    dynamic = _dynamic(attribute)
    if dynamic is not None:
        name = dynamic.attr_name
        if name.startswith("plan.") and name.endswith("_backend"):
            return name.removeprefix("plan.").removesuffix("_backend")
    raise ValueError(f"{attribute} is not a backend")


def memory_space(name: str) -> ir.Attribute:
    """`#plan.memory_space<name>` in the current context; for memrefs, and as a tensor's encoding."""
    if name not in ENUMS["memory_space"].values:
        raise ValueError(f"no memory space {name!r}; there are {', '.join(ENUMS['memory_space'].values)}")
    return ir.DynamicAttr.get("plan.memory_space", [ir.StringAttr.get(name)])


def space_of(kind: ir.Type) -> str:
    """The memory space of a memref or tensor type; "unknown" where it carries none."""
    found = None
    if isinstance(kind, ir.MemRefType):
        found = kind.memory_space
    elif isinstance(kind, ir.RankedTensorType):
        found = kind.encoding
    attribute = None if found is None else _dynamic(found)
    if attribute is None or attribute.attr_name != "plan.memory_space":
        return "unknown"
    return str(ir.StringAttr(attribute.params[0]).value)
