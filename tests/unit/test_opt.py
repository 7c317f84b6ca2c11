"""`opt`: passes over text, and errors against expected ones."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from mlirtrt_nb.__main__ import main
from mlirtrt_nb.errors import OptionError, SourceError, VerificationError
from mlirtrt_nb.opt import check_diagnostics, read_text, transform
from mlirtrt_nb.passes.input.fold_batch_norm import FoldBatchNorm

GOOD = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"
BAD_OP = "%0 = tensorrt.softmax {axis = 5 : i64} %x : tensor<2x4xf32>"
MESSAGE = "axis = 5 is not a dimension"
HEAD = "func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {\n"
TAIL = "\nreturn %0 : tensor<2x4xf32>\n}\n"


@pytest.mark.parametrize(
    "body",
    [
        f"{BAD_OP} // expected-error {{{{{MESSAGE}}}}}",
        f"// expected-error @below {{{{{MESSAGE}}}}}\n{BAD_OP}",
        f"// expected-error@below {{{{{MESSAGE}}}}}\n// expected-note @below {{{{any}}}}\n{BAD_OP}",
        f"// expected-error @+2 {{{{{MESSAGE}}}}}\n\n{BAD_OP}",
        f"{BAD_OP}\n// expected-error @above {{{{{MESSAGE}}}}}",
        f"{BAD_OP}\n\n// expected-error @-2 {{{{{MESSAGE}}}}}",
        f"// expected-error-re @below {{{{axis = {{{{[0-9]+}}}} is not}}}}\n{BAD_OP}",
    ],
)
def test_an_expected_error_is_met(body: str) -> None:
    """Each way to say where an error comes finds it; nothing is left to report."""
    assert check_diagnostics(HEAD + body + TAIL, "t.mlir", "") == []


def test_what_differs_is_one_line_each() -> None:
    """An error on another line than expected is both unexpected and missing."""
    text = f"{HEAD}{BAD_OP}\n// expected-error @-2 {{{{{MESSAGE}}}}}{TAIL}"
    found = check_diagnostics(text, "t.mlir", "")
    assert found == [
        "t.mlir:2: unexpected error: tensorrt.softmax: axis = 5 is not a dimension of a tensor of rank 2",
        f"t.mlir:1: no error like '{MESSAGE}'",
    ]


def test_one_expectation_meets_one_error() -> None:
    """The same error twice needs two expectations."""
    body = f"{BAD_OP}\n{BAD_OP.replace('%0', '%1')} // expected-error {{{{{MESSAGE}}}}}"
    assert len(check_diagnostics(HEAD + body + TAIL, "t.mlir", "")) == 1


def test_lines_of_parts_are_those_of_the_file() -> None:
    """Errors in a later part name the line of the whole text."""
    text = f"{GOOD}// -----\n{HEAD}{BAD_OP}{TAIL}"
    found = check_diagnostics(text, "t.mlir", "", split=True)
    assert [line.partition(" ")[0] for line in found] == ["t.mlir:6:"]


@pytest.mark.parametrize(("where", "place"), [('loc("t.mlir":2:3)', "@+1"), (None, "@unknown")])
def test_an_error_of_a_pass_is_compared_too(
    monkeypatch: pytest.MonkeyPatch, where: str | None, place: str
) -> None:
    """What a pass raises is expected like any error, at the line of its location or at none."""

    def fail(*_: object) -> None:
        raise VerificationError("too many ops", where=where)

    monkeypatch.setattr(FoldBatchNorm, "apply", fail)
    text = f"{GOOD}// expected-error {place} {{{{too many}}}}\n"
    if where:
        text = f"// expected-error {place} {{{{too many}}}}\n{GOOD}"
    assert check_diagnostics(text, "t.mlir", "fold-batch-norm") == []
    assert len(check_diagnostics(GOOD, "t.mlir", "fold-batch-norm")) == 1


def test_parts_are_printed_apart() -> None:
    """With `split`, each program is transformed for itself and the divider stands between them."""
    text = f"{GOOD}// -----\n{GOOD}"
    printed = transform(text, "t.mlir", "canonicalize", lambda program: program.text(), split=True)
    assert printed.count("func.func @main") == 2
    assert printed.split("\n").count("// -----") == 1
    assert transform(printed, "t.mlir", "", lambda program: program.text(), split=True) == printed


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    """A model where text is asked for is called what it is, whatever its bytes happen to spell."""
    file = tmp_path / "net.onnx"
    for data in (b"\x08\x09:\0", b"\xff"):
        file.write_bytes(data)
        with pytest.raises(SourceError, match=r"cannot read .*net.onnx: it is not (MLIR|UTF-8) text"):
            read_text(file)


def test_bad_options_are_errors_of_their_own() -> None:
    """An unknown pass or a broken regular expression is no diagnostic of the program."""
    with pytest.raises(OptionError, match="no-such-pass"):
        check_diagnostics(GOOD, "t.mlir", "no-such-pass")
    with pytest.raises(SourceError, match="not a regular expression"):
        check_diagnostics(f"// expected-error-re {{{{ {{{{(}}}} }}}}\n{GOOD}", "t.mlir", "")


def test_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 0 where errors are as expected, 1 where not; standard input is a file like others."""
    path = tmp_path / "bad.mlir"
    path.write_text(HEAD + BAD_OP + TAIL)
    assert main(["opt", str(path), "--verify-diagnostics"]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:2: unexpected error: ")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{HEAD}{BAD_OP} // expected-error {{{{{MESSAGE}}}}}{TAIL}"))
    assert main(["opt", "-", "--verify-diagnostics"]) == 0
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{GOOD}// -----\n{GOOD}"))
    assert main(["opt", "-", "--split-input-file", "--generic"]) == 0
    assert capsys.readouterr().out.count('"func.func"') == 2
    assert main(["opt", str(tmp_path / "none.mlir"), "--split-input-file"]) == 1
    assert "cannot read" in capsys.readouterr().err


