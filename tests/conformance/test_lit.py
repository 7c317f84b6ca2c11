"""The lit-style files under lit/: each is run by the command line with the options of its first line."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from mlirtrt_nb.__main__ import main

FILES = sorted((Path(__file__).parent / "lit").glob("*.mlir"))
_RUN = "// RUN: opt "


def _words(path: Path) -> list[str]:
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith(_RUN)
    return ["opt", str(path), *shlex.split(first.removeprefix(_RUN))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors are those that its comments expect; what is printed, if anything, is the file's own text."""
    assert main(_words(path)) == 0, capsys.readouterr().err
    printed = capsys.readouterr().out
    own = path.read_text(encoding="utf-8").split("\n", 2)[2]
    assert printed == ("" if "--verify-diagnostics" in _words(path) else own)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.stem.startswith("round_trip")], ids=lambda path: path.stem
)
def test_generic_form_comes_back(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The generic form of a round-trip file, read again, is the same text in generic form."""
    texts = []
    source = shutil.copy(path, tmp_path / "source.mlir")
    for _ in range(2):
        assert main(["opt", str(source), "--split-input-file", "--generic"]) == 0
        texts.append(capsys.readouterr().out)
        source.write_text(texts[-1], encoding="utf-8")
    assert '"tensorrt.' in texts[0]
    assert texts[0] == texts[1]
