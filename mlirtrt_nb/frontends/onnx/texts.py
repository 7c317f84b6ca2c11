"""Names that are no text: protobuf gives them as bytes, which nothing here or in MLIR takes for a name."""

from __future__ import annotations

from google.protobuf.message import Message

__all__ = ["has_damaged_text"]


def has_damaged_text(message: Message) -> bool:
    """Whether a text field of the message, or of any inside it, is not UTF-8."""
    for field, value in message.ListFields():
        if field.type not in (field.TYPE_STRING, field.TYPE_MESSAGE):
            continue
        values = [value] if isinstance(value, str | bytes | Message) else value
        if any(has_damaged_text(e) if isinstance(e, Message) else isinstance(e, bytes) for e in values):
            return True
    return False
