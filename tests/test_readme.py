"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.__main__ import main
from models.fetch import model, sample

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md"))),
)
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The README's code blocks of a language ("" for none)."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def test_the_first_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python at the top runs as it stands on a model with that input."""
    (tmp_path / "model.onnx").symlink_to(model("PP-OCRv6_rec_small"))
    monkeypatch.chdir(tmp_path)
    variables = {"x": sample("PP-OCRv6_rec_small")["x"]}
    exec(blocks("python")[0], variables)
    assert isinstance(variables["y"], np.ndarray)
    assert len(variables["plan"].layers.query("target == 'sm89'"))
    assert (tmp_path / "model.plan").exists()


def test_the_error_that_is_shown() -> None:
    """The mistake in the README gives the very message that it shows."""
    shown = next(block for block in blocks("") if block.startswith("ParseError"))
    line = shown.splitlines()[2].strip()
    cell = (
        f"\nfunc.func @main(%x: tensor<4xf32>) -> tensor<4xf16> {{\n  {line}\n  return %0 : tensor<4xf16>\n}}\n"
    )
    with pytest.raises(mt.ParseError) as caught:
        mt.from_mlir(cell)
    assert caught.value._render_traceback_() == [shown.rstrip("\n")]


def test_commands_of_the_shell_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command that is named has a help."""
    named = re.search(r"python -m mlirtrt_nb ([a-z|]+)", README)
    assert named is not None
    for command in named[1].split("|"):
        with pytest.raises(SystemExit) as done:
            main([command, "--help"])
        assert done.value.code == 0
        assert command in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Every relative link names a file of the repository."""
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    missing = [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_exist(page: str) -> None:
    """A path in code marks that looks like one of this repository is there."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|models|mlirtrt_nb|docs|notebooks|requirements)/[\w./-]*)`", text)
    missing = [path for path in named if not (ROOT / path).exists()]
    assert not missing
