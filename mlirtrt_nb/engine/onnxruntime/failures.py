"""What ONNX Runtime's exceptions of a run mean."""

from __future__ import annotations

import re

from ...errors import InputError, MlirTrtError

__all__ = ["ASSERTION", "failure_of"]

# The names of nodes that fail where an assertion does start like this; the message follows.
ASSERTION = "assertion: "

_ASSERTION = re.compile(re.escape(ASSERTION) + r"(.*?)(?: #\d+)?' Status Message", re.DOTALL)
_CODES = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")


def failure_of(error: Exception, where: str) -> MlirTrtError:
    """The error to raise for an exception of a run: an InputError for an assertion that does not hold."""
    found = _ASSERTION.search(str(error))
    if found:
        return InputError(f"assertion failed: {found.group(1)}", where=where)
    reason = " ".join(_CODES.sub("", str(error)).split())[:300]
    return MlirTrtError(f"an engine failed while running: {reason}", where=where)
