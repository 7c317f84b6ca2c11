"""`benchmark` and its report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlirtrt_nb.display.latency import condition_rows
from mlirtrt_nb.engine.base import Engine, EngineReport, LayerRow
from mlirtrt_nb.errors import InputError, OptionError
from mlirtrt_nb.reports.latency import LatencyReport, benchmark
from mlirtrt_nb.reports.synthetic import synthetic_inputs
from mlirtrt_nb.runtime.profiling import read_profile
from mlirtrt_nb.runtime.schedule import Signature
from tests.unit.runtime.plans import SHAPE, dynamic, three_steps

SHORT = {"warmup_ms": 1, "duration_ms": 20, "iterations": 5}
X = np.ones(SHAPE, np.float32)


def _report(**samples: list[float]) -> LatencyReport:
    arrays = {name.replace("_", " "): np.array(values) for name, values in samples.items()}
    conditions = {
        "session": "net",
        "device": "cuda",
        "inputs": "given",
        "shapes": {},
        "timed_on": "device events",
    }
    return LatencyReport(arrays, 2.0, conditions)


def test_a_measurement_on_the_host() -> None:
    """A CPU session has one metric, the latency of whole calls, and says that the host measured it."""
    report = benchmark(three_steps().session("cpu", threads=1), {"x": X}, **SHORT)
    assert list(report.df["metric"]) == ["Latency"]
    assert report.queries >= 5
    row = report.df.iloc[0]
    assert 0 < row["min"] <= row["median"] <= row["percentile(90%)"] <= row["percentile(99%)"] <= row["max"]
    assert report.walltime >= 0.02
    assert report.throughput == pytest.approx(report.queries / report.walltime)
    assert report.conditions["timed_on"] == "host" and report.conditions["threads"] == 1
    # The samples fill the walltime: nothing was left out between queries.
    assert sum(report.samples["Latency"]) / 1e3 == pytest.approx(report.walltime, rel=0.01)


@pytest.mark.parametrize("inputs", [None, X, [X], {"x": X}])
def test_ways_to_give_inputs(inputs: object) -> None:
    """Inputs come as an array, a list, a dictionary, or are made up; the report says which."""
    report = benchmark(three_steps().session("cpu", threads=1), inputs, **SHORT)
    assert report.conditions["inputs"] == ("synthetic, seed 0" if inputs is None else "given")
    assert report.conditions["shapes"] == {"x": [4, 8]}


def test_wrong_inputs_and_options() -> None:
    """Wrong inputs are refused before anything is measured, and so are negative times and counts."""
    session = three_steps().session("cpu", threads=1)
    with pytest.raises(InputError, match="expected 4x8"):
        benchmark(session, {"x": X[:2]}, **SHORT)
    for name in SHORT:
        with pytest.raises(OptionError, match=f"{name} must not be negative"):
            benchmark(session, **{**SHORT, name: -1})


def test_at_least_so_many_iterations() -> None:
    """With no duration the number of iterations alone counts."""
    report = benchmark(three_steps().session("cpu", threads=1), warmup_ms=0, duration_ms=0, iterations=17)
    assert report.queries == 17


def test_something_is_always_measured() -> None:
    """With no duration and no iterations one call is measured, so that no metric is missing."""
    report = benchmark(three_steps().session("cpu", threads=1), warmup_ms=0, duration_ms=0, iterations=0)
    assert report.queries == 1
    assert (report.df["min"] > 0).all()


def test_layers() -> None:
    """A profile has every layer of every engine, slowest first, and its shares add up to 100 %."""
    report = benchmark(three_steps().session("cpu", threads=1), profile=True, **SHORT)
    layers = report.layers
    assert set(layers["engine"]) == {"trt_engines::main_0", "host_0", "trt_engines::main_1"}
    assert {"MatMul", "Sqrt", "Abs"} <= set(layers["kind"])
    assert layers["percentage"].sum() == pytest.approx(100)
    assert layers["time_ms"].is_monotonic_decreasing
    assert not len(benchmark(three_steps().session("cpu", threads=1), **SHORT).layers)


@pytest.mark.parametrize(
    ("samples", "warning"),
    [
        ({"Latency": [1.0, 1.0], "GPU_Compute_Time": [1.0, 1.0], "Enqueue_Time": [0.9, 0.9]}, "Enqueue Time"),
        ({"Latency": [1.0, 1.0], "GPU_Compute_Time": [1.0, 1.0], "H2D_Latency": [1.0, 1.0]}, "host-to-device"),
        ({"Latency": [1.0, 1.0], "GPU_Compute_Time": [1.0, 1.0], "D2H_Latency": [2.0, 2.0]}, "device-to-host"),
        ({"Latency": [1.0, 1.2]}, "Latency is unstable: it varies by 9.1 %"),
        ({"Latency": [1.0, 1.0], "GPU_Compute_Time": [1.0, 1.1]}, "lock the GPU's clocks"),
    ],
)
def test_warnings(samples: dict[str, list[float]], warning: str) -> None:
    """Each of trtexec's doubts is raised at its threshold."""
    assert [text for text in _report(**samples).warnings if warning in text]


