"""%%mlir --run and --pass: arrays in and out of a cell's function, and passes from cells."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import mlirtrt_nb as mt

CELL = """func.func @pick(%x: tensor<?xf32>, %i: index) -> (f32, tensor<?xf32>) {
  %e = tensor.extract %x[%i] : tensor<?xf32>
  %y = arith.addf %x, %x : tensor<?xf32>
  return %e, %y : f32, tensor<?xf32>
}
"""
PATTERN = """pdl.pattern @drop : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %op = pdl.operation "tensorrt.activation"(%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %op {
    pdl.replace %op with (%x : !pdl.value)
  }
}
"""
SCRIPT = """transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  transform.yield
}
"""
RELU = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def x(shell: InteractiveShell) -> np.ndarray:
    """An array of the notebook's."""
    shell.user_ns["x"] = np.arange(4, dtype="f4")
    return shell.user_ns["x"]


def test_results_are_returned_and_stored(shell: InteractiveShell, x: np.ndarray) -> None:
    """Each under its name, or all under one; the program too; numbers may stand on the line."""
    first, second = shell.run_cell_magic("mlir", "p --run pick -i x -i 2 -o a -o b", CELL)
    assert first == shell.user_ns["a"] == 2
    np.testing.assert_array_equal(shell.user_ns["b"], x + x)
    assert shell.user_ns["b"] is second and isinstance(shell.user_ns["p"], mt.Program)
    shell.run_cell_magic("mlir", "--run pick -i x[1:] -i 2 -o both --quiet", CELL)
    assert shell.user_ns["both"][0] == 3


def test_truth_values_stand_on_the_line(shell: InteractiveShell) -> None:
    """True and False are no variables that are missing."""
    cell = """func.func @not(%x: i1) -> i1 {
  %t = arith.constant true
  %y = arith.xori %x, %t : i1
  return %y : i1
}"""
    assert shell.run_cell_magic("mlir", "--run not -i True", cell) == 0
    assert shell.run_cell_magic("mlir", "--run not -i False", cell) == 1


def test_passes_run_first(shell: InteractiveShell, x: np.ndarray) -> None:
    """--passes changes what is run."""
    shell.run_cell_magic("mlir", "--pass drop-activation --quiet", PATTERN)
    x[:] = -x
    assert shell.run_cell_magic("mlir", "--passes drop-activation --run main -i x", RELU).min() == -3
    assert shell.run_cell_magic("mlir", "--run main -i x", RELU).min() == 0


def test_a_failed_check_stands_at_the_cells_line(shell: InteractiveShell, x: np.ndarray) -> None:
    """Lines count from the magic's, as the notebook does."""
    with pytest.raises(mt.InputError, match="out-of-bounds access in tensor") as caught:
        shell.run_cell_magic("mlir", "--run pick -i x -i 9", CELL)
    assert caught.value.span.line == 3


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("--run pick -i x -i 1 -o a -o b -o c", UsageError, "gives 2 results; -o names 3"),
        ("-i x", UsageError, "need --run"),
        ("--run pick -i nothing", UsageError, "no variable 'nothing'"),
        ("--run pick -i x -i 1 -o 1a", UsageError, "'1a' cannot be the name of a variable"),
        ("--run pick --generic", UsageError, "use one of them"),
        ("--run pick --quiet -i x", UsageError, "--quiet needs -o"),
        ("--run pack -i x", mt.OptionError, "did you mean 'pick'"),
        ("--pass p --run pick", UsageError, "--pass goes with"),
    ],
)
def test_mistakes(shell: InteractiveShell, x: np.ndarray, line: str, error: type, message: str) -> None:
    """Each is told before anything is stored."""
    with pytest.raises(error, match=message):
        shell.run_cell_magic("mlir", f"m {line}" if "--quiet" not in line else line, CELL)


def test_passes_from_cells(shell: InteractiveShell) -> None:
    """PDL or a transform script becomes a pass, named and stored; mistakes stand at the cell's line."""
    drop = shell.run_cell_magic("mlir", "--pass drop-it", PATTERN)
    assert shell.user_ns["drop_it"] is drop and drop.name == "drop-it" and drop.source == "<cell>:2"
    assert "pdl" in drop._repr_html_()
    script = shell.run_cell_magic("mlir", "mine --pass do-nothing", SCRIPT)
    assert shell.user_ns["mine"] is script and repr(script) == "<transform pass 'do-nothing' from <cell>:2>"
    with pytest.raises(mt.ParseError) as caught:
        shell.run_cell_magic("mlir", "--pass bad", PATTERN.replace("pdl.operand", "pdl.operant"))
    assert caught.value.span.line == 4