def test_words_of_other_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The options of MLIR's own tools work with one dash, and ops of unknown dialects pass through passes."""
    file = tmp_path / "f.mlir"
    file.write_text(
        f'{HEAD}%0 = "my.op"(%x) {{t = !my.t}} : (tensor<2x4xf32>) -> tensor<2x4xf32>{TAIL}// -----\n{GOOD}'
    )
    assert main(["opt", str(file), "-split-input-file"]) == 1
    assert "op my.op is of an unknown dialect" in capsys.readouterr().err
    words = [
        "-split-input-file",
        "-allow-unregistered-dialect",
        "-mlir-print-op-generic",
        "--passes",
        "canonicalize",
    ]
    assert main(["opt", str(file), *words]) == 0
    printed = capsys.readouterr().out
    assert '%0 = "my.op"(%x) {t = !my.t}' in printed and printed.count('"func.func"') == 2
    assert (
        main(["opt", str(file), "-split-input-file", "-allow-unregistered-dialect", "-verify-diagnostics"]) == 0
    )


def test_weights_that_the_text_leaves_out_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on standard error says which, and what keeps them; what reads the text then says it again."""
    sums = "".join(
        f"  %w{n} = tensorrt.constant dense_resource<w{n}> : tensor<2xf32>\n"
        f"  %{n + 1} = tensorrt.element_wise <kSUM>(%{n}, %w{n} : tensor<2xf32>, tensor<2xf32>)"
        " -> tensor<2xf32>\n"
        for n in range(4)
    )
    blobs = ", ".join(f'w{n}: "0x040000000000803F00000040"' for n in range(4))
    resources = f"{{-# dialect_resources: {{ builtin: {{ {blobs} }} }} #-}}"
    head, tail = "func.func @main(%0: tensor<2xf32>) -> tensor<2xf32> {\n", "  return %4 : tensor<2xf32>\n}\n"
    given, written = tmp_path / "given.mlir", tmp_path / "written.mlir"
    given.write_text(head + sums + tail + resources)
    assert main(["opt", str(given), "-o", str(written)]) == 0
    assert capsys.readouterr().err == (
        "note: the text names 4 weights (w0, w1, w2, ...) without their values; "
        "Program.save writes a file with them, which mt.load opens\n"
    )
    assert main(["opt", str(written), "--passes", "fold-batch-norm"]) == 1
    assert "the program names weights that it does not have: w0, w1, w2 and 1 more" in capsys.readouterr().err
