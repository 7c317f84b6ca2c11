"""Every reason for which TensorRT does not take an op has a cause and something to do about it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from onnx import parser

import mlirtrt_nb as mt
from mlirtrt_nb.reports import remedies
from mlirtrt_nb.reports.remedies import CAUSES, explain

PACKAGE = Path(mt.__file__).parent
# Reasons that are passed on from elsewhere, which is read too.
_PASSED_ON = {"{reason}"}
# What stands for the parts of a reason that are known only when it is given.
_FILLED = {
    "_enum_value": "kRELU",
    "rank": "9",
    "kind": "i16",
    "spelling": "i16",
    "declared": "tensor<4xf32>",
    "mode": "'wrap'",
    "refused": "training mode",
}


def _text(node: ast.expr) -> Iterator[str]:
    """The texts that an expression can give, with values put in for what is known only at run time."""
    if isinstance(node, ast.IfExp):
        yield from _text(node.body)
        yield from _text(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [
            [_value(part)] if isinstance(part, ast.FormattedValue) else list(_text(part))
            for part in node.values
        ]
        yield "".join(part[0] for part in parts)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        yield from (text.format("Foo", "my.domain") for text in _text(node.func.value))
    elif isinstance(node, ast.Name):
        yield f"{{{node.id}}}"


def _value(part: ast.FormattedValue) -> str:
    source = ast.unparse(part.value)
    return _FILLED.get(source, "4" if re.search("rank|axis|index|len|size|dim|k", source) else "x")


def _reasons() -> Iterator[str]:
    for path in sorted((PACKAGE / "passes" / "tensorrt" / "conversions").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refused":
                yield from _text(node.args[0])
    limits = PACKAGE / "dialects" / "tensorrt" / "limits.py"
    for node in ast.walk(ast.parse(limits.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Return) and node.value is not None:
            yield from _text(node.value)


REASONS = sorted({reason for reason in _reasons() if " " in reason} - _PASSED_ON)


def test_reasons_are_found() -> None:
    """The reasons are read from the sources, not from a list that could fall behind."""
    assert len(REASONS) > 100
    assert {"training mode", "no TensorRT layer for x", "antialias = 1", "negative padding"} <= set(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_has_a_remedy(reason: str) -> None:
    """No reason in the sources is left to the rule for those that nobody has thought of."""
    found = explain(reason)
    assert found is not remedies._UNKNOWN
    assert found.cause in CAUSES
    assert len(found.remedy) > 12 and "\\" not in found.remedy


def test_each_op_without_a_layer_has_a_remedy_of_its_own() -> None:
    """All of ONNX's ops that no conversion takes are listed with what does their work."""
    from mlirtrt_nb.dialects.onnx.schemas import versions
    from mlirtrt_nb.passes.tensorrt import onnx_to_tensorrt  # noqa: F401  (fills the table of converters)
    from mlirtrt_nb.passes.tensorrt.conversions.node import CONVERTERS

    without = {name for domain, name in versions() if not domain} - CONVERTERS.keys() - {"Constant"}
    assert len(without) > 20
    assert not without - remedies._BY_OP.keys()


def test_the_words_of_remedies(golden: Callable[[str, str], None]) -> None:
    """Reasons of each kind beside their causes and remedies, as users read them."""
    shown = [
        "no TensorRT layer for NonZero",
        "the builder implements no nms layer",
        "no TensorRT layer for Det",
        "op Foo of domain my.domain is not known",
        "in its body, nonzero: no TensorRT layer for NonZero",
        "element type i1 in activation kRELU; it takes bf16, f16, f32",
        "TensorRT has no element type f64",
        "a dynamic number of channels",
        "pads is not constant",
        "it reads a tensor whose shape has no known range: it depends on the data that onnx.nonzero reads",
        "coordinate_transformation_mode = 'tf_crop_and_resize'",
        "k = 5000; TensorRT has at most 3840",
        "training mode",
        "TensorRT refuses: IBuilder::buildSerializedNetwork: Error Code 4: Internal Error (no tactic)",
        "TensorRT refused it: Error Code 1: Myelin (Cannot compile operation 'fc': FP32 GEMM is not supported)",
        "its cluster is smaller than min-cluster-size",
        "Conv is kept by the option keep",
    ]
    lines = []
    for reason in shown:
        found = explain(reason)
        lines.append(f"{reason}\n  {found.cause}: {found.remedy}")
    golden("display/remedies.txt", "\n".join(lines))


def test_products_in_fp32_on_turing() -> None:
    """The product is what TensorRT refuses, its bias stays with it, and the remedy that is named is one."""
    ones = ", ".join("1" * 64)
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> main (float[4,8] x) => (float[4,8] y)
        <float[8,8] w = {{{ones}}}, float[8] b = {{1, 2, 3, 4, 5, 6, 7, 8}}> {{ y = Gemm(x, w, b) }}"""
    )
    table = mt.compile(model, "sm75", cache=False).fallbacks.set_index("op")
    assert "Cannot compile" in table.loc["tensorrt.matrix_multiply", "reason"]
    assert table.loc["tensorrt.element_wise", "reason"].startswith("it stays with the matrix product")
    assert all('precision="fp16"' in remedy for remedy in table["remedy"])
    assert mt.compile(model, "sm75", precision="fp16", cache=False).fallbacks.empty
