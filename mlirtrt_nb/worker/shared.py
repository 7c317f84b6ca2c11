"""Buffers that two processes share instead of sending: weights and engines.

A buffer in a memory-mapped file is named by the file's descriptor and an offset; other large buffers of a
message are first copied into one anonymous file. Descriptors go over the socket beside the message, each once.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pickle import PickleBuffer

import numpy as np

from ..files import SharedMap, map_of

__all__ = ["Parcel", "SharedBuffers"]

_ALIGN = 64
_KEYS = count(1)


@dataclass
class Parcel:
    """The shared buffers of one message.

    places: for each buffer (whose the map is: "mine" of the sender or "yours", its key, offset, bytes).
    maps: the keys of the sender's maps whose descriptors come with this message, in the descriptors' order.
    dropped: keys of the sender's maps that are no longer there.
    """

    places: list[tuple[str, int, int, int]] = field(default_factory=list)
    maps: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)

    def __reduce__(self) -> tuple[object, ...]:
        return Parcel, (self.places, self.maps, self.dropped)  # descriptors travel beside the message


class SharedBuffers:
    """One end's account of what it shares with the other.

    `freeze` makes an array read-only once it has been copied out, since a later change would not be seen.
    """

    def __init__(self, *, freeze: bool = False) -> None:
        self._freeze = freeze
        self._sent: dict[int, weakref.ref[SharedMap]] = {}
        self._keys: weakref.WeakKeyDictionary[SharedMap, int] = weakref.WeakKeyDictionary()
        self._received: dict[int, SharedMap] = {}
        self._received_keys: weakref.WeakKeyDictionary[SharedMap, int] = weakref.WeakKeyDictionary()
        self._copied: dict[tuple[int, int], tuple[object, SharedMap, int]] = {}

    def pack(self, buffers: Sequence[PickleBuffer]) -> Parcel:
        """Say where the other end finds `buffers`. The parcel's descriptors are open until the next call."""
        parcel = Parcel(dropped=self._drop_dead())
        self._copy(buffer for buffer in buffers if map_of(memoryview(buffer)) is None)
        for buffer in buffers:
            parcel.places.append(self._place(buffer, parcel))
        return parcel

    def unpack(self, parcel: Parcel, descriptors: Sequence[int]) -> list[memoryview]:
        """The buffers of a parcel from the other end. Closes the descriptors."""
        for key in parcel.dropped:
            self._received.pop(key, None)
        for key, descriptor in zip(parcel.maps, descriptors, strict=True):
            mapped = SharedMap.of(descriptor)
            os.close(descriptor)
            self._received[key] = mapped
            self._received_keys[mapped] = key
        return [self._found(*place) for place in parcel.places]

    def has_dropped(self) -> bool:
        """Whether a map that the other end still holds is no longer there."""
        return any(found() is None for found in self._sent.values())

    def end_call(self, *, sender: bool) -> None:
        """Forget what lasts for one call: the copies, and the maps that the worker made for it.

        `sender`: whether this end is the worker, whose maps these are.
        """
        self._copied.clear()
        if sender:
            self._sent.clear()
            self._keys.clear()
        else:
            self._received.clear()
            self._received_keys.clear()

    def _found(self, whose: str, key: int, offset: int, size: int) -> memoryview:
        mapped = self._received[key] if whose == "mine" else self._sent[key]()
        assert mapped is not None  # the call's own arguments hold it
        return memoryview(mapped)[offset : offset + size]

    def _drop_dead(self) -> list[int]:
        dead = [key for key, found in self._sent.items() if found() is None]
        for key in dead:
            del self._sent[key]
        return dead

    def _place(self, buffer: PickleBuffer, parcel: Parcel) -> tuple[str, int, int, int]:
        size = memoryview(buffer).nbytes
        mapped = map_of(memoryview(buffer))
        if mapped is not None:
            offset = _address(buffer.raw()) - _address(mapped)
        else:
            _, mapped, offset = self._copied[_extent(buffer)]
        if mapped in self._received_keys:
            return "yours", self._received_keys[mapped], offset, size
        key = self._keys.get(mapped)
        if key is None:
            key = self._keys[mapped] = next(_KEYS)
        if key not in self._sent:
            self._sent[key] = weakref.ref(mapped)
            parcel.maps.append(key)
            parcel.descriptors.append(mapped.descriptor)
        return "mine", key, offset, size

    def _copy(self, buffers: Iterable[PickleBuffer]) -> None:
        """Write buffers that lie in no map into one new anonymous file."""
        fresh = {_extent(buffer): buffer for buffer in buffers}
        fresh = {extent: buffer for extent, buffer in fresh.items() if extent not in self._copied}
        if not fresh:
            return
        descriptor = os.memfd_create("mlirtrt_nb")
        try:
            offsets = [_append(descriptor, buffer.raw()) for buffer in fresh.values()]
            mapped = SharedMap.of(descriptor)
        finally:
            os.close(descriptor)
        for (extent, buffer), offset in zip(fresh.items(), offsets, strict=True):
            owner = memoryview(buffer).obj  # kept, so that no other buffer gets its address
            self._copied[extent] = (owner, mapped, offset)
            if self._freeze and isinstance(owner, np.ndarray):
                owner.flags.writeable = False


def _append(descriptor: int, data: memoryview) -> int:
    offset = -(-os.lseek(descriptor, 0, os.SEEK_END) // _ALIGN) * _ALIGN
    written = 0
    while written < data.nbytes:
        written += os.pwrite(descriptor, data[written:], offset + written)
    return offset


def _extent(buffer: PickleBuffer) -> tuple[int, int]:
    """Address and size."""
    return _address(buffer.raw()), memoryview(buffer).nbytes


def _address(buffer: memoryview | SharedMap) -> int:
    address: int = np.frombuffer(buffer, np.uint8, 1).__array_interface__["data"][0]
    return address
