"""Comparisons: one row per variant, each number with its source, failures as marked rows."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.comparison.comparison import COLUMNS
from mlirtrt_nb.errors import Cancelled, InputError, MlirTrtError, OptionError, PrecisionError, TargetError
from tests.unit.numerics.models import classifier, inputs, overflowing

SAMPLES = inputs((1, 3, 12, 12), 2)
QUICK: dict[str, Any] = {"duration_ms": 30, "cache": False}


@pytest.fixture(scope="module")
def found() -> mt.Comparison:
    """The small classifier in three precisions, on the CPU."""
    return mt.compare(classifier(), ("fp32", "fp16", "int8"), SAMPLES, target="cpu", **QUICK)


def test_one_row_per_variant(found: mt.Comparison) -> None:
    """The columns are those promised, the reference is first and exact, the others are near it."""
    frame = found.df
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame["variant"]) == ["fp32", "fp16", "int8"]
    assert frame.loc[0, "max_abs_error"] == 0
    assert frame.loc[0, "snr_db"] == math.inf
    assert frame.loc[1, "snr_db"] > 50
    assert 15 < frame.loc[2, "snr_db"] < frame.loc[1, "snr_db"]
    assert not frame["failed"].any()


def test_errors_are_those_of_the_real_engine(found: mt.Comparison) -> None:
    """What the engines give on the CPU is as far from fp32 as the table says, to within rounding."""
    exact, half = (found.plans[name].session("cpu") for name in ("fp32", "fp16"))
    noise = signal = 0.0
    for sample in SAMPLES:
        one, two = exact(**sample).astype(np.float64), half(**sample).astype(np.float64)
        noise += float(((one - two) ** 2).sum())
        signal += float((one**2).sum())
    assert 10 * math.log10(signal / noise) == pytest.approx(found.df.loc[1, "snr_db"], abs=6)


def test_latency_is_measured_in_turns(found: mt.Comparison) -> None:
    """Every row was measured three times over, under the same conditions, and p99 is not below the median."""
    assert set(found.reports) == {"fp32", "fp16", "int8"}
    assert {report.conditions["turns"] for report in found.reports.values()} == {3}
    assert {report.conditions["duration_ms"] for report in found.reports.values()} == {QUICK["duration_ms"]}
    assert found.warnings == ()
    assert (found.df["latency_p99_ms"] >= found.df["latency_ms"]).all()
    assert found.df["throughput_qps"].gt(0).all()


def test_every_number_has_a_source(found: mt.Comparison) -> None:
    """Each numeric column says where it comes from; what nobody reports is missing, not zero."""
    assert set(found.sources) == set(COLUMNS) - {"variant", "notes", "failed"}
    assert "measured on cpu" in found.sources["latency_ms"]
    assert "rounding reference" in found.sources["snr_db"]
    assert found.df["peak_memory_bytes"].isna().all()
    assert found.df.attrs["sources"] == found.sources


def test_weights_shrink_with_the_type(found: mt.Comparison) -> None:
    """fp16 weights take about half."""
    sizes = found.df["weights_bytes"]
    assert sizes[1] / sizes[0] == pytest.approx(0.5, abs=0.1)
    assert sizes[2] < sizes[1] * 1.2


def test_types_of_ops_add_up(found: mt.Comparison) -> None:
    """Shares of ops per type are in the table; kept ops are in the notes."""
    assert found.df.loc[0, "op_types"] == "f32 100 %"
    assert "f16" in found.df.loc[1, "op_types"]
    assert "i8" in found.df.loc[2, "op_types"]
    assert any("kept in a higher precision" in note for note in found.notes("int8"))
    assert "calibrated on the inputs that it is compared on" in found.notes("int8")


def test_a_reference_without_a_row_gets_one() -> None:
    """Comparing fp16 alone is comparing it with fp32."""
    found = mt.compare(classifier(), "fp16", SAMPLES[:1], target="cpu", **QUICK)
    assert found.variants == ("fp32", "fp16")
    assert found.reference == "fp32"


def test_names_of_your_own_and_a_reference_among_them() -> None:
    """A mapping names the rows; any of them can be the reference."""
    rows = {"half": mt.Precision("fp16"), "brain": "bf16"}
    found = mt.compare(classifier(), rows, SAMPLES[:1], "half", target="cpu", **QUICK)
    assert found.variants == ("half", "brain")
    assert found.df.loc[0, "snr_db"] == math.inf
    assert 20 < found.df.loc[1, "snr_db"] < 60


def test_a_failing_variant_is_a_marked_row() -> None:
    """An exception that matches nothing fails its own row, with the near names; the others are there."""
    bad = mt.Precision("fp16", keep="conv3")
    found = mt.compare(classifier(), {"bad": bad, "fp16": "fp16"}, SAMPLES[:1], target="cpu", **QUICK)
    row = found.df.set_index("variant").loc["bad"]
    assert row["failed"]
    assert "matches no op" in row["notes"] and "conv" in row["notes"]
    assert pd.isna(row["latency_ms"]) and pd.isna(row["snr_db"])
    assert not found.df.set_index("variant").loc["fp16", "failed"]
    assert "✗ bad" in str(found)


def test_an_overflow_is_explained() -> None:
    """The note says which op overflows, with the value that it reaches."""
    found = mt.compare(overflowing(), ("fp32", "fp16"), inputs((4, 8), 2), target="cpu", **QUICK)
    (note,) = [note for note in found.notes("fp16") if note.startswith("overflow")]
    assert "'blow'" in note
    assert found.df.loc[1, "max_abs_error"] == math.inf
    assert found.curve("fp16").first_bad.source == "blow"  # type: ignore[union-attr]


def test_the_cure_of_the_range_analysis_cures() -> None:
    """What it keeps is enough for fp16; keeping the op alone is not, and the note says what is wrong there."""
    cured = mt.ranges(overflowing(), samples := inputs((4, 8), 1)).precision("fp16")
    given = {"cured": cured, "half": mt.Precision("fp16", keep="blow")}
    found = mt.compare(overflowing(), given, samples, target="cpu", **QUICK)
    rows = found.df.set_index("variant")
    assert rows.loc["cured", "snr_db"] > 50
    assert rows.loc["half", "snr_db"] == -math.inf
    assert "'shrink' reads values that f16 does not hold" in found.notes("half")[0]


def test_random_ops_have_no_error() -> None:
    """Errors of a program that draws numbers would mean nothing: they are missing, and the note says why."""
    program = mt.from_mlir("""
