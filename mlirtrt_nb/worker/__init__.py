"""Work in a process of its own, so that what goes wrong there ends that process and not the user's.

`call` runs a function there; `Isolation` says within which limits. See docs/isolation.md.
"""

from __future__ import annotations

from .call import Outcome, Unsendable, call, unheard
from .pool import prewarm, shut_down
from .settings import Isolation, isolation_of
from .time_limit import one_limit, seconds_left

__all__ = [
    "Isolation",
    "Outcome",
    "Unsendable",
    "call",
    "isolation_of",
    "one_limit",
    "prewarm",
    "seconds_left",
    "shut_down",
    "unheard",
]
