"""The content of a program as a hash, by which saved ranges are known to belong to it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from ..ir.constants import handles_in
from ..program import Program

__all__ = ["content_hash", "hashing"]


def content_hash(program: Program) -> str:
    """A hex digest of the IR, without locations, and of the bytes of the weights that it names."""
    return hashing(program)()


def hashing(program: Program) -> Callable[[], str]:
    """The rest of `content_hash`, once the IR is read: the bytes of the weights, for another thread."""
    digest = hashlib.blake2b(digest_size=16)
    module = program.module.operation
    digest.update(module.get_asm(print_generic_op_form=True).encode())
    weights = {name: program.weights[name] for name in sorted(handles_in(module) & program.weights.keys())}

    def rest() -> str:
        for name, array in weights.items():
            digest.update(f"{name} {array.dtype} {array.shape}\0".encode())
            if array.dtype.kind == "O":
                digest.update(repr(array.tolist()).encode())
            else:
                digest.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        return digest.hexdigest()

    return rest
