"""How source names travel through the builder as layer metadata.

Metadata is a JSON list of names, so names with any characters survive. The builder joins the metadata of
layers that it fuses with ASCII record and unit separators, which JSON never contains unescaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

__all__ = ["metadata_of", "names_in"]

_NAME_LIMIT = 4096  # the builder refuses longer names and metadata
_SEPARATORS = re.compile("[\x1e\x1f]")
_PARSER_STYLE = re.compile(r"\[ONNX Layer: (.*?)\](?=\[ONNX Layer: |\[ONNX |$|\[)", re.DOTALL)


def metadata_of(sources: Iterable[str]) -> str:
    """The metadata for a layer; past the builder's length limit the last names become one "(+N more)"."""
    names = list(sources)
    text = json.dumps(names, separators=(",", ":"))
    kept = len(names)
    while len(text) >= _NAME_LIMIT:
        kept //= 2
        text = json.dumps(
            [*(n[:200] for n in names[:kept]), f"(+{len(names) - kept} more)"], separators=(",", ":")
        )
    return text


def names_in(metadata: str) -> tuple[str, ...]:
    """The source names in the metadata of a possibly fused layer, in order, each once.

    Reads this package's own metadata, and that of NVIDIA's ONNX parser ("[ONNX Layer: conv1]").
    """
    found: list[str] = []
    for part in _SEPARATORS.split(metadata):
        found += _names_in_part(part.strip())
    return tuple(dict.fromkeys(found))


def _names_in_part(part: str) -> list[str]:
    if part.startswith('["'):
        try:
            return [str(name) for name in json.loads(part)]
        except ValueError:
            return [part]
    return _PARSER_STYLE.findall(part)
