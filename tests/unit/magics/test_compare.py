"""%trt_compare on a small program."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import mlirtrt_nb as mt
from tests.unit.numerics.models import classifier, inputs

QUICK = "--target cpu --duration 30 --no-cache"


@pytest.fixture
def ready(shell: InteractiveShell) -> InteractiveShell:
    """The shell with a program, samples and a precision of the user's."""
    shell.push(
        {
            "net": mt.load(classifier()),
            "samples": inputs((1, 3, 12, 12), 2),
            "mine": mt.Precision("fp16", keep="conv1"),
        }
    )
    return shell


def test_it_returns_and_names_the_comparison(ready: InteractiveShell) -> None:
    """Precisions by name and from a variable, samples from a variable; the result is stored."""
    line = f"net --precision fp32,fp16 --precision mine --inputs samples --name found {QUICK}"
    found = ready.run_line_magic("trt_compare", line)
    assert isinstance(found, mt.Comparison)
    assert ready.user_ns["found"] is found
    assert found.variants == ("fp32", "fp16", "fp16, 1 kept")
    assert not found.samples.synthetic
    assert found.targets == ("cpu",)


def test_help_and_mistakes(ready: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """--help does nothing else; what is not there is named, before anything is built."""
    assert ready.run_line_magic("trt_compare", "--help") is None
    assert "--reference" in capsys.readouterr().out
    with pytest.raises(mt.PrecisionError, match=r"unknown precision 'fp15'\n.*did you mean 'fp16'"):
        ready.run_line_magic("trt_compare", "net --precision fp15")
    with pytest.raises(UsageError, match="no variable 'mime' to use as a precision; did you mean 'mine'"):
        ready.run_line_magic("trt_compare", "net --precision mime")
    with pytest.raises(UsageError, match="no variable 'sample' to use as inputs; did you mean 'samples'"):
        ready.run_line_magic("trt_compare", "net --inputs sample")
    with pytest.raises(mt.InputError):
        ready.push({"wrong": np.zeros(3, np.float32)})
        ready.run_line_magic("trt_compare", f"net --precision fp32 --inputs wrong {QUICK}")
