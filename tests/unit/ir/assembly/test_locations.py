"""Where ops and arguments say they come from, and the names they keep."""

from __future__ import annotations

from torch_mlir import ir

from mlirtrt_nb.ir.assembly import parse_module, print_module
from mlirtrt_nb.ir.diagnostics import place_of


def places(text: str, context: ir.Context) -> dict[str, tuple[int, int]]:
    """Line and column of each op by its name; the last of several."""
    found = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        place = place_of(operation.location)
        assert place is not None and place[0] == "my cell.mlir"
        found[operation.name] = place[1:]
        return ir.WalkResult.ADVANCE

    parse_module(text, "my cell.mlir", context).operation.walk(visit)
    return found


def test_every_op_has_the_users_line_and_column(context: ir.Context) -> None:
    """On lines of their own, on shared lines behind rewritten text, and over several lines."""
    text = """func.func @f(%x: tensor<4xf32>, %c: i1) {
  %w = tensorrt.constant dense<1.0> : tensor<1x1x1x1xf32>
      // a comment
  %0 = tensorrt.reduce
    <kSUM> %x {reduceAxes = array<i64: 0>}
    : tensor<4xf32> -> tensor<f32>
  scf.if %c { %1 = tensorrt.softmax {axis = 0} %x : tensor<4xf32>  %2 = math.exp %1 : tensor<4xf32> }
  return
}"""
    found = places(text, context)
    lines = text.splitlines()
    assert found == {
        "builtin.module": (1, 1),
        "func.func": (1, 1),
        "tensorrt.constant": (2, 8),
        "tensorrt.reduce": (4, 8),
        "scf.if": (7, 3),
        "tensorrt.softmax": (7, lines[6].index("tensorrt.softmax") + 1),
        "math.exp": (7, lines[6].index("math.exp") + 1),
        "scf.yield": (7, 3),
        "func.return": (8, 3),
    }


def test_a_module_on_one_line(context: ir.Context) -> None:
    """Everything on the first line, behind aliases that are moved."""
    op = "%0 = tensorrt.softmax {axis = 0} %x : tensor<4xf32>"
    text = f"module {{ func.func @f(%x: tensor<4xf32>) {{ {op} return }} }}"
    found = places(text, context)
    assert {name: column for name, (_, column) in found.items()} == {
        "builtin.module": 1,
        "func.func": text.index("func") + 1,
        "tensorrt.softmax": text.index("tensorrt") + 1,
        "func.return": text.index("return") + 1,
    }


def test_segment_aliases_do_not_shift_the_first_line(context: ir.Context) -> None:
    """Aliases that stand before the text leave its first line's columns right."""
    text = """func.func @f(%x: tensor<4xf32>) {
  %0 = tensorrt.concatenation {axis = 0} ins(%x, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}
func.func @g() { return }"""
    assert places(text, context)["func.func"] == (5, 1)
    assert places(text.split("\nfunc.func @g")[0], context)["func.func"] == (1, 1)


def test_given_locations_are_kept(context: ir.Context) -> None:
    """A `loc(...)` in the text wins."""
    op = '%y = tensorrt.softmax {axis = 0} %x : tensor<4xf32> loc("n")'
    text = f"func.func @f(%x: tensor<4xf32>) {{\n  {op}\n  return\n}}"
    module = parse_module(text, "cell", context)
    assert 'tensor<4xf32> loc("n")' in print_module(module, locations=True)


def test_names_are_kept(context: ir.Context) -> None:
    """Names of arguments, blocks' arguments, results, several results, and other dialects' results."""
    text = """module {
  func.func @f(%input: tensor<?x8xf32>, %cond: i1) -> tensor<?x3xf32> {
    %values, %indices = tensorrt.top_k <kMAX> {axis = 1 : i64, k = 3 : i64} %input \
: tensor<?x8xf32> -> tensor<?x3xf32>, tensor<?x3xi32>
    %twice = arith.addf %values, %values : tensor<?x3xf32>
    cf.br ^bb1(%twice : tensor<?x3xf32>)
  ^bb1(%carried: tensor<?x3xf32>):  // pred: ^bb0
    %0 = tensorrt.softmax {axis = 1 : i64} %carried : tensor<?x3xf32>
    return %0 : tensor<?x3xf32>
  }
}
"""
    module = parse_module(text, "cell", context)
    assert print_module(module) == text
    unnamed = print_module(module, names=False)
    assert "%0:2 = tensorrt.top_k" in unnamed and "%input" not in unnamed


def test_one_name_in_two_functions(context: ir.Context) -> None:
    """A name may be used again where it is free."""
    function = """  func.func @{0}(%x: tensor<?x8xf32>) -> tensor<?x3xf32> {{
    %v, %i = tensorrt.top_k <kMAX> {{axis = 1 : i64, k = 3 : i64}} %x \
: tensor<?x8xf32> -> tensor<?x3xf32>, tensor<?x3xi32>
    return %v : tensor<?x3xf32>
  }}
"""
    text = f"module {{\n{function.format('a')}{function.format('b')}}}\n"
    assert print_module(parse_module(text, "cell", context)) == text


def test_a_wrong_guess_does_not_hurt(context: ir.Context) -> None:
    """Where an op of another dialect goes on over lines, its name may be lost, not its meaning."""
    text = """func.func @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %sum = linalg.add
    ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>)
    outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %made = tensor.generate {
  ^bb0(%i: index, %j: index):
    %one = arith.constant 1.0 : f32
    tensor.yield %one : f32
  } : tensor<4x4xf32>
  %x = arith.addf
      %sum, %made : tensor<4x4xf32>
  return %x : tensor<4x4xf32>
}"""
    printed = print_module(parse_module(text, "cell", context))
    assert "%one = arith.constant" in printed
    assert print_module(parse_module(printed, "cell", context)).count("arith.addf") == 1


def test_names_of_ops_with_regions(context: ir.Context) -> None:
    """The name of an op with regions is kept too, with the package's ops inside it."""
    text = """module {
  func.func @f(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
    %chosen = scf.if %c -> (tensor<4xf32>) {
      %y = tensorrt.softmax {axis = 0 : i64} %x : tensor<4xf32>
      scf.yield %y : tensor<4xf32>
    } else {
      %inner = scf.if %c -> (tensor<4xf32>) {
        scf.yield %x : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      }
      scf.yield %inner : tensor<4xf32>
    }
    return %chosen : tensor<4xf32>
  }
}
"""
    assert print_module(parse_module(text, "cell", context)) == text