func.func @main(%x: tensor<4xf32> {plan.name = "x"}) -> tensor<4xf32> {
  %0 = tensorrt.random_uniform {static_low = 0.0 : f64, static_high = 1.0 : f64} -> tensor<4xf32> loc("noise")
  %1 = tensorrt.element_wise <kSUM>(%x, %0 : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}""")
    found = mt.compare(program, ("fp32", "fp16"), np.ones(4, np.float32), target="cpu", **QUICK)
    assert found.df["snr_db"].isna().all()
    assert any("draws random numbers" in note for note in found.notes("fp16"))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_executor_gives_the_same_errors(found: mt.Comparison, workers: int) -> None:
    """Variants made in parallel are those made one after the other."""
    with ThreadPoolExecutor(workers) as executor:
        other = mt.compare(
            classifier(), ("fp32", "fp16", "int8"), SAMPLES, executor=executor, target="cpu", **QUICK
        )
    columns = ["variant", "weights_bytes", "max_abs_error", "snr_db", "cosine"]
    pd.testing.assert_frame_equal(other.df[columns], found.df[columns], rtol=1e-4)


def test_what_an_executor_cannot_run_is_a_marked_row() -> None:
    """An executor that breaks for one task leaves the other rows."""

    class Broken(ThreadPoolExecutor):
        def submit(self, function: Any, task: Any) -> Any:  # type: ignore[override]
            if task.name == "fp16":
                return super().submit(_raise)
            return super().submit(function, task)

    with Broken(1) as executor:
        found = mt.compare(
            classifier(), ("fp32", "fp16"), SAMPLES[:1], executor=executor, target="cpu", **QUICK
        )
    assert list(found.df["failed"]) == [False, True]
    assert "the worker is gone" in found.df.loc[1, "notes"]


def _raise() -> None:
    raise RuntimeError("the worker is gone")


def test_tasks_and_variants_pickle() -> None:
    """What goes to an executor and what comes back survive pickling, as process pools need."""
    import pickle

    from mlirtrt_nb.comparison.variant import Task, make_variant
    from mlirtrt_nb.numerics.conversion import converted
    from mlirtrt_nb.numerics.samples import samples_of

    program = mt.load(classifier())
    exact = converted(program)
    task = Task(
        "fp16", mt.Precision("fp16"), program, exact, ("cpu",), None, samples_of(program, SAMPLES), False
    )
    variant = pickle.loads(pickle.dumps(make_variant(pickle.loads(pickle.dumps(task)))))
    assert variant.error == ""
    assert variant.plan.targets == ("cpu",)
    assert len(variant.outputs) == 2


def test_progress_is_reported_and_stops() -> None:
    """Each variant is named as it is made; a progress that says no ends the comparison."""
    phases: list[str] = []

    def watch(phase: str, done: int, total: int) -> bool:
        phases.append(phase)
        return True

    mt.compare(classifier(), ("fp32", "fp16"), SAMPLES[:1], target="cpu", progress=watch, **QUICK)
    assert "fp16: done" in phases
    with pytest.raises(Cancelled):
        mt.compare(classifier(), SAMPLES[:1] and ("fp32",), target="cpu", progress=lambda *_: False, **QUICK)


def test_files(found: mt.Comparison, tmp_path: Path) -> None:
    """CSV reads back as the same numbers; Markdown has a row per variant; a bad path is one short error."""
    found.to_csv(tmp_path / "table.csv")
    back = pd.read_csv(tmp_path / "table.csv")
    np.testing.assert_allclose(back["snr_db"][1:], found.df["snr_db"][1:])
    text = found.to_markdown(tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == text
    assert sum(line.startswith(("| ✓", "| ⚠", "| ✗")) for line in text.splitlines()) == 6
    with pytest.raises(MlirTrtError, match="cannot write"):
        found.to_csv(tmp_path / "missing" / "table.csv")


def test_parquet(found: mt.Comparison, tmp_path: Path) -> None:
    """Parquet keeps types, missing values, and the sources in its metadata."""
    pytest.importorskip("pyarrow")
    found.to_parquet(tmp_path / "table.parquet")
    back = pd.read_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(back, found.df, check_dtype=False)
    assert back.attrs["sources"] == found.sources


def test_figure_and_cards(found: mt.Comparison) -> None:
    """The figure has both parts; text and HTML have every variant with a sign, and the sources."""
    assert [axes.get_ylabel() for axes in found.plot().axes] == ["signal to noise against fp32, dB", "MiB"]
    for shown in (str(found), found._repr_html_()):
        for variant in found.variants:
            assert variant in shown
        assert "rounding reference" in shown
        assert "✓" in shown
    assert "<script" not in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"precisions": ()}, OptionError, "empty"),
        ({"precisions": 3}, OptionError, "is an int"),
        ({"precisions": ("fp17",)}, PrecisionError, "fp17"),
        ({"reference": "exact"}, PrecisionError, "exact"),
        ({"inputs": {"z": np.ones(3)}}, InputError, "no input 'z'"),
        ({"inputs": []}, InputError, "no samples"),
        ({"target": "sm99"}, TargetError, "sm99"),
        ({"duration_ms": 0}, OptionError, "above 0"),
        ({"duration_ms": "long"}, OptionError, "must be a number"),
        ({"device": "tpu"}, OptionError, "unknown device 'tpu'"),
        ({"executor": 2}, OptionError, "executor= is an int"),
    ],
)
def test_bad_arguments_are_one_short_error(arguments: Any, error: type[Exception], words: str) -> None:
    """Nothing is built before what was asked for makes sense."""
    with pytest.raises(error, match=words) as caught:
        mt.compare(classifier(), **{"precisions": ("fp32",), **arguments})
    assert len(str(caught.value).splitlines()) <= 3


def test_an_unknown_variant(found: mt.Comparison) -> None:
    """Asking for a row that is not there lists those that are."""
    with pytest.raises(OptionError, match="fp64"):
        found.curve("fp64")


@pytest.mark.parametrize(
    ("precisions", "reference", "words"),
    [
        ({"fp32": "int8"}, "fp32", "a variant in int8 is called 'fp32', like the reference"),
        ({"a": "fp16", "fp16": mt.Precision("bf16")}, "fp16", "a variant in bf16 is called 'fp16'"),
        ({1: "fp16", "1": "int8"}, "fp32", "two variants are called '1'"),
        ({" ": "fp16"}, "fp32", "a variant has an empty name"),
    ],
)
def test_names_that_mean_two_things(precisions: Any, reference: str, words: str) -> None:
    """A row is known by its name: two of one name, or another precision by the reference's, are refused."""
    with pytest.raises(OptionError, match=words):
        mt.compare(classifier(), precisions, SAMPLES, reference, target="cpu", **QUICK)


def test_a_variant_of_the_references_own_precision_may_have_its_name() -> None:
    """Of one precision a name means one thing, exceptions or not."""
    kept = mt.Precision("fp16", keep="conv1")
    found = mt.compare(classifier(), {"fp16": kept}, SAMPLES, "fp16", target="cpu", **QUICK)
    assert found.variants == ("fp16",) and found.reference == "fp16"


def test_an_executor_that_was_shut_down() -> None:
    """One short error of the package's own, not the executor's."""
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(
        OptionError, match="executor= takes no work: cannot schedule new futures after shutdown"
    ):
        mt.compare(classifier(), ("fp32",), SAMPLES, executor=executor, target="cpu", **QUICK)


def test_an_executor_that_is_shut_down_meanwhile() -> None:
    """What was not begun is a marked row; the rows that were made are there."""

    class Closing(ThreadPoolExecutor):
        def submit(self, *args: Any, **options: Any) -> Any:
            future = super().submit(*args, **options)
            if self._work_queue.qsize() > 1 or len(made) == 2:
                future.cancel()
            made.append(future)
            return future

    made: list[Any] = []
    with Closing(1) as executor:
        found = mt.compare(
            classifier(), ("fp32", "fp16", "bf16"), SAMPLES, executor=executor, target="cpu", **QUICK
        )
    assert list(found.df["failed"]) == [False, False, True]
    assert "the executor could not run it: CancelledError: it was shut down" in found.notes("bf16")[0]


MIXED = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32>
  %1 = tensorrt.element_wise <kSUM>(%0, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


def test_a_program_with_native_code() -> None:
    """Errors are those of the engines' ops alone, and the notes say what runs the others."""
    found = mt.compare(mt.from_mlir(MIXED), ("fp32", "fp16", "int8"), target=["cpu", "sm89"], **QUICK)
    assert not found.df["failed"].any()
    assert found.df.loc[0, "max_abs_error"] == 0 < found.df.loc[1, "max_abs_error"] < 0.1
    assert found.df["notes"].str.contains("1 op outside the engines: native code made by MLIR runs it").all()


def test_a_reference_that_cannot_run_is_named() -> None:
    """The error says which op; it names another reference only where one could be run."""
    program = mt.from_mlir("""func.func @main(%x: tensor<4xf32>) -> tensor<1xf32> {
      %0 = arith.constant 0 : index
      %1 = tensor.extract %x[%0] : tensor<4xf32>
      %2 = memref.alloc() : memref<1xf32>
      memref.store %1, %2[%0] : memref<1xf32>
      %3 = bufferization.to_tensor %2 restrict : memref<1xf32> to tensor<1xf32>
      return %3 : tensor<1xf32>
    }""")
    with pytest.raises(PrecisionError, match=r"memory.* in memref.alloc '<cell>:4:12'") as caught:
        mt.compare(program, ("fp32", "fp16"), target="cpu", **QUICK)
    assert caught.value.hint is None


def test_the_legend_lies_on_no_bar(found: mt.Comparison) -> None:
    """It stands above the highest one."""
    figure = found.plot()
    figure.canvas.draw()
    axes = figure.axes[1]
    highest = max(bar.get_window_extent().y1 for bar in axes.patches)
    assert axes.get_legend().get_window_extent().y0 >= highest


def test_progress_goes_forward_through_the_variants() -> None:
    """Each variant has its part of the bar, half of it to be built and half to be run; the last fills it."""
    seen: list[tuple[str, float]] = []

    def progress(phase: str, done: int, total: int) -> bool:
        seen.append((phase, done / total if total else 0.0))
        return True

    mt.compare(mt.from_mlir(MIXED), ("fp32", "fp16"), target=["cpu", "sm89"], progress=progress, **QUICK)
    first, second = (
        [share for phase, share in seen if phase.startswith(name)] for name in ("fp32: ", "fp16: ")
    )
    assert max(first) == first[-1] == min(second) == 0.5
    assert max(second) == second[-1] == 1
    assert max(share for phase, share in seen if phase.startswith("fp32: main")) == 0.25
