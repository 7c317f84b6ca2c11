"""Plans: their tables, their text, their files, and pickling."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.container import PLAN, Kind, read, write
from mlirtrt_nb.errors import InvalidModelError, PlanFileError
from mlirtrt_nb.plan import Plan
from mlirtrt_nb.program import Program
from tests.unit.runtime.plans import SHAPE, WEIGHT, dynamic, expected_three, three_steps

X = np.random.default_rng(1).standard_normal(SHAPE, dtype=np.float32)


def _check_runs(plan: Plan) -> None:
    y, s = plan.session("cpu", threads=1)(X)
    np.testing.assert_allclose(y, expected_three(X)[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(s, expected_three(X)[1], rtol=1e-6, atol=1e-6)


def test_only_weights_in_use_are_kept_and_not_copied() -> None:
    """A Plan keeps the arrays that its engines name, as the objects they were."""
    plan = three_steps()
    assert set(plan.weights) == {"w", "one"}
    assert plan.weights["w"] is WEIGHT


def test_signature() -> None:
    """Inputs and outputs are those of the program, with names for the dimensions that have them."""
    assert [str(spec) for spec in three_steps().inputs] == ["x: 4x8xf32"]
    assert [str(spec) for spec in dynamic().inputs] == ["x: batchx8xf32", "z: batchx8xf32"]
    assert [str(spec) for spec in dynamic().outputs] == ["y: ?x8xf32"]
    assert three_steps(("cpu", "cuda")).targets == ("cpu", "sm89")


def test_engines_and_layers() -> None:
    """One row per engine and one per layer, whose sources are lists; what is not known is NA."""
    plan = three_steps()
    engines = plan.engines
    assert list(engines.columns[:6]) == [
        "engine", "target", "layers", "weights_bytes", "activation_bytes", "build_seconds",
    ]  # fmt: skip
    assert list(engines["engine"]) == ["trt_engines::main_0", "host_0", "trt_engines::main_1"]
    assert list(engines["layers"]) == [2, 2, 1]
    assert engines["weights_bytes"].isna().all() and engines["weights_bytes"].dtype == "Int64"
    layers = plan.layers
    assert list(layers["layer"]) == ["MatMul_0", "Relu_1", "Sub_0", "Sqrt_1", "Abs_0"]
    assert layers["sources"].iloc[0] == ["MatMul_0"]


def test_memory() -> None:
    """One row per buffer with its place and lifetime; the caller's memory has no place."""
    memory = three_steps().memory
    assert list(memory.columns[:6]) == ["buffer", "offset", "bytes", "space", "first_use", "last_use"]
    rows = memory.set_index("buffer")
    assert list(rows.index) == ["x", "main_0", "host_0.0", "s", "y"]
    assert rows.loc["main_0", ["bytes", "first_use", "last_use"]].tolist() == [128, 0, 1]
    assert rows["offset"].isna().tolist() == [True, False, False, True, True]
    assert rows["bytes"].tolist() == [128] * 5
    assert dynamic().memory["bytes"].isna().all()


def test_fallbacks_and_timeline() -> None:
    """What TensorRT did not take, and the steps of each program in order."""
    plan = three_steps(("cpu", "cuda"))
    (row,) = plan.fallbacks.to_dict("records")
    told = {"op": "onnx.Sub", "count": 1, "reason": "a reason", "location": "node_host_0", "backend": "onnx"}
    assert row.items() >= told.items()
    assert row["cause"] == "builder" and row["remedy"].startswith("write the op otherwise")
    steps = plan.timeline()
    assert list(steps[steps["device"] == "cpu"]["callee"]) == [
        "trt_engines::main_0",
        "host_0",
        "trt_engines::main_1",
    ]
    assert steps.iloc[1]["reads"] == ["main_0"] and steps.iloc[1]["sources"][:1] == ["node_host_0"]


def test_empty_tables_keep_their_columns() -> None:
    """A Plan without fallbacks or layers has empty frames with the same columns and types."""
    assert list(dynamic().fallbacks.columns) == list(three_steps().fallbacks.columns)
    assert dynamic().fallbacks["count"].sum() == 0
    assert isinstance(dynamic().report.summary, pd.DataFrame)


