"""Arrays from `.npy` files, and a session's outputs to `.npz` files, for the shell."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .errors import MlirTrtError, SourceError
from .files import checked_path, refuse_special, replacing

__all__ = ["described", "load_array", "save_outputs"]


# What files of one array, and of several, start with.
_NPY, _ZIP = b"\x93NUMPY", b"PK"


def load_array(path: str | os.PathLike[str], dtype: np.dtype | None = None) -> np.ndarray:
    """The array in a `.npy` file.

    Args:
        dtype: what is expected. NumPy forgets the names of bfloat16 and of the types of 8 and 4 bits when it
            saves them: elements without a type, of the size of these, are read as these.

    Raises SourceError: it cannot be read, or holds something else.
    """
    file = checked_path(path, SourceError)
    try:
        refuse_special(file)
        with open(file, "rb") as opened:
            start = opened.read(len(_NPY))
        if start and not start.startswith((_NPY, _ZIP)):
            raise SourceError(
                f"cannot read {file} as a .npy array: it starts with {start!r}",
                hint="np.save(path, array) writes one",
            )
        array = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error  # which names the file again as a whole
        if "pickle" in str(reason):  # NumPy's advice is a danger: what is pickled may run anything
            reason = "it holds Python objects, not numbers"
        raise SourceError(f"cannot read {file} as a .npy array: {reason}") from None
    if not isinstance(array, np.ndarray):
        names = ", ".join(array)
        array.close()
        raise SourceError(
            f"{file} is an archive of arrays ({names}), not one array",
            hint="np.save one of them as a .npy file",
        )
    if dtype is not None and array.dtype == np.dtype(f"V{dtype.itemsize}"):
        return array.view(dtype)
    return array


def save_outputs(path: str | os.PathLike[str], outputs: Mapping[str, Any]) -> None:
    """Write what `Session.run` gave to a `.npz` file, which `np.load` reads; whole, or not at all.

    A sequence becomes `NAME.0`, `NAME.1`, ...; a map `NAME.keys` and `NAME.values`; an optional that is absent
    is left out. Strings are saved as text, not pickled. Raises MlirTrtError if it cannot be written.
    """
    # Not np.savez: it takes the outputs' names as arguments of its own, and "file" is one of them already.
    with replacing(path, MlirTrtError) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in _arrays(outputs):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _arrays(outputs: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    for name, value in outputs.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            yield from _arrays(
                {f"{name}.keys": np.array([*value]), f"{name}.values": np.array([*value.values()])}
            )
        elif isinstance(value, list | tuple):
            yield from _arrays({f"{name}.{n}": entry for n, entry in enumerate(value)})
        else:
            array = np.asarray(value)
            yield name, array.astype(np.str_) if array.dtype.kind == "O" else array


def described(value: Any) -> str:
    """A run-time value in a few words: "2x3 float32", "a sequence of 2: 3 float32, 5 float32"."""
    if value is None:
        return "absent"
    if isinstance(value, Mapping):
        return f"a map of {len(value)}"
    if isinstance(value, list | tuple):
        few = ", ".join(described(entry) for entry in value[:3])
        return f"a sequence of {len(value)}{': ' if few else ''}{few}{', ...' if len(value) > 3 else ''}"
    array = np.asarray(value)
    kind = "string" if array.dtype.kind in "OU" else str(array.dtype)
    return f"{'x'.join(map(str, array.shape))} {kind}".lstrip()
