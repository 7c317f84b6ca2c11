"""Weights beside the model: several files, offsets beyond four gigabytes, bytes with a folder."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

import mlirtrt_nb as mt

X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8
FAR = 5 << 30  # a hole in the file, which takes no room


def entry(name: str, file: str, offset: int) -> TensorProto:
    """A weight of 4 by 4 at an offset of a file."""
    tensor = TensorProto(
        name=name, data_type=TensorProto.FLOAT, dims=[4, 4], data_location=TensorProto.EXTERNAL
    )
    for key, value in (("location", file), ("offset", str(offset)), ("length", "64")):
        tensor.external_data.add(key=key, value=value)
    return tensor


def model(folder, places: list[tuple[str, int]]) -> tuple[bytes, np.ndarray]:
    """A chain of products with weights at these places; the model's bytes and what it gives for X."""
    rng, wanted = np.random.default_rng(0), X
    tensors, nodes = [], []
    for n, (file, offset) in enumerate(places):
        weight = rng.standard_normal((4, 4), dtype=np.float32)
        path = folder / file
        with open(path, "r+b" if path.exists() else "wb") as handle:
            handle.seek(offset)
            handle.write(weight.tobytes())
        tensors.append(entry(f"w{n}", file, offset))
        nodes.append(helper.make_node("MatMul", [f"h{n}", f"w{n}"], [f"h{n + 1}"]))
        wanted = wanted @ weight
    ends = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in ("h0", f"h{len(places)}")
    )
    first, last = ([end] for end in ends)
    graph = helper.make_graph(nodes, "main", first, last, tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return made.SerializeToString(), wanted


def test_several_files_at_offsets(tmp_path):
    """Four weights in two files, by path and by bytes with base_dir; an engine holds them all."""
    data, wanted = model(tmp_path, [("a.bin", 0), ("b.bin", 128), ("a.bin", 4096), ("b.bin", 64)])
    (tmp_path / "m.onnx").write_bytes(data)
    for program in (mt.load(tmp_path / "m.onnx"), mt.from_onnx(data, base_dir=tmp_path)):
        plan = mt.compile(program, target=["cpu", "sm89"], cache=False)
        assert plan.fallbacks.empty
        np.testing.assert_allclose(plan.session("cpu")(X), wanted, rtol=1e-4, atol=1e-5)


def test_far_into_a_large_file(tmp_path):
    """A weight beyond 4 GiB is read from there, built into an engine, saved and loaded; no more is kept."""
    data, wanted = model(tmp_path, [("large.bin", FAR), ("large.bin", FAR + 8192)])
    (tmp_path / "m.onnx").write_bytes(data)
    plan = mt.compile(tmp_path / "m.onnx", target=["cpu", "sm89"], cache=False)
    np.testing.assert_allclose(plan.session("cpu")(X), wanted, rtol=1e-4, atol=1e-5)
    plan.save(tmp_path / "m.plan")
    assert (tmp_path / "m.plan").stat().st_size < 1 << 20
    (tmp_path / "large.bin").unlink()
    np.testing.assert_allclose(
        mt.Plan.load(tmp_path / "m.plan").session("cpu")(X), wanted, rtol=1e-4, atol=1e-5
    )
