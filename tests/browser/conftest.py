"""A Chromium, and a JupyterLab of its own to open in it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.conftest import CHROMIUM

TOKEN = "test"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# JavaScript that gives each text in our outputs whose contrast is too low.
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


def rgb(colour: str) -> str:
    """`#rrggbb` as a browser's computed style spells it."""
    return "rgb({}, {}, {})".format(*(int(colour[n : n + 2], 16) for n in (1, 3, 5)))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """`open_page(url, scheme="light", width=1280, scripts=True)` gives a page in a context of its own."""
    contexts = []

    def open_(url: str, *, scheme: str = "light", width: int = 1280, scripts: bool = True) -> Page:
        context = browser.new_context(
            color_scheme=scheme,  # type: ignore[arg-type]
            viewport={"width": width, "height": 900},
            java_script_enabled=scripts,
        )
        contexts.append(context)
        page = context.new_page()
        page.goto(url)
        return page

    yield open_
    for context in contexts:
        context.close()


@dataclass
class Lab:
    """A running JupyterLab. `open(page_opener, cells)` makes a notebook of the cells and opens it."""

    url: str
    folder: Path
    settings: Path
    made: int = 0

    def notebook(self, *cells: str) -> str:
        """The address of a new notebook with these cells."""
        self.made += 1
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        name = f"page{self.made}.ipynb"
        nbformat.write(notebook, str(self.folder / name))
        return f"{self.url}/doc/tree/{name}?token={TOKEN}&reset"

    def theme(self, name: str) -> None:
        """Set the theme of pages opened from now on: "JupyterLab Light" or "JupyterLab Dark"."""
        self.setting("themes", {"theme": name})

    def setting(self, plugin: str, values: dict[str, str]) -> None:
        """Set what the settings editor would set."""
        file = self.settings / "@jupyterlab" / "apputils-extension" / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab on this machine's loopback, with settings and files of its own."""
    home = tmp_path_factory.mktemp("lab")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    found = Lab(f"http://127.0.0.1:{port}", home / "files", home / "settings")
    found.folder.mkdir()
    found.setting("notification", {"fetchNews": "false"})
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": found.folder,
        "IdentityProvider.token": TOKEN,
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.extension_manager": "readonly",
        "LabApp.open_browser": False,
    }
    folders = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": found.settings,
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "IPYTHONDIR": home / "ipython",
    }
    with open(home / "log.txt", "w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--allow-root", *(f"--{k}={v}" for k, v in options.items())],
            env={**os.environ, **{name: str(folder) for name, folder in folders.items()}},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(f"{found.url}/api?token={TOKEN}", server, home / "log.txt")
            yield found
        finally:
            # It asks its kernels to end and may wait for them; they end by themselves when it is gone.
            server.terminate()
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Until the server answers; a failure shows its log."""
    for _ in range(600):
        assert server.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())
