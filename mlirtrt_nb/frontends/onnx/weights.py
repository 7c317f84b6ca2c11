"""TensorProtos to arrays: every encoding, views of the mapped file where the bytes allow it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path, PurePosixPath

import numpy as np
from onnx import GraphProto, ModelProto, SparseTensorProto, TensorProto, numpy_helper

from ...errors import ExternalDataError, InvalidModelError
from ...files import map_file
from ...ir import dtypes
from .wire import Span, location, span_index

__all__ = ["TensorReader"]

_PACKED_BITS = 8  # types narrower than this share bytes in a file and not in an array


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
        # Where tensor n lies whose location is `wire.location(n)`; external files are added by `adopt`.
        self._places = [(buffer, span, "in the model") for span in spans]
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
            data = tensor.raw_data
            return _view(tensor, memoryview(data), Span(0, len(data)), "in the model")
        try:
            return numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidModelError(
                f"tensor {tensor.name!r}: its values do not fill {_described(tensor)}"
            ) from error

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

    def adopt(self, model: ModelProto) -> None:
        """Map the external files of the model, check that all is there, and point its tensors to the maps.

        Raises ExternalDataError for a file that is missing, too short, or outside the folder.
        """
        for tensor in _external_tensors(model.graph):
            entries = {entry.key: entry.value for entry in tensor.external_data}
            if span_index(entries.get("location", "")) is None:
                self._places.append(self._external(tensor.name, entries))
                del tensor.external_data[:]
                tensor.external_data.add(key="location", value=location(len(self._places) - 1))

    def _place(self, tensor: TensorProto) -> tuple[memoryview, Span, str]:
        index = span_index(tensor.external_data[0].value) if tensor.external_data else None
        if index is None:
            raise InvalidModelError(f"tensor {tensor.name!r} is external and names no location")
        return self._places[index]

    def _external(self, tensor: str, entries: dict[str, str]) -> tuple[memoryview, Span, str]:
        place = entries.get("location", "")
        source = self._file(tensor, place)
        try:
            offset = int(entries.get("offset", 0))
            span = Span(offset, int(entries.get("length", len(source) - offset)))
        except ValueError:
            raise ExternalDataError(
                f"external data of tensor {tensor!r}: offset and length must be numbers"
            ) from None
        if offset < 0 or span.size < 0 or offset + span.size > len(source):
            raise ExternalDataError(
                f"external data of tensor {tensor!r} is too short: {_needed(offset, entries.get('length'))}, "
                f"{place} has {len(source)}",
                where=str(self._path(place)),
            )
        return source, span, f"in {place}"

    def _path(self, place: str) -> Path:
        assert self._folder is not None
        return self._folder / place

    def _file(self, tensor: str, place: str) -> memoryview:
        if place in self._files:
            return self._files[place]
        if self._folder is None:
            raise ExternalDataError(
                f"tensor {tensor!r} lies in the file {place!r}, and the model came without a folder",
                hint="pass base_dir=, the folder that holds the file",
            )
        if "\0" in place:
            raise ExternalDataError(f"external data of tensor {tensor!r}: {place!r} is no file name")
        posix = PurePosixPath(place.replace("\\", "/"))
        path = self._path(place)
        outside = posix.is_absolute() or ".." in posix.parts or not place or Path(place).is_absolute()
        if outside or not self._inside(path):
            raise ExternalDataError(
                f"external data of tensor {tensor!r} points outside the model's folder: {place!r}",
                where=str(path),
                hint="external files must lie in or below the folder of the model",
            )
        if not os.path.isfile(path):  # pathlib's own raises for a name that is too long
            raise ExternalDataError(
                f"external data of tensor {tensor!r} is missing: {place!r}",
                where=f"tried {path}",
                hint="put the file beside the model, or pass base_dir=",
            )
        try:
            self._files[place] = map_file(path)
        except OSError as error:
            raise ExternalDataError(
                f"external data of tensor {tensor!r} cannot be read: {error.strerror or error}", where=str(path)
            ) from None
        return self._files[place]

    def _inside(self, path: Path) -> bool:
        real = path.resolve()
        return any(real.is_relative_to(root) for root in self._roots)


def _needed(offset: int, length: str | None) -> str:
    """What an entry asks of its file, in words."""
    if length is None:
        return f"its data starts at byte {offset}"
    return f"{length} bytes from byte {offset} are needed"


def _external_tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """Every tensor of the graph, its nodes and their subgraphs whose data lies elsewhere."""
    for tensor in graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            yield tensor
    sparse = list(graph.sparse_initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t") and attribute.t.data_location == TensorProto.EXTERNAL:
                yield attribute.t
            elif attribute.HasField("g"):
                yield from _external_tensors(attribute.g)
            elif attribute.HasField("sparse_tensor"):
                sparse.append(attribute.sparse_tensor)
    for entry in sparse:
        yield from (t for t in (entry.values, entry.indices) if t.data_location == TensorProto.EXTERNAL)


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
