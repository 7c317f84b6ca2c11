"""Paths that cannot be, and what must not be opened or replaced."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt
from mlirtrt_nb import container
from mlirtrt_nb.errors import OptionError, PlanFileError, SourceError
from tests.unit.runtime.plans import three_steps


@pytest.mark.parametrize("path", ["", "a\0b.plan", None, 5, b"x.plan"])
def test_no_path(path: object) -> None:
    """Saving and loading name what is wrong with a path that cannot be one."""
    with pytest.raises(PlanFileError, match="path"):
        three_steps().save(path)  # type: ignore[arg-type]
    with pytest.raises(PlanFileError, match="path"):
        mt.Plan.load(path)  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", [".onnx", ".mlir", ".anything", ""])
def test_load_of_no_path(suffix: str) -> None:
    """The frontends refuse a NUL and a name that no file system takes."""
    with pytest.raises(SourceError, match="NUL"):
        mt.load(f"a\0b{suffix}")
    with pytest.raises(SourceError, match="File name too long"):
        mt.load("a" * 5000 + suffix)


@pytest.fixture(params=["pipe.onnx", "pipe.mlir", "pipe.plan"])
def pipe(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    os.mkfifo(path)
    return path


def test_a_pipe_is_not_waited_for(pipe: Path) -> None:
    """Loading from a pipe is an error at once: to open one would wait for a writer."""
    load = mt.Plan.load if pipe.suffix == ".plan" else mt.load
    with pytest.raises((SourceError, PlanFileError), match="it is a device or a pipe, not a file"):
        load(pipe)


def test_a_pipe_is_not_replaced(pipe: Path) -> None:
    """Saving renames a new file over the old one; a device or a pipe must not be lost that way."""
    with pytest.raises(PlanFileError, match="it is a device or a pipe, not a file"):
        container.write(pipe, container.PLAN, {}, {})
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(pipe.parent) == [pipe.name]


def test_a_partial_file_of_a_killed_process_does_not_matter(tmp_path: Path) -> None:
    """In a container every process may have the same number: what one left must not stop the next."""
    (tmp_path / f".x.plan.{os.getpid()}.part").write_bytes(b"left")
    container.write(tmp_path / "x.plan", container.PLAN, {"a": 1}, {})
    assert container.read(tmp_path / "x.plan", container.PLAN).meta == {"a": 1}


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    """A file of 255 bytes of name is written, though its partial file has a name too."""
    target = tmp_path / ("模" * 83 + ".plan")
    container.write(target, container.PLAN, {}, {})
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    """Saving to a symbolic link replaces the file that it leads to, not the link."""
    link = tmp_path / "link.plan"
    link.symlink_to(tmp_path / "file.plan")
    container.write(link, container.PLAN, {"a": 1}, {})
    assert link.is_symlink() and container.read(tmp_path / "file.plan", container.PLAN).meta == {"a": 1}


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A write that is cut short is one error; what was there stays, and nothing is left beside it."""
    from mlirtrt_nb.files import write_text

    target = tmp_path / "x.txt"
    write_text(target, "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OptionError, match=r"cannot write .*x.txt: File too large"):
            write_text(target, "new" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert target.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_text_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """Some editors write one; text that is no UTF-8 is an error."""
    file = tmp_path / "m.mlir"
    file.write_bytes(b"\xef\xbb\xbffunc.func @main() { return }")
    assert mt.load(file).name == "m"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="not UTF-8"):
        mt.load(file)


def test_saved_programs_and_plans(tmp_path: Path) -> None:
    """`load` opens a saved Program whatever its file is called, and says what a Plan is."""
    mt.load("func.func @main() {\n return }", name="empty").save(tmp_path / "p.any")
    assert mt.load(tmp_path / "p.any").name == "empty"
    three_steps().save(tmp_path / "three.plan")
    with pytest.raises(SourceError, match=r"holds a Plan.*\n  hint: mt.Plan.load opens it"):
        mt.load(tmp_path / "three.plan")


def _adding(path: Path, weights: np.ndarray) -> None:
    """Write a model that adds `weights`, over what is there."""
    node = helper.make_node("Add", ["x", "w"], ["y"])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, weights.shape) for name in ("x", "y")]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.mark.parametrize("size", [4096, 16])
def test_a_model_that_is_written_over(tmp_path: Path, size: int) -> None:
    """Its program is refused, where it would have the new weights, or end the process for want of any."""
    path = tmp_path / "model.onnx"
    _adding(path, np.ones(4096, np.float32))
    program, plan = mt.load(path), mt.compile(path, "cpu", cache=False)
    assert plan.session("cpu")(np.zeros(4096, np.float32))[0] == 1
    _adding(path, np.full(size, 2, np.float32))
    attempts: list[Callable[[], object]] = [
        lambda: mt.compile(program, "cpu"),
        lambda: mt.compile(program, "cpu", isolate=False),
        lambda: mt.Pipeline.default("cpu").run(program),
        lambda: mt.ranges(program),
        lambda: program.save(tmp_path / "saved"),
    ]
    if plan.weights:  # of a Plan that has taken them over
        attempts += [lambda: plan.session("cpu"), lambda: plan.save(tmp_path / "saved.plan")]
    for attempt in attempts:
        with pytest.raises(SourceError, match=r"model\.onnx was written to since it was loaded") as raised:
            attempt()
        assert raised.value.hint is not None and raised.value.hint.startswith("load it again")
    assert list(tmp_path.iterdir()) == [path]
    assert mt.compile(path, "cpu").session("cpu")(np.zeros(size, np.float32))[0] == 2


def test_a_plan_and_a_program_that_are_copied_over(tmp_path: Path) -> None:
    """What was loaded of them is refused; a Plan that is saved again is a new file, and leaves it as it was."""
    path, program_path = tmp_path / "add.plan", tmp_path / "add.program"
    _adding(tmp_path / "model.onnx", np.ones(4096, np.float32))
    mt.compile(tmp_path / "model.onnx", "cpu", cache=False).save(path)
    mt.load(tmp_path / "model.onnx").save(program_path)
    plan, program = mt.Plan.load(path), mt.Program.load(program_path)
    mt.Plan.load(path).save(path)
    x = np.zeros(4096, np.float32)
    assert plan.session("cpu")(x)[0] == 1
    plan = mt.Plan.load(path)
    for written in (path, program_path):
        written.write_bytes(written.read_bytes()[:100])
    for attempt in (lambda: plan.session("cpu"), lambda: mt.compile(program, "cpu")):
        with pytest.raises(SourceError, match="was written to since it was loaded"):
            attempt()


def test_a_model_that_is_replaced(tmp_path: Path) -> None:
    """A new file under the old name leaves the program of the old one as it was."""
    path = tmp_path / "model.onnx"
    _adding(path, np.ones(4096, np.float32))
    program = mt.load(path)
    _adding(tmp_path / "new.onnx", np.full(4096, 2, np.float32))
    os.replace(tmp_path / "new.onnx", path)
    assert mt.compile(program, "cpu", cache=False).session("cpu")(np.zeros(4096, np.float32))[0] == 1
