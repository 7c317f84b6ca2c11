"""The set-up: dev.py, the lock files, the CI script and Binder's files."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCKS = ("lock.txt", "lock-test.txt")


@pytest.fixture
def dev() -> ModuleType:
    """dev.py as a module."""
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins(name: str) -> dict[str, list[Requirement]]:
    """Canonical name -> its pins (one for each group of Python versions)."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    found: dict[str, list[Requirement]] = {}
    for line in re.sub(r" \\\n +--hash=\S+", "", text).splitlines():
        requirement = Requirement(line)
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_is_exact_and_has_hashes(name: str) -> None:
    """The lock gives one version and at least one hash for each package, and no address of a registry."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if not entry.startswith("#")]
    for entry in entries:
        assert re.match(r"[\w.-]+==\S+", entry), entry[:60]
        assert "--hash=sha256:" in entry, entry[:60]
    assert "://" not in text


@pytest.mark.parametrize("name", LOCKS)
def test_torch_is_not_pinned(name: str) -> None:
    """torch is no dependency: what needs it asks for it."""
    assert not {"torch", "tensorrt", "jax"} & pins(name).keys()


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_lock_has_all_that_the_project_asks_for(version: str) -> None:
    """For each Python version there is one pin of every dependency, within its range."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["rtx"], *extras["notebook"], *extras["test"][1:]]
    locked = pins("lock-test.txt")
    here = {"python_version": version, "python_full_version": f"{version}.8", "sys_platform": "linux"}
    for requirement in map(Requirement, wanted):
        entries = locked[canonicalize_name(requirement.name)]
        fitting = [entry for entry in entries if entry.marker is None or entry.marker.evaluate(here)]
        assert len(fitting) == 1, requirement
        assert next(iter(fitting[0].specifier)).version in requirement.specifier, requirement


def test_the_test_lock_extends_the_run_lock() -> None:
    """An environment for tests has the very versions that users get."""
    run, test = pins("lock.txt"), pins("lock-test.txt")
    for name, entries in run.items():
        assert {str(entry.specifier) for entry in entries} == {str(entry.specifier) for entry in test[name]}, (
            name
        )


def test_old_pythons_are_told(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that is too old is answered with the versions that will do."""
    monkeypatch.setattr(dev.sys, "version_info", (3, 10, 1))
    assert "Python 3.11 to 3.14 is needed" in dev._python_problem()
    monkeypatch.setattr(dev.sys, "version_info", (3, 15, 0))
    assert dev._python_problem()
    monkeypatch.setattr(dev.sys, "version_info", (3, 14, 0))
    assert dev._python_problem() is None


def test_a_failed_install_says_what_to_do(dev: ModuleType) -> None:
    """Where pip fails, its last lines are shown with advice; nothing is marked as installed."""
    command = [sys.executable, "-c", "print('no route to host'); raise SystemExit(1)"]
    with pytest.raises(dev.SetupFailed) as caught:
        dev._run_setup(command, dev._PIP_ADVICE)
    assert "no route to host" in str(caught.value)
    assert "HTTPS_PROXY" in str(caught.value)


def test_the_environment_is_made_anew_when_a_pin_changes(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The fingerprint depends on the lock's content and on which lock it is."""
    lock = tmp_path / "lock.txt"
    lock.write_text("a==1\n")
    monkeypatch.setattr(dev, "LOCKS", {"run": lock, "test": lock})
    before = dev._fingerprint("run")
    assert dev._fingerprint("test") != before
    lock.write_text("a==2\n")
    assert dev._fingerprint("run") != before


@pytest.mark.parametrize("command", ["demo", "test", "lab", "bench", "lint"])
def test_commands_are_documented(dev: ModuleType, command: str) -> None:
    """Each promised command exists and is in the help."""
    assert command in dev.COMMANDS
    assert f"python3 dev.py {command}" in dev.__doc__


def test_an_unknown_command() -> None:
    """An unknown command is a usage error that lists those there are."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "dev.py"), "tset"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "demo" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("script", [".ci/run", "binder/postBuild"])
def test_scripts_are_executable_bash(script: str) -> None:
    """The scripts can be run, and bash can parse them."""
    path = ROOT / script
    assert os.access(path, os.X_OK)
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_binder_installs_the_lock() -> None:
    """Binder takes the run lock, on a Python that the project supports."""
    reference = (ROOT / "binder/requirements.txt").read_text().strip().removeprefix("-r ")
    assert (ROOT / "binder" / reference).resolve() == ROOT / "requirements" / "lock.txt"
    assert (ROOT / "binder/runtime.txt").read_text().strip() in {f"python-3.{minor}" for minor in (11, 12, 13)}


def test_without_a_browser_the_closing_lines_say_so() -> None:
    """Where there is no Chromium, its tests are skipped and the run ends with how to get it."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/browser", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env={**os.environ, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    closing = done.stdout.strip().splitlines()[-3:]
    assert any(re.search(r"left out \d+ browser tests: .*apt-get install chromium", line) for line in closing)
    assert re.search(r"\d+ skipped", closing[-1])


def test_a_fresh_clone_is_complete(tmp_path: Path) -> None:
    """Every module of the package can be imported from a clone: nothing needed lies only in the work tree."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth", "1", ROOT.as_uri(), str(clone)], check=True)
    code = (
        "import importlib, pkgutil, mlirtrt_nb\n"
        "for entry in pkgutil.walk_packages(mlirtrt_nb.__path__, 'mlirtrt_nb.'):\n"
        "    if not entry.name.endswith('__main__'): importlib.import_module(entry.name)\n"
        "print(mlirtrt_nb.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(clone)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().startswith(str(clone))