def test_no_warnings() -> None:
    """A steady measurement with short transfers raises none."""
    steady = {"Latency": [1.2, 1.21], "GPU_Compute_Time": [1.0, 1.01], "Enqueue_Time": [0.7, 0.7]}
    assert _report(**steady, H2D_Latency=[0.1, 0.1], D2H_Latency=[0.1, 0.1]).warnings == []


def test_displays() -> None:
    """As text and as HTML it has the throughput, the percentiles and the conditions."""
    report = benchmark(dynamic().session("cpu", threads=1), **SHORT)
    for shown in (str(report), report._repr_html_()):
        assert "throughput" in shown.lower() and "percentile(99%)" in shown and "ONNX Runtime" in shown
    assert isinstance(report.df.attrs["throughput_qps"], float) and isinstance(report.layers, pd.DataFrame)


def test_conditions_in_words() -> None:
    """Shapes read as shapes, that of a number too; a time has no more digits than mean something."""
    report = _report(Latency=[1.0, 1.0])
    given = {"shapes": {"x": [4, 8], "n": [], "list": None}, "warmup_ms": 10 / 3, "iterations": 3}
    report.conditions.update(given)
    rows = dict(condition_rows(report))
    assert rows["shapes"] == "x: 4x8; n: scalar; list: –"
    assert (rows["warmup ms"], rows["iterations"]) == ("3.333", "3")


def test_sources_of_renamed_layers(tmp_path: Path) -> None:
    """A layer that ONNX Runtime rewrote keeps the sources of the one it came from."""
    conv = LayerRow("conv_2 #3", "FusedConv", outputs=("act_1",), sources=("d", "e"))
    layers = (LayerRow("conv_1", "Conv", sources=("a", "b")), LayerRow("relu", "Relu", sources=("c",)), conv)
    engine = Engine("e", "onnxruntime", "cpu", b"", (), (), report=EngineReport(layers))
    names = ["conv_1_nchwc", "relu", "reorder", "act_1_nchwc"] * 2
    events = [
        {"cat": "Node", "name": f"{name}_kernel_time", "dur": 1000 * n, "args": {"op_name": "Op"}}
        for n, name in enumerate(names)
    ]
    events += [
        {"cat": "Session", "name": "model_run", "dur": 1},
        {"cat": "Node", "name": "relu_fence_before", "dur": 1},
    ]
    (tmp_path / "profile.json").write_text(json.dumps(events))
    found = read_profile(tmp_path / "profile.json", engine, skip=1)
    assert [(layer.layer, layer.times_ms, layer.sources) for layer in found] == [
        ("conv_1_nchwc", (4.0,), ("a", "b")),
        ("relu", (5.0,), ("c",)),
        ("reorder", (6.0,), ()),
        ("act_1_nchwc", (7.0,), ("d", "e")),
    ]


def test_plot() -> None:
    """The figure has the latency of each query and its distribution."""
    pytest.importorskip("matplotlib")
    figure = benchmark(three_steps().session("cpu", threads=1), **SHORT).plot()
    assert [axes.get_xlabel() for axes in figure.axes] == ["query", "queries"]
    (legend,) = figure.legends
    assert [text.get_text().rsplit(" ", 2)[0] for text in legend.get_texts()] == ["median", "99 %"]
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert not axes.texts and not legend.get_window_extent().overlaps(axes.get_tightbbox())


def test_a_notebook_shows_the_plot() -> None:
    """A front end gets an image from the figure itself, without pyplot or `%matplotlib inline`."""
    pytest.importorskip("matplotlib")
    from IPython.core.formatters import PNGFormatter

    figure = benchmark(three_steps().session("cpu", threads=1), **SHORT).plot()
    assert PNGFormatter()(figure).startswith(b"\x89PNG")


def test_synthetic_inputs() -> None:
    """Made-up inputs have the opt shape and are the same every time; integers are valid indices."""
    sides = ((1, 2), (3, 2), (9, 2))
    inputs = [
        Signature("x", (-1, 2), "f16", {}, (sides,)),
        Signature("n", (4,), "i64", {}, ()),
        Signature("b", (), "i1", {}, ()),
    ]
    first, again = synthetic_inputs(inputs), synthetic_inputs(inputs)
    assert [(array.shape, array.dtype.name) for array in first] == [
        ((3, 2), "float16"),
        ((4,), "int64"),
        ((), "bool"),
    ]
    np.testing.assert_array_equal(first[0], again[0])
    assert not first[1].any() and first[2]
    with pytest.raises(InputError, match="no inputs can be made up for 's'"):
        synthetic_inputs([Signature("s", None, "!onnx.seq<tensor<f32>>", {}, ())])
