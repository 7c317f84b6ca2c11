"""TensorProtos to arrays: every encoding, views of the mapped file where the bytes allow it."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from math import prod
from pathlib import Path, PurePosixPath

import numpy as np
from onnx import SparseTensorProto, TensorProto, numpy_helper

from ...errors import ExternalDataError, InvalidModelError
from ...ir import dtypes
from .wire import Span, span_index

__all__ = ["TensorReader", "map_file"]

_PACKED_BITS = 8  # types narrower than this share bytes in a file and not in an array


def map_file(path: Path) -> memoryview:
    """The file's bytes as a read-only memory map. An empty file gives an empty view."""
    with open(path, "rb") as handle:
        if not os.fstat(handle.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))


class TensorReader:
    """Reads the tensors of one model.

    Args:
        buffer: the model's bytes, into which `spans` point (see `wire.strip`).
        folder: where external files lie; None if the model came as bytes without a folder.
        real_folder: the folder of the file that the model's path links to, where it is a link; external
            files may lie there too (download caches link every file of a model to one store).
    """

    def __init__(
        self,
        buffer: memoryview,
        spans: Sequence[Span],
        folder: Path | None = None,
        real_folder: Path | None = None,
    ) -> None:
        self._buffer = buffer
        self._spans = spans
        self._folder = folder
        self._roots = [root for root in (folder and folder.resolve(), real_folder) if root]
        self._files: dict[str, memoryview] = {}

    def array(self, tensor: TensorProto) -> np.ndarray:
        """The tensor's values in its own shape; strings as an object array. Arrays may be read-only views.

        Raises InvalidModelError for a wrong element type or byte count, ExternalDataError for its file.
        """
        if tensor.data_location == TensorProto.EXTERNAL:
            source, span, described = self._place(tensor)
            return _view(tensor, source, span, described)
        if tensor.HasField("raw_data"):
            _check_size(tensor, len(tensor.raw_data), "in the model")
        try:
            array = numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidModelError(
                f"tensor {tensor.name!r}: its values do not fill {_described(tensor)}"
            ) from error
        return array

    def dense(self, sparse: SparseTensorProto) -> np.ndarray:
        """A sparse tensor written out in full."""
        values, indices = self.array(sparse.values), self.array(sparse.indices)
        dims = tuple(sparse.dims)
        full = np.zeros(prod(dims), values.dtype)
        try:
            if indices.ndim == 2:
                indices = np.ravel_multi_index(tuple(indices.T), dims)
            full[indices] = values
        except (ValueError, IndexError) as error:
            raise InvalidModelError(
                f"sparse tensor {sparse.values.name!r}: an index lies outside {'x'.join(map(str, dims))}"
            ) from error
        return full.reshape(dims)

    def _place(self, tensor: TensorProto) -> tuple[memoryview, Span, str]:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        index = span_index(location)
        if index is not None:
            return self._buffer, self._spans[index], "in the model"
        source = self._file(tensor.name, location)
        offset = int(entries.get("offset", 0))
        span = Span(offset, int(entries.get("length", len(source) - offset)))
        if offset < 0 or span.size < 0 or offset + span.size > len(source):
            raise ExternalDataError(
                f"external data of tensor {tensor.name!r} is too short: bytes {offset} to "
                f"{offset + span.size} are needed, {location} has {len(source)}",
                where=str(self._path(location)),
            )
        return source, span, f"in {location}"

    def _path(self, location: str) -> Path:
        assert self._folder is not None
        return self._folder / location

    def _file(self, tensor: str, location: str) -> memoryview:
        if location in self._files:
            return self._files[location]
        if self._folder is None:
            raise ExternalDataError(
                f"tensor {tensor!r} lies in the file {location!r}, and the model came without a folder",
                hint="pass base_dir=, the folder that holds the file",
            )
        posix = PurePosixPath(location.replace("\\", "/"))
        path = self._path(location)
        outside = posix.is_absolute() or ".." in posix.parts or not location or Path(location).is_absolute()
        if outside or not self._inside(path):
            raise ExternalDataError(
                f"external data of tensor {tensor!r} points outside the model's folder: {location!r}",
                where=str(path),
                hint="external files must lie in or below the folder of the model",
            )
        if not path.is_file():
            raise ExternalDataError(
                f"external data of tensor {tensor!r} is missing: {location!r}",
                where=f"tried {path}",
                hint="put the file beside the model, or pass base_dir=",
            )
        self._files[location] = map_file(path)
        return self._files[location]

    def _inside(self, path: Path) -> bool:
        real = path.resolve()
        return any(real.is_relative_to(root) for root in self._roots)


def _described(tensor: TensorProto) -> str:
    try:
        element = dtypes.by_onnx(tensor.data_type).mlir
    except KeyError:
        return f"element type number {tensor.data_type}"
    return "x".join([*map(str, tensor.dims), element])


def _check_size(tensor: TensorProto, size: int, where: str) -> None:
    """Raise InvalidModelError unless `size` bytes are what the tensor's type and shape need."""
    try:
        kind = dtypes.by_onnx(tensor.data_type)
    except KeyError:
        raise InvalidModelError(
            f"tensor {tensor.name!r} has the unknown element type number {tensor.data_type}"
        ) from None
    if any(d < 0 for d in tensor.dims):
        raise InvalidModelError(f"tensor {tensor.name!r} has a negative dimension: {list(tensor.dims)}")
    needed = kind.nbytes(prod(tensor.dims))
    if size != needed:
        raise InvalidModelError(
            f"tensor {tensor.name!r}: {_described(tensor)} needs {needed} bytes, {size} are {where}",
            hint="the file is damaged, or was cut while it was written",
        )


def _view(tensor: TensorProto, source: memoryview, span: Span, where: str) -> np.ndarray:
    _check_size(tensor, span.size, where)
    kind = dtypes.by_onnx(tensor.data_type)
    if kind.bits < _PACKED_BITS:
        packed = TensorProto(data_type=tensor.data_type, dims=tensor.dims)
        packed.raw_data = bytes(source[span.offset : span.offset + span.size])
        return numpy_helper.to_array(packed)
    dims = tuple(tensor.dims)
    return np.frombuffer(source, kind.np, prod(dims), span.offset).reshape(dims)
