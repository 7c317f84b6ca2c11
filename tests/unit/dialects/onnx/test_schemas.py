"""The onnx dialect covers every op of every opset that the installed onnx package knows."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import defs
from torch_mlir import ir

from mlirtrt_nb.dialects.onnx import DIALECT
from mlirtrt_nb.dialects.onnx.ops import absent, constant, constant_value, is_absent, make, opset
from mlirtrt_nb.dialects.onnx.schemas import attribute_defaults, identity, op_name
from mlirtrt_nb.ir.builder import Op
from mlirtrt_nb.ir.context import new_context


def test_every_op_of_every_opset():
    """Each schema of the standard domains has an op, and names map back."""
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.ml", "ai.onnx.preview"):
            name = op_name(schema.domain, schema.name)
            assert identity(name) == (schema.domain, schema.name)
            declared = DIALECT.ops[name]
            assert declared.display_name.endswith(schema.name)
            given = {attr.name for attr in declared.attrs} | {region.name for region in declared.regions}
            assert set(schema.attributes) <= given


def test_operand_names_are_the_newest():
    """Operands go by the names of the newest version, also where older ones had others."""
    assert [o.name for o in DIALECT.ops["onnx.resize"].operands] == ["X", "roi", "scales", "sizes"]
    assert [o.name for o in DIALECT.ops["onnx.batchnormalization"].operands][3:] == ["input_mean", "input_var"]
    assert DIALECT.ops["onnx.concat"].operands[0].variadic
    assert [r.name for r in DIALECT.ops["onnx.if"].regions] == ["then_branch", "else_branch"]


@pytest.mark.parametrize(
    ("name", "attribute", "default"),
    [
        ("onnx.maxpool", "ceil_mode", 0),
        ("onnx.softmax", "axis", None),  # 1, later -1
        ("onnx.resize", "coordinate_transformation_mode", None),  # opset 10 behaves otherwise
        ("onnx.batchnormalization", "is_test", None),  # gone in newer versions
        ("onnx.gemm", "alpha", 1.0),
        ("onnx.lstm", "direction", "forward"),
    ],
)
def test_declared_defaults(name, attribute, default):
    """A default is declared only if it says the truth of an op of any version that lacks the attribute."""
    assert DIALECT.ops[name].attr(attribute).default == default


def test_defaults_to_write_out():
    """The importer writes out what a version's ops mean and the dialect does not declare."""
    assert attribute_defaults(defs.get_schema("Softmax", 11, "")) == {"axis": 1}
    assert attribute_defaults(defs.get_schema("Softmax", 13, "")) == {"axis": -1}
    assert attribute_defaults(defs.get_schema("Relu", 13, "")) == {}


def test_make_pads_what_is_absent():
    """`make` fills absent operands with onnx.novalue and absent results with none."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        kind = ir.Type.parse("tensor<4xf32>")
        weights: dict[str, np.ndarray] = {}
        with ir.InsertionPoint(module.body):
            value = constant(np.arange(4, dtype=np.float32), weights)
            clip = make("Clip", [value, None, value], {}, [kind])
            pool = make("MaxPool", [value], {"kernel_shape": [2]}, [kind])
            concat = make("Concat", [[value, value]], {"axis": 0}, [ir.Type.parse("tensor<8xf32>")])
            assert is_absent(absent())
        assert module.operation.verify()
        assert [is_absent(v) for v in clip.operands] == [False, True, False]
        assert is_absent(pool.results[1])
        assert len(Op.of(concat).group("inputs")) == 2
        np.testing.assert_array_equal(constant_value(value, weights), [0, 1, 2, 3])
        with pytest.raises(KeyError, match="Nope"):
            make("Nope", [])


def test_opset_without_an_import_is_the_newest():
    """Text written by hand, without onnx.opset_import, means the newest opset."""
    with new_context():
        module = ir.Module.parse(
            "func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> "
            "attributes {onnx.opset_import = {ai.onnx = 9 : i64}} {"
            ' %0 = "onnx.relu"(%x) : (tensor<1xf32>) -> tensor<1xf32> return %0 : tensor<1xf32> }'
        )
        relu = next(iter(module.body.operations[0].regions[0].blocks[0].operations))
        assert opset(relu) == 9
        assert opset(module.operation) == defs.onnx_opset_version()
