"""Fixtures for every test, and what the closing lines say was left out."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what tests/golden should hold")


# These call passes and compile thousands of times; the rest run as users do, in the worker process.
IN_PROCESS = (
    "conformance",
    "unit/engine/host",
    "unit/frontends",
    "unit/passes/input",
    "unit/passes/tensorrt",
    "unit/widgets",
)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture: whether this test's work goes to the worker."""
    path = item.path.relative_to(Path(__file__).parent).as_posix()
    os.environ["MLIRTRT_NB_ISOLATE"] = "0" if path.startswith(IN_PROCESS) else "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is None:
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason="no Chromium"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    browser = sum("browser" in report.keywords for report in skipped)
    gpu = sum("gpu" in report.keywords for report in skipped)
    if browser and CHROMIUM is None:
        terminalreporter.write_line(
            f"left out {browser} browser tests: no Chromium here; on Debian: apt-get install chromium"
        )
    if gpu:
        terminalreporter.write_line(f"left out {gpu} GPU tests: they need an NVIDIA GPU and its driver")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` asserts that `text` is what tests/golden/`name` holds."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no {path}; run pytest --update-golden and look at what it writes"
        assert text == path.read_text(encoding="utf-8")

    return check


def pytest_configure() -> None:
    """Let an interrupt stop the tests, and reach those of the stop button: what a shell starts in the
    background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
