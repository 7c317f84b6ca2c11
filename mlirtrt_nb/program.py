"""`Program`: one MLIR module, its weights, and where each op came from."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from .errors import InvalidModelError
from .shown import Shown
from .weights import Weights

if TYPE_CHECKING:
    import pandas as pd
    from torch_mlir import ir
    from torch_mlir.dialects.builtin import ModuleOp

    from .display.graph import GraphView
    from .ir.assembly.printer import Locations

__all__ = ["Program", "TensorSpec"]

P = TypeVar("P", bound="Program")


@dataclass(frozen=True)
class TensorSpec:
    """An input or output of a program. `shape` holds an int, a dimension's name, or None per axis;
    `dtype` is the MLIR spelling ("f32")."""

    name: str
    shape: tuple[int | str | None, ...]
    dtype: str

    @property
    def is_unranked(self) -> bool:
        """Whether the number of axes is open; the shape is `("...",)` then."""
        return self.shape == ("...",)

    def __str__(self) -> str:
        dims = "x".join("?" if d is None else str(d) for d in self.shape)
        return f"{self.name}: {dims + 'x' if self.shape else ''}{self.dtype}"


class Program(Shown):
    """An MLIR module with its weights.

    Attributes:
        module: the live module op. Its context belongs to this program and its clones; it gets the ops that
            the module itself has none of when the module is first looked at.
        weights: name -> array for each `dense_resource<name>` in the module; arrays may be memory maps. A table
            that is shown without its values; of a plain dict given here it is a copy.
        name: shown in displays and used for files.
        source: what the program was loaded from (a path, "<cell>"), for messages.
        text_source: the user's own text, where there was one, for carets.
        handles: the context's `dense_resource` attributes by name and type, as far as they were looked for.
    """

    def __init__(
        self,
        module: ModuleOp,
        weights: dict[str, np.ndarray] | None = None,
        *,
        name: str = "program",
        source: str = "<memory>",
        text_source: str | None = None,
    ) -> None:
        self._module = module
        self._describe(weights, name, source, text_source)

    def _describe(
        self, weights: dict[str, np.ndarray] | None, name: str, source: str, text_source: str | None
    ) -> None:
        self.handles: dict[tuple[str, str], ir.Attribute] = {}
        self.weights: dict[str, np.ndarray] = (
            weights if isinstance(weights, Weights) else Weights(weights or {})
        )
        self.name = name
        self.source = source
        self.text_source = text_source

    @classmethod
    def deferred(
        cls,
        read: Callable[[dict[str, np.ndarray]], ModuleOp],
        weights: dict[str, np.ndarray],
        *,
        name: str,
        source: str,
        text_source: str | None = None,
        handles: dict[tuple[str, str], ir.Attribute] | None = None,
    ) -> Self:
        """A Program whose module is read when it is first looked at.

        `read(weights)` gives the module; it may rename entries of `weights` to fit the handles that it got.
        """
        program = cls.__new__(cls)
        program._describe(weights, name, source, text_source)
        program.handles = {} if handles is None else handles
        program.__dict__["_read"] = read
        return program

    @cached_property
    def _module(self) -> ModuleOp:
        """The module, to look at and to copy: its context may lack ops that it has none of."""
        read: Callable[[dict[str, np.ndarray]], ModuleOp] = self.__dict__["_read"]
        return read(self.weights)

    @property
    def module(self) -> ModuleOp:
        """The live module op. Ops of every dialect can be made in its context."""
        from .ir.context import complete

        module = self._module
        complete(module.context)
        return module

    @module.setter
    def module(self, module: ModuleOp) -> None:
        self._module = module

    @property
    def context(self) -> ir.Context:
        return self.module.context

    @property
    def inputs(self) -> list[TensorSpec]:
        """The inputs of the entry function. A shape of `("...",)` is one whose rank is not known."""
        return self._signature()[0]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The outputs of the entry function, as `inputs`."""
        return self._signature()[1]

    def _signature(self) -> tuple[list[TensorSpec], ...]:
        from .ir.inspect import signature

        return tuple([TensorSpec(*entry) for entry in side] for side in signature(self._module.operation))

    @property
    def ops(self) -> pd.DataFrame:
        """One row per kind of op, most frequent first: op, dialect, count."""
        from .ir.inspect import op_table

        return op_table(self._module.operation)

    def text(self, custom: bool = True, locations: Locations = False, limit: int | None = None) -> str:
        """The module as text; see `ir.assembly.print_module`. Names are shown where the user gave them."""
        from .ir.assembly import print_module

        return print_module(
            self._module, custom=custom, locations=locations, limit=limit, names=self.text_source is not None
        )

    def graph(self, function: str | None = None, **options: Any) -> GraphView:
        """A picture of a function, the entry one if none is named. Options: `collapse`, `around`, `hops`,
        `constants`, `limit`; see `display.graph.GraphView`. Raises OptionError."""
        from .display.graph import GraphView

        return GraphView(self, function, **options)

    def verify(self) -> None:
        """Check every op against its rules, the weights against their types in the IR, and the scales of
        quantized tensors among them.

        Raises VerificationError, with each broken rule in the text.
        """
        from .ir.program_checks import run_program_checks
        from .ir.verifier import verify
        from .ir.weight_types import check_weights

        verify(self.module, self.text_source, self.source if self.text_source is not None else None)
        with self.context:
            check_weights(self.module.operation, self.weights)
            run_program_checks(self.module.operation, self.weights)

    def check_weights(self) -> None:
        """Raise VerificationError for weights that the IR names and that are not there, or not of the dtype and
        shape of its type; SourceError where the file that they are mapped from was written to since."""
        from .files import check_unchanged
        from .ir.weight_types import check_weights

        module = self._module  # reading it may rename weights
        check_unchanged(self.weights.values())
        with module.context:
            check_weights(module.operation, self.weights)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write IR and weights to one file. It appears whole, or not at all. Raises InvalidModelError."""
        from .container import PROGRAM, write
        from .ir.bytecode import write_module

        meta = {"name": self.name, "source": self.source, "text_source": self.text_source}
        write(path, PROGRAM, meta, {"ir": write_module(self._module)}, self.weights)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Program:
        """Open a saved Program by memory map; its weights are read when they are used.

        Raises InvalidModelError: missing, damaged, truncated, or of another version.
        """
        from .container import PROGRAM, read

        opened = read(path, PROGRAM)
        if "ir" not in opened.sections:
            raise InvalidModelError(f"{os.fspath(path)} holds no IR", hint="save the program again")
        return _restored(opened.sections["ir"], opened.arrays, opened.meta)

    def __reduce__(self) -> tuple[Any, ...]:
        from .ir.bytecode import write_module

        meta = {"name": self.name, "source": self.source, "text_source": self.text_source}
        return _restored, (write_module(self._module), self.weights, meta)

    def __repr__(self) -> str:
        sides = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"<Program {self.name!r}: {' -> '.join(sides)}>"

    def __str__(self) -> str:
        from .display.program import program_text

        return program_text(self)

    def _repr_html_(self) -> str:
        from .display.program import program_html

        return program_html(self)

    def clone(self) -> Program:
        """A copy whose IR can be changed; the context and the weight arrays are shared, not copied."""
        return self._copied_into(Program)

    def _copied_into(self, kind: type[P]) -> P:
        made = kind(
            self._module.operation.clone(),
            dict(self.weights),
            name=self.name,
            source=self.source,
            text_source=self.text_source,
        )
        made.handles = self.handles
        return made


def _restored(ir: bytes | memoryview, weights: dict[str, np.ndarray], meta: dict[str, Any]) -> Program:
    """A Program from a file or another process, in a context of its own."""
    from .ir.bytecode import read_module

    return Program(read_module(ir, InvalidModelError), dict(weights), **meta)
