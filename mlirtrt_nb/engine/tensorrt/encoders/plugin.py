"""Plugins, and collectives over several devices."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch_mlir import ir

from ....errors import EngineBuildError
from ....ir.attributes import to_python
from ....ir.builder import Op
from ....ir.constants import value_of
from ..scope import Scope
from .registry import encodes, member


@encodes("dist_collective")
def dist_collective(s: Scope, op: Op) -> Any:
    reduction, root = op.attr("reduceOperation") or "kNONE", op.attr("root")
    return s.out(
        s.net.add_dist_collective(
            s.input(op, "input"),
            member(s.trt.CollectiveOperation, op.attr("collectiveOperation")),
            member(s.trt.ReduceOperation, reduction),
            -1 if root is None else root,
            op.attr("groups") or [],
        )
    )


@encodes("opaque_plugin")
def opaque_plugin(s: Scope, op: Op) -> list[Any]:
    name, version, namespace = (op.attr(f"plugin_{key}") for key in ("name", "version", "namespace"))
    if not hasattr(s.net, "add_plugin_v3"):
        raise EngineBuildError(f"TensorRT-RTX has no plugins (asked for {name!r})")
    registry = s.trt.get_plugin_registry()
    if op.attr("dso_path"):
        registry.load_library(op.attr("dso_path"))
    creator = registry.get_creator(name, version, namespace)
    if creator is None:
        raise EngineBuildError(
            f"no plugin {name!r} version {version!r} is registered",
            hint="set dso_path to the library that has it",
        )
    fields = s.trt.PluginFieldCollection(
        [_field(s, f.name, f.attr) for f in ir.DictAttr(op.raw("creator_params"))]
    )
    plugin = creator.create_plugin(name, fields, s.trt.TensorRTPhase.BUILD)
    if plugin is None:
        raise EngineBuildError(f"the plugin {name!r} refused its parameters")
    layer = s.made(s.net.add_plugin_v3(s.inputs(op, "inputs"), [], plugin))
    return [layer.get_output(n) for n in range(layer.num_outputs)]


def _field(s: Scope, name: str, attribute: ir.Attribute) -> Any:
    """A plugin field: numbers, arrays of numbers, dense elements, or a string."""
    kinds = s.trt.PluginFieldType
    if isinstance(attribute, ir.StringAttr):
        return s.trt.PluginField(name, np.frombuffer(attribute.value.encode(), np.int8), kinds.CHAR)
    if isinstance(attribute, ir.DenseElementsAttr):
        array = value_of(attribute, {})
    elif isinstance(attribute, ir.IntegerAttr | ir.FloatAttr):
        array = np.array([attribute.value], _number_type(attribute.type))
    else:
        array = np.array(to_python(attribute))
    by_type = {
        "float32": "FLOAT32",
        "float64": "FLOAT64",
        "float16": "FLOAT16",
        "int8": "INT8",
        "int16": "INT16",
    }
    kind = by_type.get(array.dtype.name, array.dtype.name.upper())
    return s.trt.PluginField(name, np.ascontiguousarray(array), getattr(kinds, kind))


def _number_type(element: ir.Type) -> np.dtype:
    spelling = str(element)
    return np.dtype({"f16": "float16", "f32": "float32", "f64": "float64"}.get(spelling, f"int{spelling[1:]}"))
