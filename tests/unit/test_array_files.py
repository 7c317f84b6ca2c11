"""Arrays from files, and outputs to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mlirtrt_nb.array_files import described, load_array, save_outputs
from mlirtrt_nb.errors import MlirTrtError, SourceError


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, np.float16])
def test_types_that_numpy_forgets(tmp_path: Path, dtype: Any) -> None:
    """An array that NumPy saved without its type's name is read as the type that is expected."""
    given = np.array([[1, -2, 3]]).astype(dtype)
    np.save(tmp_path / "x.npy", given)
    found = load_array(tmp_path / "x.npy", np.dtype(dtype))
    assert found.dtype == given.dtype
    np.testing.assert_array_equal(found, given)


def test_files_that_hold_no_array(tmp_path: Path) -> None:
    """An empty file, a cut one, a broken archive, pickled objects and an archive each give one short error."""
    np.save(tmp_path / "whole.npy", np.arange(100))
    np.save(tmp_path / "pickled.npy", np.array(["a", None], object), allow_pickle=True)
    np.savez(tmp_path / "two.npz", x=np.ones(1), y=np.ones(1))
    (tmp_path / "empty.npy").touch()
    (tmp_path / "cut.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:200])
    (tmp_path / "broken.npz").write_bytes(b"PK\3\4broken")
    for name in ("empty.npy", "cut.npy", "broken.npz", "pickled.npy", "missing.npy", "."):
        with pytest.raises(SourceError, match=r"cannot read .* as a .npy array: "):
            load_array(tmp_path / name)
    with pytest.raises(SourceError, match="it holds Python objects, not numbers"):
        load_array(tmp_path / "pickled.npy")
    (tmp_path / "text.npy").write_text("1 2 3\n")
    with pytest.raises(SourceError, match=r"text.npy as a .npy array: it starts with b'1 2 3") as caught:
        load_array(tmp_path / "text.npy")
    assert "pickle" not in str(caught.value)
    with pytest.raises(SourceError, match=r"two.npz is an archive of arrays \(x, y\), not one array"):
        load_array(tmp_path / "two.npz")


def test_outputs_and_back(tmp_path: Path) -> None:
    """Outputs of any name and type come back from `np.load` without pickles."""
    outputs = {
        "file": np.ones((2, 3), np.float32),
        "a/b": np.array(4, np.int64),
        "words": np.array([["ü"], [""]], dtype=object),
        "several": [np.ones(2), np.zeros(3)],
        "labels": [{"cat": np.float32(0.5), "dog": np.float32(0.25)}],
        "absent": None,
    }
    save_outputs(tmp_path / "out.npz", outputs)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as found:
        assert {name: found[name].tolist() for name in found} == {
            "file": [[1.0] * 3] * 2,
            "a/b": 4,
            "words": [["ü"], [""]],
            "several.0": [1.0, 1.0],
            "several.1": [0.0, 0.0, 0.0],
            "labels.0.keys": ["cat", "dog"],
            "labels.0.values": [0.5, 0.25],
        }
    with pytest.raises(MlirTrtError, match=r"cannot write .*No such file"):
        save_outputs(tmp_path / "no" / "out.npz", outputs)


def test_described() -> None:
    """Arrays by shape and type, sequences by their first entries, and what is absent."""
    assert described(np.ones((2, 3), ml_dtypes.bfloat16)) == "2x3 bfloat16"
    assert described(np.float32(1)) == "float32"
    assert described(np.array(["a"], object)) == "1 string"
    assert described([np.ones(3)] * 4) == "a sequence of 4: 3 float64, 3 float64, 3 float64, ..."
    assert described([]) == "a sequence of 0"
    assert described({"a": 1}) == "a map of 1"
    assert described(None) == "absent"
