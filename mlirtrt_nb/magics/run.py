"""`%trt_run`, `%trt_bench`, `%trt_report` and `%trt_doctor`."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from IPython.core.error import UsageError
from IPython.core.magic import Magics, magics_class
from traitlets import Unicode

from ..kind_name import kind_name
from .arguments import Parser
from .command import command
from .namespace import Scope

if TYPE_CHECKING:
    from ..diagnosis import Machine
    from ..plan import Plan
    from ..reports.latency import LatencyReport
    from ..reports.plan_report import PlanReport
    from ..runtime.session import Session

__all__ = ["TrtRunMagics"]

_PLAN_HELP = "a Plan, or a Session"

_run = Parser("%trt_run", "Run a Plan on arrays from the notebook and return its outputs.")
_run.add_argument("plan", metavar="PLAN", help=_PLAN_HELP)
_run.add_argument(
    "inputs", nargs="*", default=[], metavar="VAR", help="arrays in the order of the inputs, or input=VAR"
)
_run.add_argument("--device", metavar="D", help="cpu, cuda or auto")
_run.add_argument("-o", "--name", metavar="N", help="variable to store the outputs in")

_bench = Parser("%trt_bench", "Measure the latency of a Plan, with trtexec's names and rules.")
_bench.add_argument("plan", metavar="PLAN", help=_PLAN_HELP)
_bench.add_argument(
    "inputs", nargs="*", default=[], metavar="VAR", help="as for %%trt_run; random inputs if none are given"
)
_bench.add_argument("--device", metavar="D", help="cpu, cuda or auto")
_bench.add_argument("--warmup", type=float, default=200, metavar="MS", help="warm-up in ms (200)")
_bench.add_argument(
    "--duration", type=float, default=3000, metavar="MS", help="at least this long in ms (3000)"
)
_bench.add_argument("--iterations", type=int, default=10, metavar="N", help="at least this many calls (10)")
_bench.add_argument("--profile", action="store_true", help="measure each step as well")
_bench.add_argument("--name", metavar="N", help="variable to store the LatencyReport in")

_report = Parser("%trt_report", "Show a Plan's engines, layers, memory and fallbacks.")
_report.add_argument("plan", metavar="PLAN", help="a Plan")

_doctor = Parser(
    "%trt_doctor", "Say what this machine can build and run, and what to do about what is missing."
)


@magics_class
class TrtRunMagics(Magics):
    """Running and measuring. `%config TrtRunMagics` lists and sets the defaults."""

    device = Unicode("auto", help="Device where --device is not given: cpu, cuda or auto.").tag(config=True)

    def __init__(self, shell: Any, **settings: Any) -> None:
        super().__init__(shell, **settings)
        # A session costs much more than a call, so it is kept for as long as its Plan lives.
        self._sessions: WeakKeyDictionary[Plan, dict[str, Session]] = WeakKeyDictionary()

    @command(_run)
    def trt_run(self, arguments: Namespace, scope: Scope) -> Any:
        session = self._session(scope, arguments.plan, arguments.device)
        positional, named = _inputs(scope, arguments.inputs, session)
        outputs = session(*positional, **named)
        scope.store(arguments.name, outputs)
        return outputs

    @command(_bench)
    def trt_bench(self, arguments: Namespace, scope: Scope) -> LatencyReport:
        from ..reports.latency import benchmark

        session = self._session(scope, arguments.plan, arguments.device)
        report = benchmark(
            session,
            _by_name(session, *_inputs(scope, arguments.inputs, session)),
            warmup_ms=arguments.warmup,
            duration_ms=arguments.duration,
            iterations=arguments.iterations,
            profile=arguments.profile,
        )
        scope.store(arguments.name, report)
        return report

    @command(_report)
    def trt_report(self, arguments: Namespace, scope: Scope) -> PlanReport:
        return _as_plan(scope.find(arguments.plan, "a Plan"), arguments.plan).report

    @command(_doctor)
    def trt_doctor(self, arguments: Namespace, scope: Scope) -> Machine:
        from ..diagnosis import doctor

        return doctor()

    def _session(self, scope: Scope, text: str, device: str | None) -> Session:
        from ..runtime.session import Session

        found = scope.find(text, "a Plan or Session")
        if isinstance(found, Session):
            return found
        plan = _as_plan(found, text)
        wanted = device or self.device
        kept = self._sessions.setdefault(plan, {})
        if wanted not in kept:
            kept[wanted] = plan.session(device=wanted)
        return kept[wanted]


def _as_plan(found: Any, text: str) -> Plan:
    from ..plan import Plan

    if isinstance(found, Plan):
        return found
    raise UsageError(f"{text} is {kind_name(found)}, not a Plan; %trt_compile {text} makes one")


def _inputs(scope: Scope, words: list[str], session: Session) -> tuple[list[Any], dict[str, Any]]:
    """Arrays by position and by name, from `VAR` and `input=VAR`."""
    names = sorted((entry.name for entry in session.inputs), key=len, reverse=True)
    positional, named = [], {}
    for word in words:
        # A name need not be one of Python's: input.1, gpu_0/data_0, or one with an equals sign.
        name = next((name for name in names if word.startswith(f"{name}=")), word.partition("=")[0])
        if name != word and (name in names or name.isidentifier()):
            named[name] = scope.find(word[len(name) + 1 :], f"input {name!r}")
        else:
            positional.append(scope.find(word, "an input"))
    return positional, named


def _by_name(session: Session, positional: list[Any], named: dict[str, Any]) -> dict[str, Any] | None:
    """Every given input by its name; None if none is given."""
    names = [entry.name for entry in session.inputs]
    if len(positional) > len(names):
        raise UsageError(f"{len(positional)} inputs given; there are {len(names)}: {', '.join(names)}")
    return {**dict(zip(names, positional, strict=False)), **named} or None
