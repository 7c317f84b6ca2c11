"""The printer's options."""

from __future__ import annotations

from torch_mlir import ir

from mlirtrt_nb.ir.assembly import parse_module, print_module

LITERAL = "".join(f"{n:08X}" for n in range(100))
TEXT = f"""module {{
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{
    %big = arith.constant dense<"0x{LITERAL}"> : tensor<100xf32>
    %y = tensorrt.softmax {{axis = 0 : i64}} %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }}
}}
"""


def test_limit(context: ir.Context) -> None:
    """Bounded text has that many lines, says how many are missing, and elides large literals."""
    module = parse_module(TEXT, "cell", context)
    bounded = print_module(module, limit=3).splitlines()
    assert len(bounded) == 4
    assert "__elided__" in bounded[2]
    assert bounded[3] == "// … 4 more lines"
    assert "more line" not in print_module(module, limit=7)
    assert print_module(module, limit=6).endswith("// … 1 more line\n")


def test_generic(context: ir.Context) -> None:
    """MLIR's own form of everything."""
    text = print_module(parse_module(TEXT, "cell", context), custom=False)
    assert '"tensorrt.softmax"(%x)' in text and '"func.func"()' in text


def test_locations(context: ir.Context) -> None:
    """Each op is followed by where it comes from."""
    lines = print_module(parse_module(TEXT, "my cell", context), locations=True).splitlines()
    assert lines[3].endswith(': tensor<4xf32> loc("y"("my cell":4:10))')
    assert lines[1].startswith('  func.func @f(%x: tensor<4xf32> loc("x"("my cell":2:16)))')


def test_fused_and_call_site_locations(context: ir.Context) -> None:
    """Locations with brackets and strings of all kinds are kept whole behind a rewritten op."""
    for place in ('fused<"a) loc(">["y.mlir":1:2, "z"]', 'callsite("f" at "g"("h":3:4))', "unknown"):
        op = f"%y = tensorrt.softmax {{axis = 0}} %x : tensor<4xf32> loc({place})"
        text = f"func.func @f(%x: tensor<4xf32>) {{\n{op}\nreturn\n}}"
        printed = print_module(parse_module(text, "cell", context), locations=True)
        assert f"tensorrt.softmax {{axis = 0 : i64}} %x : tensor<4xf32> loc({place})\n" in printed


def test_one_function(context: ir.Context) -> None:
    """Any op can be printed, not only a module."""
    module = parse_module(TEXT, "cell", context)
    assert print_module(module.body.operations[0]).startswith("func.func @f(%x: tensor<4xf32>)")
