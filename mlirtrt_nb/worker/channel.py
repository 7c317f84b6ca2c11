"""Values over a socket between two processes of this package, with their large buffers shared."""

from __future__ import annotations

import io
import pickle
import socket
import struct
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

import cloudpickle
import numpy as np

from .shared import Parcel, SharedBuffers

__all__ = ["Channel", "Packed"]

_HEADER = struct.Struct("<QH")  # bytes of the message, number of descriptors
_SHARED_BYTES = 4096  # smaller buffers are part of the message
_DESCRIPTORS_AT_ONCE = 200  # Linux takes 253


class Packed:
    """A message that has been received; `open` gives the value, or raises what unpickling it raises."""

    def __init__(self, body: bytes, buffers: list[memoryview]) -> None:
        self._body = body
        self._buffers = buffers

    def open(self) -> Any:
        """The value, made anew on every call."""
        return pickle.loads(self._body, buffers=self._buffers)


class Channel:
    """One end of the socket. Several threads may send; one receives."""

    def __init__(self, end: socket.socket, buffers: SharedBuffers) -> None:
        self.socket = end
        self.buffers = buffers
        self._sending = threading.Lock()

    def send(self, value: Any, *, plain: bool = False) -> None:
        """Send a value. `plain` is for one of numbers and texts alone, which takes less work.

        Raises what pickling raises, and then nothing was sent; OSError if the other end has gone.
        """
        with self._sending:
            body, large = (pickle.dumps(value, 5), []) if plain else _pickled(value)
            parcel = self.buffers.pack(large)
            message = pickle.dumps((body, parcel), 5)
            header = _HEADER.pack(len(message), len(parcel.descriptors))
            if not parcel.descriptors:
                self.socket.sendall(header + message)
                return
            self.socket.sendall(header)
            for start in range(0, len(parcel.descriptors), _DESCRIPTORS_AT_ONCE):
                some = parcel.descriptors[start : start + _DESCRIPTORS_AT_ONCE]
                socket.send_fds(self.socket, [b"d"], some)
            self.socket.sendall(message)

    def receive(self) -> Packed:
        """The next message. Raises EOFError if the other end has gone."""
        size, expected = _HEADER.unpack(self._exactly(_HEADER.size))
        descriptors: list[int] = []
        while len(descriptors) < expected:
            data, some, _, _ = socket.recv_fds(self.socket, 1, _DESCRIPTORS_AT_ONCE)
            if not data:
                raise EOFError("the other process has gone")
            descriptors += some
        body, parcel = pickle.loads(self._exactly(size))
        assert isinstance(parcel, Parcel)
        return Packed(body, self.buffers.unpack(parcel, descriptors))

    def close(self) -> None:
        """Close the socket: the other side reads the end."""
        self.socket.close()

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        view, filled = memoryview(data), 0
        while filled < size:
            try:
                got = self.socket.recv_into(view[filled:])
            except ConnectionResetError:
                got = 0
            if not got:
                raise EOFError("the other process has gone")
            filled += got
        return data


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc, name-defined]
    def reducer_override(self, value: Any) -> Any:
        # A weight that repeats one element takes no memory, and would be written out in full.
        if type(value) is np.ndarray and value.nbytes >= _SHARED_BYTES and 0 in value.strides:
            first = tuple(slice(None, 1 if stride == 0 else None) for stride in value.strides)
            return np.broadcast_to, (np.ascontiguousarray(value[first]), value.shape)
        # cloudpickle 3.1.3 leaves the file out, which tracebacks and stacks of crashes name: it goes beside.
        if type(value) is CodeType:
            return _code_of_file, (value.co_filename, *self.dispatch_table[CodeType](value))
        return super().reducer_override(value)


def _code_of_file(filename: str, make: Callable[..., CodeType], arguments: tuple[Any, ...]) -> CodeType:
    return make(*arguments).replace(co_filename=filename)


def _pickled(value: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    large: list[pickle.PickleBuffer] = []

    def keep_inside(buffer: pickle.PickleBuffer) -> bool:
        inside = memoryview(buffer).nbytes < _SHARED_BYTES
        if not inside:
            large.append(buffer)
        return inside

    file = io.BytesIO()
    _Pickler(file, protocol=5, buffer_callback=keep_inside).dump(value)
    return file.getvalue(), large
