"""Each kind of bad input has one short error that says what, where and what to do."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt

Golden = Callable[[str, str], None]


def small(
    shape: list[int | str], op_type: str = "Relu", domain: str = "", **attributes: object
) -> onnx.ModelProto:
    """A model of one op from `x` to `y`."""
    node = helper.make_node(op_type, ["x"], ["y"], name="only", domain=domain, **attributes)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    imports = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    graph = helper.make_graph([node], "small", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def external(folder: Path, location: str) -> Path:
    """A model whose weight lies in the file `location`."""
    weight = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "64")):
        weight.external_data.add(key=key, value=value)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="only")
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4]) for name in "xy"]
    graph = helper.make_graph([node], "small", ends[:1], ends[1:], [weight])
    path = folder / "external.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )
    return path


def check(golden: Golden, name: str, kind: type[Exception], work: Callable[[], object], folder: Path) -> None:
    """`work` raises `kind`, its short report is the recorded one, and `folder` holds no new file."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(kind) as caught:
        work()
    assert type(caught.value) is kind
    report = "\n".join(caught.value._render_traceback_()).replace(str(folder), "FOLDER")
    assert len(report.splitlines()) <= 12
    golden(f"errors/{name}.txt", re.sub(r"onnx \d[\d.]+", "onnx VERSION", report))
    assert sorted(folder.rglob("*")) == before


LOADS = {
    "missing_file": (mt.SourceError, lambda folder: folder / "nothing.onnx"),
    "empty_file": (mt.InvalidModelError, lambda folder: _file(folder, b"")),
    "truncated_file": (
        mt.InvalidModelError,
        lambda folder: _file(folder, small([4]).SerializeToString()[:-9]),
    ),
    "other_format": (mt.InvalidModelError, lambda folder: _file(folder, b"\x89PNG\r\n\x1a\n" + bytes(100))),
    "rejected_by_the_checker": (mt.InvalidModelError, lambda folder: _file(folder, _twice_the_same_name())),
    "unknown_op": (mt.InvalidModelError, lambda folder: _file(folder, small([4], "Rleu").SerializeToString())),
    "unknown_domain": (
        mt.InvalidModelError,
        lambda folder: _file(folder, small([4], "Foo", "my.domain").SerializeToString()),
    ),
    "external_missing": (mt.ExternalDataError, lambda folder: external(folder, "weights.bin")),
    "external_outside": (mt.ExternalDataError, lambda folder: external(folder, "../weights.bin")),
}


def _file(folder: Path, content: bytes) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(content)
    return path


def _twice_the_same_name() -> bytes:
    model = small([4])
    model.graph.node.append(model.graph.node[0])
    return model.SerializeToString()


@pytest.mark.parametrize("name", LOADS)
def test_bad_models(golden: Golden, tmp_path: Path, name: str) -> None:
    """A model that cannot be read."""
    kind, make = LOADS[name]
    path = make(tmp_path)
    check(golden, name, kind, lambda: mt.load(path), tmp_path)


RANGE = ((1, 8), (2, 8), (4, 8))
COMPILES: dict[str, tuple[type[Exception], dict[str, object]]] = {
    "no_shapes": (mt.ShapeError, {}),
    "shapes_out_of_order": (mt.ShapeError, {"shapes": {"x": ((4, 8), (2, 8), (8, 8))}}),
    "shapes_of_another_rank": (mt.ShapeError, {"shapes": {"x": (4,)}}),
    "shapes_against_the_model": (mt.ShapeError, {"shapes": {"x": (4, 7)}}),
    "shapes_for_no_input": (mt.ShapeError, {"shapes": {"z": (4, 8)}}),
    "unknown_target": (mt.TargetError, {"shapes": {"x": RANGE}, "target": "sm98"}),
    "unknown_precision": (mt.PrecisionError, {"shapes": {"x": RANGE}, "precision": "fp61"}),
    "unknown_pass": (mt.OptionError, {"shapes": {"x": RANGE}, "pipeline": "fold-batchnorm"}),
}


def test_a_tensor_that_no_memory_holds() -> None:
    """A Plan of such a tensor has no size of it in its table, and its card and tables can be looked at."""
    plan = mt.compile(small([2**62, 2**62]))
    assert plan.memory["bytes"].isna().all()
    assert "small" in str(plan)


@pytest.mark.parametrize("name", COMPILES)
def test_bad_options(golden: Golden, tmp_path: Path, name: str) -> None:
    """A compilation that cannot be meant."""
    kind, options = COMPILES[name]
    program = mt.load(small(["batch", 8]))
    check(golden, name, kind, lambda: mt.compile(program, **options), tmp_path)


@pytest.fixture(scope="module")
def session() -> mt.Session:
    """A session whose input is f32 of (1 to 4) x 8."""
    return mt.compile(mt.load(small(["batch", 8])), shapes={"x": RANGE}).session("cpu")


CALLS: dict[str, Callable[[mt.Session], object]] = {
    "wrong_dtype": lambda session: session(np.ones((2, 8))),
    "wrong_rank": lambda session: session(np.ones(8, np.float32)),
    "wrong_shape": lambda session: session(np.ones((2, 7), np.float32)),
    "out_of_range": lambda session: session(np.ones((5, 8), np.float32)),
    "wrong_name": lambda session: session(z=np.ones((2, 8), np.float32)),
    "too_many": lambda session: session(np.ones((2, 8), np.float32), 1),
    "none": lambda session: session(),
}


@pytest.mark.parametrize("name", CALLS)
def test_bad_calls(golden: Golden, tmp_path: Path, session: mt.Session, name: str) -> None:
    """An array that the session does not take; the session works afterwards."""
    check(golden, f"call_{name}", mt.InputError, lambda: CALLS[name](session), tmp_path)
    x = np.full((2, 8), -1, np.float32)
    np.testing.assert_array_equal(session(x), np.zeros_like(x))


@pytest.mark.skipif("cuda" in mt.doctor().targets, reason="there is a GPU here")
def test_a_target_that_is_not_here(golden: Golden, tmp_path: Path) -> None:
    """Building for, or running on, a GPU that this machine does not have."""
    program = mt.load(small([1, 8]))
    check(golden, "no_gpu_to_build_for", mt.TargetError, lambda: mt.compile(program, "cuda"), tmp_path)
    plan = mt.compile(program, "sm89")
    check(golden, "no_gpu_to_run_on", mt.TargetError, lambda: plan.session("cuda"), tmp_path)


def test_bad_plan_files(golden: Golden, tmp_path: Path) -> None:
    """A .plan file that is missing, cut short, changed, or something else."""
    path = tmp_path / "small.plan"
    mt.compile(mt.load(small([1, 8]))).save(path)
    good = path.read_bytes()
    for name, content in {
        "plan_truncated": good[:-100],
        "plan_changed": good[:200] + bytes([good[200] ^ 1]) + good[201:],
        "plan_other_format": b"PK\x03\x04" + good,
        "plan_empty": b"",
    }.items():
        path.write_bytes(content)
        with pytest.raises(mt.PlanFileError) as caught:
            plan = mt.Plan.load(path)
            plan.session("cpu")
        report = str(caught.value).replace(str(tmp_path), "FOLDER")
        golden(f"errors/{name}.txt", re.sub(r"\b\d{3,}\b|\b[0-9a-f]{8}\b", "N", report))
    os.remove(path)
    check(golden, "plan_missing", mt.PlanFileError, lambda: mt.Plan.load(path), tmp_path)
