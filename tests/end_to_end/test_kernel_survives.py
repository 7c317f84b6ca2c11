"""Cells that would end a kernel, in a real one: each is an error, and the kernel goes on with all it has."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

jupyter_client = pytest.importorskip("jupyter_client")

SETUP = """\
%load_ext mlirtrt_nb
import ctypes, os, signal, sys, threading, time
import mlirtrt_nb as mt
program = mt.from_mlir('''
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  %z = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %y : tensor<4xf32>
  return %z : tensor<4xf32>
}''')
kernel, treasure = os.getpid(), object()
treasure_id = id(treasure)

def run(function, **limits):
    pipeline = mt.Pipeline.parse("tensorrt-canonicalize").insert(mt.module_pass(function.__name__)(function))
    return pipeline.run(program, isolate=mt.Isolation(**limits))
"""

# What the next cell finds: the kernel, its variables, the program, and a worker that works.
NEXT = """\
assert os.getpid() == kernel and id(treasure) == treasure_id
assert len(mt.Pipeline.parse("cse").run(program).steps) == 1
print("alive")
"""

# Name -> cell and what its error says ("" for a cell that goes through).
CELLS = {
    "segmentation fault": (
        "def f(program):\n    ctypes.string_at(0)\nrun(f)",
        r"WorkerCrashed: pass f crashed: segmentation fault \(SIGSEGV\)[\s\S]*ctypes\.string_at\(0\)",
    ),
    "abort": ("def f(program):\n    os.abort()\nrun(f)", r"pass f crashed: abort \(SIGABRT\)"),
    "an op erased that is still used": (
        "def f(program):\n    block = program.module.body.operations[0].regions[0].blocks[0]\n"
        "    block.operations[0].operation.erase()\n    print(program.module)\nrun(f)",
        r"pass f crashed: (segmentation fault|abort)",
    ),
    "the native stack overflows": (
        "def f(program):\n    from torch_mlir import ir\n    ir.Attribute.parse('[' * 300000)\nrun(f)",
        r"pass f crashed: segmentation fault[\s\S]*ir\.Attribute\.parse",
    ),
    "exit": ("def f(program):\n    os._exit(0)\nrun(f)", r"pass f crashed: it ended with exit status 0"),
    "killed from outside": (
        "def f(program):\n    os.kill(os.getpid(), signal.SIGKILL)\nrun(f)",
        r"pass f crashed: killed from outside",
    ),
    "endless": (
        "def f(program):\n    while True: pass\nrun(f, timeout=3)",
        r"the pipeline took longer than 3 s and was stopped in pass f\n"
        r"  at cell \[\d+\], line 2\n +while True: pass",
    ),
    "endless in native code that keeps the interpreter": (
        "def f(program):\n    ctypes.PyDLL(None).pause()\nrun(f, timeout=3)",
        r"the pipeline took longer than 3 s and was stopped in pass f\n  at cell \[\d+\], line 2\n",
    ),
    "all memory": (
        "def f(program):\n    kept = []\n    while True: kept.append(b'x' * 10**7)\n"
        "run(f, memory_limit='400 MB')",
        r"pass f used .* of memory, more than the 400 MiB it may",
    ),
    "every file closed": ("def f(program):\n    os.closerange(0, 1000)\nrun(f)", r"WorkerCrashed"),
    "an error": (
        "def f(program):\n    return [][3]\nrun(f)",
        r"PassError: IndexError in pass f: list index out of range[\s\S]*return \[\]\[3\]",
    ),
    "a variable that cannot be sent": (
        "lock = threading.Lock()\ndef f(program):\n    lock.acquire()\nrun(f)",
        r"PassError: pass f cannot go to the worker process: it uses lock",
    ),
    "sys.exit": ("def f(program):\n    sys.exit(1)\nrun(f)", r"PassError: pass f called exit"),
    "a crash in a compilation": (
        "@mt.rewrite('tensorrt.activation')\ndef f(op):\n    os.abort()\n"
        "mt.compile(program, pipeline=mt.Pipeline.default().insert(f, after='cse'))",
        r"WorkerCrashed: pass f crashed: abort",
    ),
    "a flood of output": (
        "def f(program):\n    for n in range(30_000): print(n, 'x' * 60)\n"
        "r = run(f)\nlen(r.steps[1].output) < 70_000",
        "",
    ),
}

_NEVER_SECONDS = 30.0  # after which a cell that was interrupted counts as one that goes on


@dataclass
class Answer:
    """What a cell gave: its text outputs, and its error's traceback without colours."""

    text: str = ""
    error: str = ""
    characters: int = field(default=0)


