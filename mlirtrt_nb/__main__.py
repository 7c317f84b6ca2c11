"""The same work from a shell: `python -m mlirtrt_nb compile|run|bench|opt|doctor`."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import Cancelled, InputError, MlirTrtError, OptionError, PlanFileError, SourceError
from .files import check_folder, write_text
from .options import unknown_option

if TYPE_CHECKING:
    import numpy as np

    from .program import Program
    from .runtime.session import Session

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line. 0 on success, 1 on an error of the package, 130 when stopped.

    Exits with 2 if the words are not understood.
    """
    arguments, rest = _parser().parse_known_args(words)
    if rest:
        command: argparse.ArgumentParser = arguments.parser
        options = [text for text in command._option_string_actions if text.startswith("--")]
        command.error(unknown_option(rest[0], options))
    try:
        code = int(arguments.run(arguments) or 0)
        sys.stdout.flush()
        return code
    except (KeyboardInterrupt, Cancelled):
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of a pipe has gone (`| head`); closing quietly is what it expects.
        sys.stderr.close()
        return 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(f"cannot write: {error.strerror}", file=sys.stderr)
        return 1
    except MlirTrtError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mlirtrt_nb", description="MLIR-TensorRT from a shell.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_compile(commands.add_parser("compile", help="a model in, a .plan file out"))
    _add_run(commands.add_parser("run", help="run a .plan file on arrays"))
    _add_bench(commands.add_parser("bench", help="measure the latency of a .plan file"))
    _add_opt(commands.add_parser("opt", help="run passes over a program and print it"))
    commands.add_parser("doctor", help="what this machine can build and run").set_defaults(run=_doctor)
    for command in commands.choices.values():
        command.set_defaults(parser=command)  # whose usage a wrong word shows
    return parser


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="a .onnx or .mlir file")
    parser.add_argument("-o", "--output", type=Path, help="the .plan file; by default beside the model")
    parser.add_argument(
        "--target", action="append", default=[], help="cpu, sm75 ... sm121 or cuda; once per target"
    )
    parser.add_argument("--precision", default="fp32", help="fp32 (the default), fp16, bf16, int8, fp8 or int4")
    parser.add_argument("--shape", action="append", default=[], help="x=1x3x224x224, or x=MIN:OPT:MAX")
    parser.add_argument("--passes", help="a pipeline as text, instead of the default one")
    parser.add_argument("--no-cache", action="store_true", help="build every engine anew")
    parser.set_defaults(run=_compile)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", type=Path, help="a .plan file")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="once per input")
    parser.add_argument("-o", "--output", type=Path, help="a .npz file for the outputs")
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto")
    parser.set_defaults(run=_run)


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", type=Path, help="a .plan file")
    parser.add_argument(
        "--input", action="append", default=[], metavar="NAME=FILE.npy", help="else random inputs"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto")
    parser.add_argument("--warmup", type=float, default=200, metavar="MS")
    parser.add_argument("--duration", type=float, default=3000, metavar="MS")
    parser.add_argument("--iterations", type=int, default=10, metavar="N")
    parser.set_defaults(run=_bench)


def _add_opt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", help="a .mlir or .onnx file, or - for standard input")
    parser.add_argument("--passes", default="", help="a pipeline as text; none just parses and prints")
    parser.add_argument("--target", action="append", default=[], help="what the passes are to think of; cpu")
    parser.add_argument("--shape", action="append", default=[], help="x=1x3x224x224, or x=MIN:OPT:MAX")
    # MLIR's tools take these with one dash as well, and the RUN lines of their tests write them so.
    parser.add_argument(
        "--split-input-file",
        "-split-input-file",
        action="store_true",
        help="programs between // ----- lines",
    )
    parser.add_argument(
        "--allow-unregistered-dialect",
        "-allow-unregistered-dialect",
        action="store_true",
        help="take ops of unknown dialects, in generic form",
    )
    parser.add_argument(
        "--verify-diagnostics",
        "-verify-diagnostics",
        action="store_true",
        help="print nothing; fail where errors differ from the expected-error comments",
    )
    parser.add_argument(
        "--generic",
        "--mlir-print-op-generic",
        "-mlir-print-op-generic",
        action="store_true",
        help="print MLIR's generic form",
    )
    parser.add_argument(
        "--locations",
        "--mlir-print-debuginfo",
        "-mlir-print-debuginfo",
        action="store_true",
        help="print locations",
    )
    parser.add_argument("-o", "--output", type=Path, help="a file instead of standard output, or -")
    parser.set_defaults(run=_opt)


def _compile(arguments: argparse.Namespace) -> None:
    from .compilation import compile as compile_program
    from .frontends.load import load
    from .options import parse_shape_options, parse_target_options

    program = load(arguments.model)
    output = arguments.output or Path(arguments.model).with_suffix(".plan")
    check_folder(output, PlanFileError)
    _check_other(output, Path(arguments.model), PlanFileError)
    plan = compile_program(
        program,
        target=parse_target_options(arguments.target, "cpu"),
        precision=arguments.precision,
        shapes=parse_shape_options(arguments.shape, program.inputs),
        pipeline=arguments.passes,
        cache=not arguments.no_cache,
        isolate=False,  # the command has a process of its own already
    )
    plan.save(output)
    print(plan)
    print(f"\nwrote {output}")


def _run(arguments: argparse.Namespace) -> None:
    from .array_files import described, save_outputs

    output = arguments.output
    if output:
        output = output if output.suffix else output.with_suffix(".npz")
        check_folder(output, OptionError)
        _check_other(output, arguments.plan, OptionError)
    session = _session(arguments)
    outputs = session.run(_arrays(session, arguments.input))
    for name, value in outputs.items():
        print(f"{name}: {described(value)}")
    if output:
        save_outputs(output, outputs)
        print(f"wrote {output}")


def _bench(arguments: argparse.Namespace) -> None:
    from .reports.latency import benchmark

    session = _session(arguments)
    inputs = _arrays(session, arguments.input) if arguments.input else None
    report = benchmark(
        session,
        inputs,
        warmup_ms=arguments.warmup,
        duration_ms=arguments.duration,
        iterations=arguments.iterations,
    )
    print(report)


def _opt(arguments: argparse.Namespace) -> int:
    from . import opt
    from .options import parse_shape_options, parse_target_options

    def show(program: Program) -> str:
        return program.text(custom=not arguments.generic, locations=arguments.locations)

    targets = tuple(parse_target_options(arguments.target, "cpu"))
    unregistered = arguments.allow_unregistered_dialect
    setting = opt.Setting(targets, parse_shape_options(arguments.shape), unregistered)

    output = arguments.output
    if output is not None and str(output) != "-" and not (output.exists() and not output.is_file()):
        check_folder(output, OptionError)
    given, split = arguments.program, arguments.split_input_file
    if given != "-" and not (split or unregistered or arguments.verify_diagnostics):
        _write(opt.transform_file(given, arguments.passes, show, setting), arguments.output)
        return 0
    filename = "<stdin>" if given == "-" else given
    text = _standard_input() if given == "-" else opt.read_text(Path(given))
    if arguments.verify_diagnostics:
        problems = opt.check_diagnostics(text, filename, arguments.passes, setting, split=split)
        print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
        return 1 if problems else 0
    _write(opt.transform(text, filename, arguments.passes, show, setting, split=split), arguments.output)
    return 0


def _check_other(output: Path, given: Path, error: type[MlirTrtError]) -> None:
    """Raise `error` where the result would replace the file that it is made from."""
    if output.exists() and given.exists() and output.samefile(given):
        raise error(f"cannot write {output}: it is the file that is read", hint="name another with -o")


def _standard_input() -> str:
    """Raises SourceError for what is not UTF-8 text."""
    if sys.stdin is None:
        raise SourceError("cannot read <stdin>: it is closed")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise SourceError("cannot read <stdin>: it is not UTF-8 text") from None


def _write(text: str, output: Path | None) -> None:
    """To a file, or to standard output. A device as `/dev/null` is written to, not replaced."""
    if output is None or str(output) == "-":
        print(text)
    elif output.exists() and not output.is_file():
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OptionError(f"cannot write {output}: {error.strerror}") from None
    else:
        write_text(output, text)


def _doctor(arguments: argparse.Namespace) -> None:
    from .diagnosis import doctor

    print(doctor())


def _session(arguments: argparse.Namespace) -> Session:
    from .plan import Plan

    return Plan.load(arguments.plan).session(device=arguments.device)


def _arrays(session: Session, given: Sequence[str]) -> dict[str, np.ndarray]:
    """The arrays of `--input NAME=FILE.npy` options. A session of one input needs no NAME."""
    from .array_files import load_array
    from .runtime.inputs import numpy_dtype

    names = [entry.name for entry in session.inputs]
    dtypes = {entry.name: numpy_dtype(entry.dtype) for entry in session.inputs}
    arrays: dict[str, Any] = {}
    for text in given:
        # From the right, since an input's name may hold an equals sign.
        name, equals, file = text.rpartition("=")
        if not equals and len(names) == 1:
            name = names[0]
        if not name:
            raise OptionError(f"--input {text!r} is not understood", hint="write --input NAME=FILE.npy")
        arrays[name] = load_array(file, dtypes.get(name))
    missing = [name for name in names if name not in arrays]
    if missing and not arrays.keys() - set(names):  # a name that is none is told by the session
        wanted = " ".join(f"--input {name}=FILE.npy" for name in missing)
        raise InputError(f"no array for {', '.join(missing)}", hint=f"add {wanted}")
    return arrays


def _prepare_streams() -> None:
    """Let a standard stream that the shell closed lead nowhere, and print `?` for what the output cannot spell.

    The next file that is opened, as a .plan that is written, would get the number of the closed one, and with
    it all that native code prints. The lowest free number is taken, so it is the stream's own.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)
            if number:
                setattr(sys, name, open(number, "w"))  # noqa: SIM115 - open till the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


if __name__ == "__main__":
    _prepare_streams()
    sys.exit(main())
