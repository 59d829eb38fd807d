"""The model's history as bytes, and back. The store does not read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import ValidationError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, repair_messages
from pydantic_core import PydanticSerializationError

from threads.services.turns import MOST_BYTES, Segment


class HistoryUnreadable(ValueError):
    """Stored history that this version of the agent library cannot read."""


def packed(messages: Sequence[ModelMessage]) -> list[Segment]:
    """Messages as few JSON lists, cut between messages where one would grow too large.

    A message that cannot be stored leaves a segment that says so.
    """
    segments: list[Segment] = []
    for message in messages:
        segment = _of_one(message)
        last = segments[-1] if segments else None
        if last and not (last.reason or segment.reason):
            joined = last.data[:-1] + b"," + segment.data[1:]
            if len(joined) <= MOST_BYTES:
                segments[-1] = Segment(joined)
                continue
        segments.append(segment)
    return segments


def unpacked(chunks: Iterable[bytes]) -> list[ModelMessage]:
    """The messages of all chunks, with every tool call answered, so that any model takes them."""
    messages: list[ModelMessage] = []
    for chunk in chunks:
        try:
            messages += ModelMessagesTypeAdapter.validate_json(chunk)
        except ValidationError as error:
            raise HistoryUnreadable from error
    return repair_messages(messages)


def _of_one(message: ModelMessage) -> Segment:
    try:
        data = ModelMessagesTypeAdapter.dump_json([message])
    except PydanticSerializationError:  # half a character, say
        return Segment(b"", reason="not_storable")
    return Segment(data) if len(data) <= MOST_BYTES else Segment(b"", reason="too_large")