def test_a_file_and_back(tmp_path: Path) -> None:
    """A saved Plan runs, and its IR and tables are the same."""
    path = tmp_path / "three.plan"
    plan = three_steps()
    plan.save(path)
    loaded = Plan.load(path)
    _check_runs(loaded)
    assert loaded.name == "three" and loaded.metadata == {"precision": "fp32"}
    assert str(loaded.module) == str(plan.module)
    for table in ("engines", "layers", "memory", "fallbacks"):
        pd.testing.assert_frame_equal(getattr(loaded, table), getattr(plan, table))
    loaded.save(tmp_path / "again.plan")
    assert (tmp_path / "again.plan").read_bytes() == path.read_bytes()


def test_weights_of_a_loaded_plan_lie_in_the_file(tmp_path: Path) -> None:
    """A loaded Plan's weights are read-only views of the memory map, aligned for any kernel."""
    three_steps().save(tmp_path / "three.plan")
    weight = Plan.load(tmp_path / "three.plan").weights["w"]
    assert not weight.flags.owndata and not weight.flags.writeable and weight.ctypes.data % 64 == 0
    np.testing.assert_array_equal(weight, WEIGHT)


def test_pickling() -> None:
    """A Plan goes through pickle, also one that was loaded from a file, and runs."""
    again = pickle.loads(pickle.dumps(three_steps()))
    _check_runs(again)
    assert str(again.module) == str(three_steps().module)


def test_pickling_a_loaded_plan(tmp_path: Path) -> None:
    """What a memory map holds is pickled by value."""
    three_steps().save(tmp_path / "three.plan")
    data = pickle.dumps(Plan.load(tmp_path / "three.plan"))
    (tmp_path / "three.plan").unlink()
    _check_runs(pickle.loads(data))


def test_running_a_saved_plan_needs_no_mlir(tmp_path: Path) -> None:
    """Loading and running a file imports no MLIR dialect definitions and parses no IR."""
    three_steps().save(tmp_path / "three.plan")
    code = (
        "import sys, numpy as np\n"
        "from mlirtrt_nb.plan import Plan\n"
        f"plan = Plan.load({str(tmp_path / 'three.plan')!r})\n"
        "print(plan.session('cpu', threads=1)(np.ones((4, 8), np.float32)).y.shape)\n"
        "print('module' in vars(plan), 'pandas' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["(4, 8)", "False False"]


@pytest.mark.parametrize("place", [3, 12, 40, 70, 2000, -5])
def test_a_damaged_file(tmp_path: Path, place: int) -> None:
    """One flipped byte anywhere is found at load."""
    path = tmp_path / "three.plan"
    three_steps().save(path)
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(PlanFileError):
        Plan.load(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sections": {"engine0": b"\xff\xff\xff"}}, "the engine cannot be opened: Error parsing message"),
        ({"sections": {"engine0": b""}}, "the engine cannot be opened: No graph was found in the protobuf"),
        ({"arrays": {}}, "the engine cannot be opened: there is no weight 'w'"),
        ({"arrays": {"w": WEIGHT[:2]}}, "the engine cannot be opened: cannot reshape array of size 16"),
    ],
)
def test_an_engine_that_its_runtime_refuses(
    tmp_path: Path, changes: dict[str, dict[str, Any]], reason: str
) -> None:
    """A file whose checksums hold and whose engine does not open names the engine, in one short error."""
    path = tmp_path / "three.plan"
    three_steps().save(path)
    opened = read(path, PLAN)
    arrays = changes.get("arrays", opened.arrays)
    write(path, PLAN, opened.meta, opened.sections | changes.get("sections", {}), arrays)
    with pytest.raises(PlanFileError, match=reason) as caught:
        Plan.load(path).session("cpu")
    assert caught.value.where == "engine 'trt_engines::main_0' for cpu"


