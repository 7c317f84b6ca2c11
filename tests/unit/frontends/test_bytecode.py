"""StableHLO in every form that it is kept in, and MLIR bytecode of any dialect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import InvalidModelError, ParseError, SourceError, VerificationError

TEXT = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %w = stablehlo.constant dense_resource<w> : tensor<4xf32>
  %0 = stablehlo.add %a, %w : tensor<4xf32>
  %1 = chlo.sinh %0 : tensor<4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
{-# dialect_resources: { builtin: { w: "0x04000000000000000000803F0000004000004040" } } #-}
"""
CHLO = "chlo.sinh %0 : tensor<4xf32> -> tensor<4xf32>"
PORTABLE = TEXT.replace(CHLO, "stablehlo.sine %0 : tensor<4xf32>").replace(
    "dense_resource<w>", "dense<[0.0, 1.0, 2.0, 3.0]>"
)
X = np.ones(4, "f4")
WANTED = np.sinh(X + np.arange(4, dtype="f4"))


@pytest.fixture(scope="module")
def forms() -> dict[str, bytes]:
    """The same program as MLIR writes it in bytecode, and as a portable artifact, which has neither chlo
    nor resources."""
    import io

    from torch_mlir import ir
    from torch_mlir._mlir_libs import _stablehlo

    from mlirtrt_nb.ir.context import load_chlo, new_context

    context = new_context()
    load_chlo(context)
    with context:
        buffer = io.BytesIO()
        ir.Module.parse(TEXT).operation.write_bytecode(buffer)
    with new_context():
        plain = ir.Module.parse(PORTABLE)
        artifact = _stablehlo.serialize_portable_artifact(plain, _stablehlo.get_minimum_version())
    return {"bytecode": buffer.getvalue(), "artifact": artifact}


def test_text() -> None:
    """Text with its resources."""
    np.testing.assert_allclose(mt.run(mt.from_stablehlo(TEXT, name="t"), X), WANTED, 1e-5)


@pytest.mark.parametrize("form", ["bytecode", "artifact"])
def test_bytes_and_files(forms: dict[str, bytes], form: str, tmp_path: Path) -> None:
    """Weights come along; the suffix may be either, and `mt.load` takes all of it."""
    path = tmp_path / "net.stablehlo"
    path.write_bytes(forms[form])
    (tmp_path / "net.mlirbc").write_bytes(forms[form])
    wanted = WANTED if form == "bytecode" else np.sin(X + np.arange(4, dtype="f4"))
    programs = [
        mt.from_stablehlo(forms[form]),
        mt.from_stablehlo(path),
        mt.load(path),
        mt.load(tmp_path / "net.mlirbc"),
        mt.load(forms[form]),
    ]
    for program in programs:
        for weight in program.weights.values():
            np.testing.assert_array_equal(weight, np.arange(4))
        assert len(program.weights) == (form == "bytecode")
        np.testing.assert_allclose(mt.run(program, X), wanted, 1e-5)
    assert [program.name for program in programs] == ["program", "net", "net", "net", "program"]


def test_a_text_file(tmp_path: Path) -> None:
    """A .stablehlo file may hold text, and errors name it."""
    path = tmp_path / "net.stablehlo"
    path.write_text(TEXT)
    np.testing.assert_allclose(mt.run(mt.load(path), X), WANTED, 1e-5)
    path.write_text(TEXT.replace("stablehlo.add", "stablehlo.ad"))
    with pytest.raises(ParseError, match=r"net\.stablehlo:3"):
        mt.from_stablehlo(path)


def test_what_cannot_be_read(
    forms: dict[str, bytes], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Damaged, cut off, of a newer version, of another kind: one message each, and nothing on the terminal."""
    good = forms["artifact"]
    for data in (good[:40], good[:4] + b"\xff" * 40, forms["bytecode"][:100], b"ML\xefR"):
        with pytest.raises(InvalidModelError, match=r"<bytes> cannot be read: \w+"):
            mt.from_stablehlo(data)
    for data in (b"", b"hello"):
        with pytest.raises(InvalidModelError, match="is not MLIR bytecode"):
            mt.from_stablehlo(data)
    with pytest.raises(SourceError, match="no such file"):
        mt.from_stablehlo(tmp_path / "missing.stablehlo")
    with pytest.raises(SourceError, match="takes text, bytes or a path, not an int"):
        mt.from_stablehlo(3)
    assert capfd.readouterr().err == ""


def test_rules_are_checked_in_bytecode() -> None:
    """What MLIR can read may still break a rule of the package's ops."""
    program = mt.from_mlir("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }""")
    from torch_mlir import ir

    from mlirtrt_nb.ir.bytecode import write_module

    assert "kRELU" in mt.load(write_module(program.module)).text()
    activation = next(iter(program.module.body.operations[0].regions[0].blocks[0].operations)).operation
    with program.context, ir.Location.unknown():
        activation.attributes["alpha"] = ir.FloatAttr.get(ir.F64Type.get(), 1.0)
    with pytest.raises(VerificationError):
        mt.load(write_module(program.module))


def test_bytes_of_other_things() -> None:
    """What bytes begin with is told apart from what bytecode begins with; an ONNX model is known by its own."""
    for data, hint in (
        (
            b"\x08\x08\x12\x00",
            "mt.load takes ONNX models; bytecode begins with the bytes 4D 4C EF 52, this with 08 08",
        ),
        (b"hello", "bytecode begins with the bytes 4D 4C EF 52, this with 68 65 6C 6C"),
        (b"", "bytecode begins with the bytes 4D 4C EF 52, this is empty"),
    ):
        with pytest.raises(InvalidModelError, match="is not MLIR bytecode") as caught:
            mt.from_stablehlo(data)
        assert (caught.value.hint or "").startswith(hint)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    """What lies beside it under a name like it is named."""
    (tmp_path / "step.mlir").touch()
    with pytest.raises(SourceError, match=r"near names: step\.mlir"):
        mt.from_stablehlo(tmp_path / "stap.mlir")
