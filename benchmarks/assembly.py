"""Reading and printing custom assembly, beside MLIR doing so with the same module in generic form.

Also, what it takes to load the dialects that are read and printed.
"""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from mlirtrt_nb.ir.assembly import parse_module, print_module
from mlirtrt_nb.ir.context import new_context

from . import dialect_loading
from .table import Benchmark, Row
from .timing import alternate

__all__ = ["run"]

OPS = 10_000
# An if with its two yields is three ops.
BRANCHES = OPS // 3
_T = "tensor<1x8x4x4xf32>"
_KINDS: tuple[Callable[[str, int], str], ...] = (
    lambda x, n: f"tensorrt.softmax {{axis = 1 : i64}} {x} : {_T}",
    lambda x, n: f"tensorrt.element_wise <kSUM>({x}, %x : {_T}, {_T}) -> {_T}",
    lambda x, n: f"tensorrt.activation {{activationType = #tensorrt.activation_type<kRELU>}} {x} : {_T}",
    lambda x, n: f"tensorrt.slice {x}[0, 0, 0, 0][1, 8, 4, 4][1, 1, 1, 1] : {_T} to {_T}",
    lambda x, n: (
        f"tensorrt.convolution {{kernelStatic = dense<{n}.0> : tensor<8x8x1x1xf32>, "
        "post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} "
        f"in({x} : {_T}) -> {_T}"
    ),
    lambda x, n: f"tensorrt.constant dense<{n}.0> : {_T}",
)


_NO_TWO_LINES, _NO_TWO_FORMS = "no two lines alike", "no two ops of one form"


def _module(lines: Callable[[str, int], str], name: str = "%{}", count: int = OPS) -> str:
    body, value = [], "%x"
    for n in range(count):
        body.append(f"  {name.format(n)} = {lines(value, n)}")
        value = name.format(n)
    return f"func.func @main(%x: {_T}) -> {_T} {{\n" + "\n".join([*body, f"  return {value} : {_T}", "}"])


def _branch(x: str, n: int) -> str:
    yes, no = f"tensorrt.yield {x} : {_T}", f"tensorrt.yield %x : {_T}"
    return f"tensorrt.if (%c : tensor<i1>) -> {_T} {{\n    {yes}\n  }} else {{\n    {no}\n  }}"


def _cases() -> dict[str, str]:
    branches = _module(_branch, count=BRANCHES).replace("%x: ", "%c: tensor<i1>, %x: ", 1)
    return {
        "several kinds of ops": _module(lambda x, n: _KINDS[n % len(_KINDS)](x, n)),
        "with names": _module(lambda x, n: _KINDS[n % len(_KINDS)](x, n), "%value_{}"),
        "variadic ops": _module(
            lambda x, n: f'tensorrt.einsum {{equation = "abcd,abcd->abcd"}} ins({x}, %x : {_T}, {_T}) -> {_T}'
        ),
        "ops with regions": branches,
        _NO_TWO_LINES: _module(
            lambda x, n: (
                f"tensorrt.slice {x}[0, 0, 0, 0][1, 8, 4, 4][{n}, 1, 1, 1] {{a.b = {n} : i64}} : {_T} to {_T}"
            )
        ),
        _NO_TWO_FORMS: _module(
            lambda x, n: (
                f"tensorrt.slice {x}[0, 0, 0, 0][1, 8, 4, 4][{n}, 1, 1, 1] "
                f"{{a.b = array<i8: {n % 100}, {n // 100}>}} : {_T} to {_T}"
            )
        ),
    }


def run(seconds: float = 4.0) -> list[Benchmark]:
    """Milliseconds to read and print each module, and to load the dialects.

    The limit holds for modules whose ops repeat each other's form, as those of networks do, even where every
    line has other numbers and notes; the worst case, in which nothing can be worked out once for several ops,
    stands beside them without one.
    """
    usual = Benchmark("assembly", "MLIR, the same module in generic form", None, 3.0)
    varied = Benchmark("assembly without repetition", usual.peer, None, 3.0)
    worst = Benchmark("assembly of unlike forms", usual.peer)
    kept = {_NO_TWO_LINES: varied, _NO_TWO_FORMS: worst}
    context = new_context()
    for case, text in _cases().items():
        generic = str(parse_module(text, "case.mlir", context))

        def read_and_print(text: str = text) -> str:
            return print_module(parse_module(text, "case.mlir", context))

        def peer(generic: str = generic) -> str:
            with context:
                return str(ir.Module.parse(generic))

        ours, theirs = alternate(read_and_print, peer, seconds=seconds, least=2)
        row = Row(case, "read and print", ours * 1e3, theirs * 1e3, "ms")
        kept.get(case, usual).rows.append(row)
    return [usual, varied, worst, *dialect_loading.run()]
