"""What the pages of docs/ show can be typed: each page's Python runs from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt

DOCS = Path(__file__).parent.parent / "docs"


def blocks(page: Path, language: str) -> list[str]:
    """The page's code blocks of a language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


PAGES = sorted(page.name for page in DOCS.glob("*.md") if blocks(page, "python"))


def network(*sizes: int | str) -> onnx.ModelProto:
    """Three convolutions of 8 channels and a classifier of 10, for images of these sizes."""
    rng = np.random.default_rng(0)
    weights = {f"w{n}": rng.standard_normal((8, 3 if n == 1 else 8, 3, 3)) / 5 for n in (1, 2, 3)}
    weights["head"] = rng.standard_normal((8, 10))
    nodes, last = [], "x"
    for n in (1, 2, 3):
        conv = helper.make_node("Conv", [last, f"w{n}"], [f"c{n}"], f"/layer{n}/Conv", pads=[1, 1, 1, 1])
        nodes += [conv, helper.make_node("Relu", [f"c{n}"], [f"r{n}"], f"/layer{n}/Relu")]
        last = f"r{n}"
    nodes += [
        helper.make_node("GlobalAveragePool", [last], ["pooled"], "/pool"),
        helper.make_node("Flatten", ["pooled"], ["flat"], "/flatten"),
        helper.make_node("MatMul", ["flat", "head"], ["y"], "/head/MatMul"),
    ]
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, *sizes])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `model.onnx` in the folder, and a program, a plan and samples at hand, no block raises."""
    monkeypatch.chdir(tmp_path)
    onnx.save(network("height", "width"), "model.onnx")
    program = mt.load(network(8, 8))
    rng = np.random.default_rng(1)
    samples = [{"x": rng.standard_normal((1, 3, 8, 8), dtype=np.float32)} for _ in range(2)]
    vectors = rng.standard_normal((2, 4), dtype=np.float32)
    variables = {
        "mt": mt,
        "program": program,
        "plan": mt.compile(program, target=["cpu", "sm89"]),
        "samples": samples,
        "loader": samples,
        "x": vectors[0],
        "y": vectors[1],
    }
    for block in blocks(DOCS / page, "python"):
        exec(block, variables)


def test_the_access_out_of_bounds_that_is_shown() -> None:
    """The mistake on the page about the host gives the very message that it shows."""
    (shown,) = re.findall(
        r"^```\n(InputError.*?)^```$", (DOCS / "host.md").read_text(), re.MULTILINE | re.DOTALL
    )
    line = shown.splitlines()[2].strip()
    program = mt.from_mlir(
        f"\nfunc.func @pick(%x: tensor<?xf32>, %i: index) -> f32 {{\n  {line}\n  return %e : f32\n}}\n"
    )
    with pytest.raises(mt.InputError) as caught:
        mt.run(program, np.zeros(4, np.float32), 4)
    assert caught.value._render_traceback_() == [shown.rstrip("\n")]


def test_each_folder_is_on_the_map() -> None:
    """The page about the architecture says of every folder of the package what is in it."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("| folder |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines()[2:])))
    folders = {path.parent.name for path in Path(mt.__file__).parent.glob("*/__init__.py")}
    assert named == folders
