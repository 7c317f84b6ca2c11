"""ONNX's node cases built for `sm89`, beside NVIDIA's parser with the same builder on the same models.

Counts, case by case, how much of it TensorRT takes: "whole" (one engine and nothing beside it), "part" (at
least one engine), "none"; "folded" where nothing is left to compute; "differs" where it compiles and the CPU's
numbers are not the case's; "failed" where compiling fails, which no case may. The peer's is "whole" or "none".
Shape inputs have the case's own values for both.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import mlirtrt_nb as mt
from tests.conformance.onnx_nodes.cases import NodeCase, agree, collect, with_shape_inputs

from .peers.tensorrt_parser import build_with_parser
from .table import Benchmark, Row

__all__ = ["RECORD", "ours", "run"]

# What became of each case is kept with the tests, which hold a sample of the cases against it.
RECORD = Path(__file__).parents[1] / "tests" / "conformance" / "onnx_nodes" / "sm89.json"

_CHUNK = 100  # cases of one process: a builder that ends the process takes only the case at hand


def run() -> list[Benchmark]:
    """The counts as rows, and every case's outcome in `RECORD`."""
    cases = list(collect().values())
    found = dict(_isolated(cases, _both))
    mine, peers = (
        Counter(outcome[side].partition(":")[0] for outcome in found.values()) for side in ("ours", "peer")
    )
    words = {name: outcome["ours"].partition(":")[0] for name, outcome in found.items()}
    with tempfile.NamedTemporaryFile("w", dir=RECORD.parent, suffix=".part", delete=False) as part:
        part.write(json.dumps(words, indent=0, sort_keys=True) + "\n")
    Path(part.name).chmod(0o644)
    Path(part.name).replace(RECORD)
    benchmark = Benchmark("onnx conformance", "NVIDIA OnnxParser + the same builder")
    whole, some = mine["whole"], mine["whole"] + mine["part"]
    peer = peers["whole"]
    benchmark.rows += [
        Row("node cases", "whole in one engine", whole, peer, "cases", f"of {len(cases)}"),
        Row("node cases", "an op in an engine", some, peer, "cases", f"and {mine['folded']} fold to constants"),
        Row("node cases", "failed", mine["failed"], None, "cases", "compiling failed"),
        Row("node cases", "differs", mine["differs"], None, "cases", "listed in docs/onnx-conformance.md"),
    ]
    return [benchmark]


def _both(case: NodeCase) -> dict[str, str]:
    made = with_shape_inputs(case)
    return {"ours": ours(made), "peer": _peer(made)}


def ours(case: NodeCase) -> str:
    """What becomes of a case compiled for the CPU and `sm89`; the CPU's numbers are checked as well."""
    try:
        plan = mt.compile(case.model, target=["cpu", "sm89"], cache=False)
        found = plan.session("cpu", threads=1).run(case.feeds())
    except mt.MlirTrtError as error:
        return f"failed: {type(error).__name__}: {error.what}"[:200]
    engines = [engine for engine in plan.engine_values if engine.target == "sm89"]
    beside = [engine for engine in plan.engine_values if "::" not in engine.name]
    problem = agree(case, [found[entry.name] for entry in case.model.graph.output])
    if problem is not None:
        return f"differs: {problem}"[:200]
    if not engines:
        return "none" if beside else "folded"
    return "whole" if len(engines) == 1 and not beside else "part"


def _peer(case: NodeCase) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.onnx"
        path.write_bytes(case.model.SerializeToString())
        try:
            return "none" if build_with_parser(path).refusal else "whole"
        except (RuntimeError, TypeError, KeyError):
            return "none"


def _isolated(
    cases: Sequence[NodeCase], work: Callable[[NodeCase], dict[str, str]]
) -> Iterator[tuple[str, dict[str, str]]]:
    """`work` on each case, some cases to a process; a case that ends its process has failed."""
    waiting = list(cases)
    while waiting:
        chunk, done = waiting[:_CHUNK], 0
        for line in _in_child(chunk, work):
            yield chunk[done].name, json.loads(line)
            done += 1
        if done < len(chunk):
            ended = "failed: the process ended"
            yield chunk[done].name, {"ours": ended, "peer": ended}
            done += 1
        waiting = waiting[done:]


def _in_child(chunk: Sequence[NodeCase], work: Callable[[NodeCase], dict[str, str]]) -> Iterator[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            with os.fdopen(writing, "w") as out:
                for case in chunk:
                    out.write(json.dumps(work(case)) + "\n")
                    out.flush()
        finally:
            os._exit(0)  # never into what the parent does next
    os.close(writing)
    with os.fdopen(reading) as lines:
        yield from lines
    os.waitpid(child, 0)
