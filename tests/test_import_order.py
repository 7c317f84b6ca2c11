"""Imports point one way: magics -> widgets -> display, reports -> runtime -> ... -> ir."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "mlirtrt_nb"

# A module may import what stands in its own row or above it.
ROWS = [
    {"errors", "kind_name", "progress", "shown"},
    {"target_names"},
    {"ir"},
    {"files", "array_files", "memory", "native_output", "same_bytes", "weights"},
    {"worker"},
    {"activation_ranges"},
    {"precision"},
    {"program", "container"},
    {"dialects"},
    {"frontends"},
    {"profiles", "options"},
    {"passes"},
    {"engine"},
    {"targets", "diagnosis"},
    {"runtime"},
    {"build"},
    {"plan", "plan_file"},
    {
        "compilation",
        "entry_point",
        "fallbacks",
        "isolated_compilation",
        "isolated_run",
        "native",
        "calibration",
    },
    {"opt", "display", "reports"},
    {"numerics"},
    {"comparison"},
    {"widgets"},
    {"magics"},
    {"__init__", "__main__"},
]
RANK = {name: number for number, row in enumerate(ROWS) for name in row}

# Functions that may reach up, when they are called: what draws or tabulates the object itself.
DRAWING = {
    "__repr__",
    "__str__",
    "_repr_html_",
    "_repr_pretty_",
    "_repr_mimebundle_",
    "report",
    "to_html",
    "graph",
}


def test_every_module_has_a_row() -> None:
    """A new module or package must be given its place."""
    names = {
        path.stem if path.is_file() else path.name for path in PACKAGE.iterdir() if path.name != "py.typed"
    }
    assert names - {"__pycache__"} == RANK.keys()


def imports(path: Path) -> Iterator[tuple[str, str, bool]]:
    """(function it stands in or "", name of the package's module or package imported, whether at run time)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from _walk(tree, path, "", True)


def _walk(node: ast.AST, path: Path, function: str, runtime: bool) -> Iterator[tuple[str, str, bool]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = function or node.name
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        runtime = False
    if isinstance(node, ast.Import | ast.ImportFrom):
        for target in _targets(node, path):
            yield function, target, runtime
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, path, function, runtime)


def _targets(node: ast.Import | ast.ImportFrom, path: Path) -> list[str]:
    """Top names inside the package that an import statement names."""
    if isinstance(node, ast.Import):
        dotted = [alias.name for alias in node.names]
    else:
        parts = ["mlirtrt_nb", *path.relative_to(PACKAGE).parent.parts]
        base = parts[: len(parts) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        dotted = [f"{module}.{alias.name}" for alias in node.names] if module == "mlirtrt_nb" else [module]
    return [name.split(".")[1] for name in dotted if name.startswith("mlirtrt_nb.")]


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    """No module imports one of a higher row, but for drawing, and for types alone."""
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    wrong = [
        f"{function or 'module'} imports {target}"
        for function, target, runtime in imports(path)
        if runtime and RANK.get(target, -1) > RANK[own] and function not in DRAWING
    ]
    assert not wrong


def test_the_check_sees_relative_imports() -> None:
    """The reading of imports is itself right: a file with known imports gives them."""
    found = {(target, runtime) for _, target, runtime in imports(PACKAGE / "magics" / "compile.py")}
    assert {("options", True), ("magics", True), ("compilation", True), ("plan", False)} <= found