class Kernel:
    """A kernel and its client."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "TMPDIR": str(folder)}  # for the files that show a crash again
        self.manager, self.client = jupyter_client.manager.start_new_kernel(startup_timeout=60, env=environment)

    def run(self, cell: str, timeout: float = 60) -> Answer:
        answer = Answer()

        def take(message: dict) -> None:
            content = message["content"]
            text = content.get("text") or content.get("data", {}).get("text/plain", "")
            answer.characters += len(text)
            answer.text += text[-2000:]
            if message["msg_type"] == "error":
                plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(content["traceback"]))
                answer.error += f"{content['ename']}\n{plain}"

        self.client.execute_interactive(cell, timeout=timeout, output_hook=take, allow_stdin=False)
        return answer

    def interrupted(self, cell: str) -> tuple[str, float]:
        """Start a cell, interrupt it once it prints, and give its error's name and how long that took."""
        sent = self.client.execute(cell)
        while self.client.get_iopub_msg(timeout=60)["msg_type"] != "stream":
            pass
        pressed = time.monotonic()
        self.manager.interrupt_kernel()
        while True:
            reply = self.client.get_shell_msg(timeout=_NEVER_SECONDS)
            if reply["parent_header"].get("msg_id") == sent:
                return reply["content"]["ename"], time.monotonic() - pressed

    def stop(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel for all cells: none of them may harm it."""
    started = Kernel(tmp_path_factory.mktemp("reproducers"))
    try:
        assert started.run(SETUP).error == ""
        yield started
    finally:
        started.stop()


@pytest.mark.parametrize("name", CELLS)
def test_the_kernel_survives(kernel: Kernel, name: str) -> None:
    """The cell's error says what happened where, and the next cell works."""
    cell, expected = CELLS[name]
    answer = kernel.run(cell)
    if expected:
        assert re.search(expected, answer.error), answer
    else:
        assert answer.error == "" and answer.text.endswith("True") and answer.characters < 300_000
    following = kernel.run(NEXT)
    assert (following.error, following.text) == ("", "alive\n")


def test_the_last_good_program_is_there(kernel: Kernel) -> None:
    """After a crash the error has the steps before it, their programs, and a file that shows it again."""
    cell = (
        "def f(program):\n    os.abort()\n"
        "try:\n    run(f)\nexcept mt.WorkerCrashed as error:\n    kept = error\n"
        "print([step.name for step in kept.partial_run.steps], kept.last_good.text() == "
        "kept.partial_run.steps[0].after.text() == mt.load(kept.reproducer).text())\nos.unlink(kept.reproducer)"
    )
    answer = kernel.run(cell)
    assert (answer.error, answer.text) == ("", "['tensorrt-canonicalize'] True\n")


@pytest.mark.parametrize(
    "cell",
    [
        "def f(program):\n    print('begun')\n    while True: pass\nrun(f)",
        "def f(program):\n    print('begun')\n    ctypes.PyDLL(None).pause()\nrun(f)",
    ],
    ids=["python", "native"],
)
def test_the_stop_button(kernel: Kernel, cell: str) -> None:
    """An interrupt of the kernel ends the cell at once, whatever the worker is doing."""
    name, seconds = kernel.interrupted(cell)
    assert name == "Cancelled"
    assert seconds < _NEVER_SECONDS / 3  # the work itself never ends
    following = kernel.run(NEXT)
    assert (following.error, following.text) == ("", "alive\n")


def test_the_stop_button_of_a_compilation(kernel: Kernel) -> None:
    """`mt.compile` stops as fast as a pipeline."""
    cell = (
        "@mt.module_pass('endless')\ndef endless(program):\n    print('begun')\n    while True: pass\n"
        "slow = mt.Pipeline.default().insert(endless, after='cse')\n"
        "mt.compile(program, pipeline=slow, progress=lambda *report: True)"
    )
    name, seconds = kernel.interrupted(cell)
    assert name == "Cancelled" and seconds < _NEVER_SECONDS / 3
    following = kernel.run(NEXT)
    assert (following.error, following.text) == ("", "alive\n")
