"""Run the benchmarks: `python -m benchmarks [NAME ...] [--models NAME ...]`.

Each measure is taken beside its peer in the same run, printed as a table, and saved in benchmarks/results/.
The exit status is 1 if a limit is not kept.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from .cases import SPINE

NAMES = (
    "import_time",
    "import_speed",
    "assembly",
    "peak_memory",
    "cpu_latency",
    "control_flow",
    "engine_parity",
    "compile_time",
    "host_jit",
    "worker_overhead",
    "explorer",
    "partition",
)
# Only when asked for: one builds some two thousand engines, the others several for each model: minutes each.
LONG = ("onnx_conformance", "precision", "quantization", "calibration")
ON_MODELS = {
    "import_speed",
    "cpu_latency",
    "engine_parity",
    "compile_time",
    "precision",
    "quantization",
    "calibration",
}


def main() -> int:
    """Run what was asked for; 1 if a limit is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[*NAMES, *LONG, []], metavar="NAME", help=", ".join((*NAMES, *LONG))
    )
    parser.add_argument("--models", nargs="*", default=list(SPINE), help="only these models")
    arguments = parser.parse_args()
    kept = True
    for name in arguments.names or NAMES:
        module = import_module(f"benchmarks.{name}")
        results = module.run(arguments.models) if name in ON_MODELS else module.run()
        for result in results:
            print(result.text(), flush=True)
            print(f"saved as {result.save().name}\n", flush=True)
            kept = kept and all(result.kept(measure) for measure in result.measures())
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