def test_a_file_that_is_not_a_plan(tmp_path: Path) -> None:
    """A Program's file, a cut file and a missing file each say what they are."""
    Program(three_steps().module, {}, name="net").save(tmp_path / "net.mtp")
    with pytest.raises(PlanFileError, match="holds a Program, expected a Plan"):
        Plan.load(tmp_path / "net.mtp")
    three_steps().save(tmp_path / "cut.plan")
    data = (tmp_path / "cut.plan").read_bytes()
    (tmp_path / "cut.plan").write_bytes(data[:-100])
    with pytest.raises(PlanFileError, match=f"is truncated: {len(data) - 100} bytes, expected {len(data)}"):
        Plan.load(tmp_path / "cut.plan")
    with pytest.raises(PlanFileError, match="No such file"):
        Plan.load(tmp_path / "missing.plan")


def test_a_file_of_another_version(tmp_path: Path) -> None:
    """A newer file says so and what to do."""
    newer = Kind(PLAN.tag, PLAN.noun, PLAN.version + 1, PlanFileError)
    write(tmp_path / "newer.plan", newer, {}, {})
    with pytest.raises(
        PlanFileError, match=r"format version 2, newer than this package's 1\n  hint: update mlirtrt_nb"
    ):
        Plan.load(tmp_path / "newer.plan")


def test_a_file_with_other_content(tmp_path: Path) -> None:
    """A sound file whose content is laid out otherwise is one clear error."""
    write(tmp_path / "odd.plan", PLAN, {"name": "x"}, {})
    with pytest.raises(
        PlanFileError, match="is not laid out as this version writes Plans: it has no 'schedules'"
    ):
        Plan.load(tmp_path / "odd.plan")


def test_ir_that_cannot_be_read(tmp_path: Path) -> None:
    """A file whose IR this MLIR cannot parse still runs; only looking at the IR fails, with one error."""
    plan = three_steps()
    broken = Plan._restored(b"not bytecode", plan.schedules, plan.engine_values, plan.weights, (), {}, "broken")
    _check_runs(broken)
    with pytest.raises(PlanFileError, match="the IR in the file cannot be read"):
        broken.module  # noqa: B018


def test_programs_are_saved_too(tmp_path: Path) -> None:
    """A Program goes to a file and through pickle with its IR, weights and names."""
    program = Program(three_steps().module, {"w": WEIGHT}, name="net", source="net.onnx", text_source="text")
    program.save(tmp_path / "net.mtp")
    for again in (Program.load(tmp_path / "net.mtp"), pickle.loads(pickle.dumps(program))):
        assert str(again.module) == str(program.module)
        assert (again.name, again.source, again.text_source) == ("net", "net.onnx", "text")
        np.testing.assert_array_equal(again.weights["w"], WEIGHT)
    with pytest.raises(InvalidModelError, match="is not a Program file"):
        (tmp_path / "x").write_bytes(b"ONNX" * 40)
        Program.load(tmp_path / "x")


def test_engines_say_whether_the_cache_had_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A first build is none of the cache's, in each precision by itself; a second is, and so says its file,
    with the seconds of the build that there was. What is never cached, for the CPU, is not said to be."""
    monkeypatch.setenv("MLIRTRT_NB_CACHE", str(tmp_path / "engines"))
    program = mt.from_mlir("""
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}""")
    targets = ["cpu", "sm89"]
    for precision in ("fp32", "fp16"):
        first, second = (mt.compile(program, targets, precision).engines for _ in range(2))
        assert not first["cached"].any()
        assert dict(zip(second["target"], second["cached"], strict=True)) == {"cpu": False, "sm89": True}
        on_device = [frame[frame["target"] == "sm89"].iloc[0] for frame in (first, second)]
        assert on_device[1]["build_seconds"] == on_device[0]["build_seconds"] > 0
    plan = mt.compile(program, targets)
    plan.save(tmp_path / "a.plan")
    assert mt.Plan.load(tmp_path / "a.plan").engines.equals(plan.engines)
    assert not mt.compile(program, targets, cache=False).engines["cached"].any()
