"""Run a notebook from the top and write it as HTML.

    python -m notebooks.run 01_quickstart

Prints the text of the cells tagged "terminal", and where the page was written.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

__all__ = ["FOLDER", "execute", "to_html"]

# What nbconvert has every page load from a network, for formulas and widgets, which these have none of.
_SCRIPTS = ("mathjax_url", "require_js_url", "jquery_url", "widget_renderer_url")
_NO_SCRIPT = re.compile(r'<script src="">\s*</script>')  # what is left of one without an address
_SCHEMES = '<meta name="color-scheme" content="light dark">'
_SAYS_LIGHT = re.compile(r' data-jp-theme-(?:light|name)="[^"]*" data-jp-theme-(?:light|name)="[^"]*"')
FOLDER = Path(__file__).resolve().parent


def execute(path: Path, *, timeout: int = 300) -> nbformat.NotebookNode:
    """Run every cell of the notebook at `path` in a fresh kernel, in the notebook's folder.

    Raises CellExecutionError for a cell that fails without the tag "raises-exception".
    """
    notebook = nbformat.read(str(path), as_version=4)
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        # A widget in a page has no kernel; without its state the static HTML beside it is shown.
        store_widget_state=False,
        # A kernel warns that its ports on this machine are not encrypted, above all that a reader came for.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )
    client.execute()
    return notebook


def to_html(notebook: nbformat.NotebookNode, path: Path, *, theme: str = "auto") -> None:
    """Write an executed notebook as one HTML page that loads nothing from elsewhere: "light", "dark", or as the
    reader's system has it ("auto")."""
    fixed = "light" if theme == "auto" else theme
    exporter = HTMLExporter(theme=fixed, embed_images=True, **dict.fromkeys(_SCRIPTS, ""))
    body, _ = exporter.from_notebook_node(notebook)
    if theme == "auto":
        body = _following(body, exporter)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_NO_SCRIPT.sub("", body), encoding="utf-8")


def _following(body: str, exporter: HTMLExporter) -> str:
    """A light page with the dark theme's colours beside its own, which no longer says that it is light."""
    environment = exporter.environment
    dark, _, _ = environment.loader.get_source(environment, "static/theme-dark.css")
    style = f"{_SCHEMES}<style>@media(prefers-color-scheme:dark){{{dark}}}</style>"
    head, end, rest = body.partition("</head>")
    return f"{head}{style}{end}{_SAYS_LIGHT.sub('', rest, count=1)}"


def _terminal_text(notebook: nbformat.NotebookNode) -> list[str]:
    """The text of every output of the cells tagged "terminal"."""
    texts = []
    for cell in notebook.cells:
        if "terminal" in cell.metadata.get("tags", []):
            texts += [output.text for output in cell.outputs if output.output_type == "stream"]
            texts += [output.data["text/plain"] for output in cell.outputs if "data" in output]
    return [text.rstrip() for text in texts]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a notebook and write it as HTML.")
    parser.add_argument("name", choices=sorted(path.stem for path in FOLDER.glob("*.ipynb")), metavar="NAME")
    parser.add_argument("--output", type=Path, default=FOLDER.parent / "build", help="folder of the page")
    parser.add_argument(
        "--theme",
        default="auto",
        choices=("auto", "light", "dark"),
        help="of the page; by default the reader's",
    )
    arguments = parser.parse_args()
    started = time.perf_counter()
    try:
        notebook = execute(FOLDER / f"{arguments.name}.ipynb")
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    page = arguments.output / f"{arguments.name}.html"
    to_html(notebook, page, theme=arguments.theme)
    print("\n\n".join(_terminal_text(notebook)))
    print(f"\n{arguments.name} ran in {time.perf_counter() - started:.0f} s; the page is {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
