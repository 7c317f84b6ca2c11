"""What messages call the cell that the user's own code stands in."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from mlirtrt_nb.errors import PassError, cell_of, span_of_line

CELL = """import mlirtrt_nb as mt

@mt.module_pass("broken-in-a-cell")
def broken(program):
    nothing = []
    nothing[3]

program = mt.from_mlir("func.func @main() {{ return }}")
mt.Pipeline().insert(broken).run(program, isolate={isolate})
"""


@pytest.mark.parametrize("isolate", [False, True], ids=["here", "in the worker"])
def test_an_exception_names_the_cell(shell: InteractiveShell, isolate: bool) -> None:
    """The cell by its number and the line in it, not the file that IPython makes up for it."""
    result = shell.run_cell(CELL.format(isolate=isolate), store_history=True)
    error = result.error_in_exec
    assert isinstance(error, PassError) and error.span is not None
    number = result.execution_count
    assert error.span.place == f"cell [{number}], line 6"
    assert f"  at cell [{number}], line 6\n        nothing[3]\n" in str(error)
    assert "ipykernel" not in str(error) and "ipython-input" not in str(error)
    assert shell.user_ns["broken"].source == f"cell [{number}], line 3"


def test_a_file_is_no_cell(shell: InteractiveShell) -> None:
    """Code of a file keeps the file's name, in the notebook too."""
    assert cell_of(__file__) == ""
    assert span_of_line(__file__, 1).place == f"{__file__}:1:1"
