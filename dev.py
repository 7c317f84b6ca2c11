#!/usr/bin/env python3
"""Set up this project and work on it, with nothing but Python 3.11 or newer.

    python3 dev.py demo     run the quickstart notebook on a real model; print its tables, write it as HTML
    python3 dev.py test     run every test (further arguments go to pytest)
    python3 dev.py lab      open JupyterLab on notebooks/
    python3 dev.py bench    run the benchmarks (further arguments go to benchmarks/)
    python3 dev.py lint     run ruff and mypy
    python3 dev.py models   make or unpack the real models (names, or none to list them)

The first run makes .venv and installs what requirements/ pins; later runs reuse it until a pin changes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
OLDEST, NEWEST = (3, 11), (3, 14)
# Test pins are the run pins and more, so an environment for tests serves every command.
LOCKS = {"run": ROOT / "requirements" / "lock.txt", "test": ROOT / "requirements" / "lock-test.txt"}


def main() -> int:
    arguments, rest = _parser().parse_known_args()
    problem = _python_problem()
    if problem:
        return _fail(problem)
    try:
        return COMMANDS[arguments.command](rest)
    except SetupFailed as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dev.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=sorted(COMMANDS), metavar="|".join(COMMANDS))
    return parser


def _fail(message: str) -> int:
    print(f"dev.py: {message}", file=sys.stderr)
    return 2


def _python_problem() -> str | None:
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return None
    versions = " to ".join(".".join(map(str, version)) for version in (OLDEST, NEWEST))
    newer = next((name for name in _other_pythons() if shutil.which(name)), None)
    advice = f"run: {newer} dev.py {' '.join(sys.argv[1:])}" if newer else "install one and run it with that"
    return f"this is Python {sys.version.split()[0]}; Python {versions} is needed. Hint: {advice}"


def _other_pythons() -> list[str]:
    return [f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]


# --- the environment ---------------------------------------------------------------------------------


class SetupFailed(Exception):
    """The environment could not be made; the message says what to do."""


def environment(kind: str) -> Path:
    """The Python of `.venv`, made or brought up to date for `kind` ("run" or "test") first."""
    python = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    marker = VENV / ".installed"
    found = marker.read_text(encoding="utf-8").split() if marker.exists() and python.exists() else []
    version = platform.python_version()
    if found in ([version, _fingerprint("test")], [version, _fingerprint(kind)]):
        return python
    print(f"dev.py: setting up .venv ({kind}); this happens once and takes a minute or two", flush=True)
    marker.unlink(missing_ok=True)
    if found[:1] != [version]:
        # Of another Python version, or left half made.
        _run_setup([sys.executable, "-m", "venv", "--clear", str(VENV)], _VENV_ADVICE)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"]
    # The lock is complete, so pip need not resolve; bytecode comes with the first import of what is used.
    pinned = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile", "-r", str(LOCKS[kind])]
    _run_setup([*pip, *pinned], _PIP_ADVICE)
    _run_setup([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], _PIP_ADVICE)
    marker.write_text(f"{version} {_fingerprint(kind)}", encoding="utf-8")
    return python


_VENV_ADVICE = "Python's venv module did not work; on Debian and Ubuntu: apt-get install python3-venv"
_PIP_ADVICE = (
    "pip could not install the pinned packages. If the lines above speak of the network, check the "
    "connection or a proxy (HTTPS_PROXY, or PIP_INDEX_URL for a mirror), then run the same command again"
)


def _fingerprint(kind: str) -> str:
    """Changes when the pins or the project's metadata do; settings of tools do not count."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    digest = hashlib.sha256(json.dumps(project, sort_keys=True).encode())
    digest.update(LOCKS[kind].read_bytes())
    return f"{kind}-{digest.hexdigest()}"


def _run_setup(command: list[str], advice: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        tail = "\n".join(done.stdout.strip().splitlines()[-12:])
        raise SetupFailed(f"{' '.join(command[1:4])} failed:\n{tail}\nHint: {advice}")


def _run(python: Path, *arguments: str) -> int:
    """Run `.venv`'s Python in the project's folder and give its exit code."""
    # The folder of scripts comes first on PATH, so that notebooks and tools find this environment's.
    path = os.pathsep.join([str(python.parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path}
    # Many containers set it. Each kernel and each worker would then compile every module that it imports anew.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run([str(python), *arguments], cwd=ROOT, env=environment).returncode


# --- the commands ------------------------------------------------------------------------------------


def demo(rest: list[str]) -> int:
    """Run the quickstart notebook."""
    return _run(environment("run"), "-m", "notebooks.run", "01_quickstart", *rest)


def test(rest: list[str]) -> int:
    """Run every test."""
    return _run(environment("test"), "-m", "pytest", *rest)


def lab(rest: list[str]) -> int:
    """Open JupyterLab."""
    return _run(environment("run"), "-m", "jupyterlab", "notebooks", *rest)


def bench(rest: list[str]) -> int:
    """Run the benchmarks."""
    return _run(environment("test"), "-m", "benchmarks", *rest)


def lint(rest: list[str]) -> int:
    """Run ruff and mypy; the exit code is the first that is not zero."""
    python = environment("test")
    checks = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"])
    codes = [_run(python, "-m", *check, *rest) for check in checks]
    return next((code for code in codes if code), 0)


def models(rest: list[str]) -> int:
    """Make or unpack the real models."""
    return _run(environment("run"), "-m", "models.fetch", *rest)


COMMANDS = {"demo": demo, "test": test, "lab": lab, "bench": bench, "lint": lint, "models": models}

if __name__ == "__main__":
    sys.exit(main())
