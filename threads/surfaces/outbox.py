"""What waits to be sent to one reader: bounded, in order, drained by one writer.

Events that do not fit are refused, as the log has them. Answers that do not fit close the
connection: they can be asked for again. Live frames that do not fit are lost, oldest first, and the
reader is told with one frame where they would have been.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from artifacts import conf
from artifacts.core.protocol import AppLive, Live
from threads.surfaces.closing import TOO_SLOW

# Names the live frame that stands for lost ones. Clients that do not know it may pass it over.
LOST = "artifactr.lost"
# How much of the bounds may be events.
EVENTS_PART = 0.75
# Frames that are written at once, before other readers get their turn on the loop.
WRITTEN_FRAMES, WRITTEN_CHARS = 200, 256 * 1024
# Of how many runs a connection remembers which frames it had.
RUNS_REMEMBERED = 1_000


@dataclass(slots=True)
class _LiveEntry:
    run_id: str
    number: int
    text: str | None  # None once it was dropped


class Outbox:
    """Frames for one connection, and the code with which it closes."""

    def __init__(self) -> None:
        settings = conf.settings()
        self._most_frames, self._most_bytes = settings.OUTBOX_FRAMES, settings.OUTBOX_BYTES
        self._most_live, self._most_live_bytes = settings.LIVE_FRAMES, settings.LIVE_BYTES
        self._entries: deque[str | _LiveEntry] = deque()
        self._live: deque[_LiveEntry] = deque()
        self._frames = self._bytes = self._live_bytes = 0
        self._sent: dict[str, int] = {}
        self._offered: dict[str, int] = {}
        self._filled, self._drained = asyncio.Event(), asyncio.Event()
        self.code: int | None = None
        self.closed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        return self.code is not None

    @property
    def is_half_full(self) -> bool:
        """A replay stops here, so that answers and what is live find room beside it."""
        return self._frames * 2 >= self._most_frames or self._bytes * 2 >= self._most_bytes

    def offer_event(self, text: str) -> bool:
        """Add a frame of the log; False if it does not fit. A part is left free for answers."""
        if self._is_over(len(text), part=EVENTS_PART):
            return False
        self._add(text)
        return True

    def offer(self, text: str) -> None:
        """Add an answer; if it does not fit, the connection closes."""
        if self._is_over(len(text)):
            self.close(TOO_SLOW)
        else:
            self._add(text)

    def _is_over(self, size: int, *, part: float = 1.0) -> bool:
        is_full = self._frames >= self._most_frames * part
        is_large = self._bytes + size > self._most_bytes * part
        return self._frames > 0 and (is_full or is_large)

    def _add(self, text: str) -> None:
        if self.is_closed:
            return
        self._entries.append(text)
        self._frames += 1
        self._bytes += len(text)
        self._filled.set()

    def offer_live(self, run_id: str, number: int, text: str) -> None:
        """Add a live frame, unless this connection was offered it before."""
        if self.is_closed or number <= self._offered.get(run_id, 0):
            return
        _remember(self._offered, run_id, number)
        entry = _LiveEntry(run_id, number, text)
        self._entries.append(entry)
        self._live.append(entry)
        self._live_bytes += len(text)
        while len(self._live) > self._most_live or (
            self._live_bytes > self._most_live_bytes and len(self._live) > 1
        ):
            self._drop_oldest()
        if len(self._entries) > self._frames + 2 * self._most_live:
            self._entries = deque(each for each in self._entries if _is_there(each))
        self._filled.set()

    async def room(self) -> None:
        """Wait until most of what waits was sent, or nothing will be any more."""
        while not self.is_closed and (
            self._frames * 4 > self._most_frames or self._bytes * 4 > self._most_bytes
        ):
            self._drained.clear()
            await self._drained.wait()

    async def get(self) -> list[str]:
        """The next frames, in order, as many as make a good write; none once closed."""
        while not (texts := self._next_ones()) and not self.is_closed:
            self._filled.clear()
            await self._filled.wait()
        return texts

    def close(self, code: int, *, after_frames: bool = False) -> None:
        """Take nothing more. What waits is dropped, or goes first."""
        if self.is_closed:
            return
        self.code = code
        self.closed.set()
        if not after_frames:
            self._entries.clear()
            self._live.clear()
        self._filled.set()
        self._drained.set()

    def _next_ones(self) -> list[str]:
        texts: list[str] = []
        chars = 0
        while self._entries and len(texts) < WRITTEN_FRAMES and chars < WRITTEN_CHARS:
            entry = self._entries[0]
            text = self._next_durable(entry) if isinstance(entry, str) else self._next_live(entry)
            if text is not None:
                texts.append(text)
                chars += len(text)
        return texts

    def _next_durable(self, text: str) -> str:
        self._entries.popleft()
        self._frames -= 1
        self._bytes -= len(text)
        self._drained.set()
        return text

    def _next_live(self, entry: _LiveEntry) -> str | None:
        """The frame itself, or first the one that tells of lost ones before it."""
        if entry.text is None:
            self._entries.popleft()
            return None
        missing = entry.number - self._sent.get(entry.run_id, 0) - 1
        if missing > 0:
            _remember(self._sent, entry.run_id, entry.number - 1)
            return _lost(entry.run_id, missing)
        self._entries.popleft()
        self._live.popleft()
        self._live_bytes -= len(entry.text)
        _remember(self._sent, entry.run_id, entry.number)
        return entry.text

    def _drop_oldest(self) -> None:
        entry = self._live.popleft()
        assert entry.text is not None
        self._live_bytes -= len(entry.text)
        entry.text = None


def _is_there(entry: str | _LiveEntry) -> bool:
    return isinstance(entry, str) or entry.text is not None


def _lost(run_id: str, frames: int) -> str:
    lost = AppLive(name=LOST, data={"frames": frames})
    return Live(run_id=run_id, event=lost).model_dump_json(exclude_none=True)


def _remember(numbers: dict[str, int], run_id: str, number: int) -> None:
    numbers[run_id] = number
    if len(numbers) > RUNS_REMEMBERED:
        del numbers[next(iter(numbers))]
