"""What ONNX Runtime's exceptions of a run mean."""

from __future__ import annotations

import re

from ...errors import InputError, MlirTrtError, TargetError
from ...memory import no_room

__all__ = ["ASSERTION", "failure_of", "plain_reason"]

# The names of nodes that fail where an assertion does start like this; the message follows.
ASSERTION = "assertion: "

_LONGEST = 300
_REWRITTEN = "_nchwc"  # ends the names of convolutions in another layout

_ASSERTION = re.compile(re.escape(ASSERTION) + r"(.*?)(?: #\d+)?' Status Message", re.DOTALL)
_CODES = re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : ")
_NODE = re.compile(
    r"(?:Non-zero status code returned while running|Exception during execution of) (?P<op>\w+) node\. "
    r"Name:'(?P<name>.*?)(?: #\d+)?' Status Message: (?P<what>.*)",
    re.DOTALL,
)
# Where in its sources a check stands, and which: noise for who has not written it.
_PLACE = re.compile(r"^\S+\.(?:h|cc|cpp):\d+ (?:[^()]*\(\S[^()]*\)(?: const)? |\w+ )?")
_CONDITION = re.compile(r"^.{1,200}? was false\. (?=\S)", re.DOTALL)
_NO_ROOM = re.compile(r"Failed to allocate memory for requested buffer of size (\d+)")
_BUFFER = re.compile(
    r"OrtValue provided for output '(?P<name>.*?)' of node .* has shape \{(?P<has>[\d,]*)\} but the computed "
    r"output shape for this run is \{(?P<needs>[\d,]*)\}"
)


def failure_of(error: Exception, where: str) -> MlirTrtError:
    """The error to raise for an exception of a run: an InputError for an assertion that does not hold, for a
    bound buffer of the wrong shape, and for values that a node cannot compute with; a TargetError where there
    is too little memory."""
    text = str(error)
    if isinstance(error, MemoryError):
        return TargetError(f"this machine has too little memory{text and ': '}{text[:_LONGEST]}", where=where)
    found = _ASSERTION.search(text)
    if found:
        return InputError(f"assertion failed: {found.group(1)}", where=where)
    buffer = _BUFFER.search(text)
    if buffer:
        has, needs = (buffer[side].replace(",", "x") or "scalar" for side in ("has", "needs"))
        return InputError(
            f"the buffer bound to output {buffer['name']!r} has shape {has}, but this call gives {needs}",
            where=where,
            hint="bind a buffer of that shape, or none, and the session makes one",
        )
    node = _NODE.search(text)
    if node:
        place = f"{_place(node['name'])}, {where}" if node["name"] else where
        room = _NO_ROOM.search(node["what"])
        if room:
            return no_room(f"a buffer of {node['op']}", int(room[1]), where=place)
        return InputError(
            f"{node['op']} cannot compute with these inputs: {plain_reason(node['what'])}", where=place
        )
    return MlirTrtError(f"an engine failed while running: {plain_reason(text)}", where=where)


def _place(name: str) -> str:
    """A node in words; by the tensor that it gives where ONNX Runtime named it after that."""
    given = name.removesuffix(_REWRITTEN)
    return f"node {name!r}" if given == name else f"the node that gives {given!r}"


def plain_reason(text: str) -> str:
    """ONNX Runtime's message without its codes and the places in its sources, on one line of bounded length."""
    plain = " ".join(_CODES.sub("", text).split())
    short = _CONDITION.sub("", _PLACE.sub("", plain))
    return (short if len(short) <= _LONGEST else short[: _LONGEST - 1] + "…").rstrip(".")
