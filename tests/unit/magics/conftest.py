"""A shell with the magics loaded, as a notebook's kernel has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture(scope="session")
def bare_shell() -> InteractiveShell:
    """One IPython shell; it can exist once in a process."""
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.Completer.use_jedi = False  # slow, and not what is tested here
    return shell


@pytest.fixture
def shell(bare_shell: InteractiveShell) -> Iterator[InteractiveShell]:
    """The shell with the extension loaded and no variables of other tests."""
    bare_shell.run_line_magic("load_ext", "mlirtrt_nb")
    yield bare_shell
    bare_shell.run_line_magic("unload_ext", "mlirtrt_nb")
    bare_shell.reset(new_session=True)
