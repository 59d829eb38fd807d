"""Events on their way from the log to readers: never parsed, framed once for each form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from artifacts.core.events import is_delivered_to
from artifacts.core.visibility import Hidden, visible_text
from artifacts.extensions import StoredEvent

Frame = Callable[[str], str]

_SEQ = '{"seq":'
# Events of a page: the first is small, and a page of large events makes the next one smaller.
FIRST_PAGE, LARGEST_PAGE = 50, 500
PAGE_CHARS = 1024 * 1024


class LogEvent(NamedTuple):
    """What delivering an event takes: its place, what decides who gets it, and its text."""

    seq: int
    type: str
    thread_id: str | None
    run_id: str | None
    mentions: str
    text: str

    @classmethod
    def of(cls, event: StoredEvent) -> LogEvent:
        return cls(event.seq, event.type, event.thread_id, event.run_id, event.mentions, event.text)

    @classmethod
    def from_message(cls, members: list[Any]) -> LogEvent:
        """As it came over the channel layer."""
        return cls(*members)

    def seen_by(self, threads: frozenset[str] | None, hidden: Hidden) -> str | None:
        """The text a reader of these threads gets: shared, redacted, or None."""
        if not is_delivered_to(self.type, self.thread_id, threads):
            return None
        if not hidden:
            return self.text
        return visible_text(self.text, named=self.mentions, event_type=self.type, hidden=hidden)


def next_page_size(size: int, *, chars: int) -> int:
    """How many events to read next, after a page of this size held so much text."""
    return max(1, size // 2) if chars > PAGE_CHARS else min(size * 2, LARGEST_PAGE)


def event_frame(text: str) -> str:
    """An envelope as a frame of the socket."""
    return f'{{"type":"event",{text[1:]}'


def event_chunk(text: str) -> str:
    """An envelope as a server-sent event, whose id is the seq to resume after."""
    return f"id: {seq_of(text)}\ndata: {text}\n\n"


def seq_of(text: str) -> int:
    """The seq of a stored envelope, whose first member it is."""
    if not text.startswith(_SEQ):
        raise ValueError("a stored envelope begins with its seq")
    return int(text[len(_SEQ) : text.index(",")])
