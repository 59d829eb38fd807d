"""What a run produces while it goes on: numbered, in order, kept for a while, never in the log.

    live = open_run(workspace, run_id)
    live.send(TextDelta(part=0, delta="Hel"))
    live.close()                               # before the fact that ends the run

`send` only queues. One thread per process writes what was queued to the store every 50 ms, where
deltas of a part have become one frame by then. A store in this process serves one server; with a
channel layer in Redis, watchers in any process read the same frames. What is lost, to a bound or to
a Redis that is away, leaves a hole in the numbers, and watchers say so.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from artifacts import conf
from artifacts.core.protocol import Live, LiveEvent, TextDelta, ThinkingDelta, ToolArgsDelta
from artifacts.workspace import Workspace
from threads.services.live_memory import MemoryStore
from threads.services.live_redis import RedisStore, is_layer_in_redis

logger = logging.getLogger("artifactr.live")

COALESCE_SECONDS = 0.05
# A delta grows no further than this while it waits.
DELTA_CHARS = 16_384
STORE_SECONDS = 2.0
DELTAS = (TextDelta, ThinkingDelta, ToolArgsDelta)


class RunKey(NamedTuple):
    """A run of a workspace."""

    workspace_pk: int
    run_id: str


class LiveStore(Protocol):
    """Where frames are kept by run and number."""

    async def last_number(self, run: RunKey) -> int:
        """The highest number so far, 0 for a run without frames."""
        ...

    async def append(
        self,
        run: RunKey,
        frames: Sequence[tuple[int, str]],
        *,
        first_kept: int,
        is_ended: bool,
    ) -> None:
        """Add frames, forget those below `first_kept`, and all of them some time after the end."""
        ...

    async def read(self, run: RunKey, *, after: int, wait_seconds: float) -> list[tuple[int, str]]:
        """Frames above a number; if there are none, wait for some a while."""
        ...

    async def aclose(self) -> None:
        """Let go of what is bound to this loop."""
        ...


@dataclass(slots=True)
class _Delta:
    """Deltas of one part that are still one frame."""

    kind: type[Any]
    part: int
    texts: list[str]
    chars: int = 0

    def event(self) -> LiveEvent:
        made: LiveEvent = self.kind(part=self.part, delta="".join(self.texts))
        return made


class RunLive:
    """The producing end of one run; call it from any thread or loop."""

    def __init__(self, run: RunKey, publisher: LivePublisher) -> None:
        self.run = run
        self._publisher = publisher
        self._lock = threading.Lock()
        self._pending: deque[_Delta | LiveEvent] = deque()
        self._lost = 0  # frames that were dropped before they had a number
        self._number: int | None = None
        self._kept: deque[tuple[int, int]] = deque()
        self._kept_bytes = self._first_kept = 0
        self._is_closed = False
        self._flushed = threading.Event()

    def send(self, event: LiveEvent) -> None:
        """Queue an event; never waits, and drops the oldest beyond the bound."""
        with self._lock:
            if self._is_closed:
                return
            if not self._joined(event):
                self._pending.append(_pending(event))
                if len(self._pending) > conf.settings().LIVE_FRAMES:
                    self._pending.popleft()
                    self._lost += 1
        self._publisher.wake(self)

    def close(self, timeout: float = STORE_SECONDS) -> None:
        """Take nothing more, and wait a moment until what was sent can be watched."""
        with self._lock:
            self._is_closed = True
        self._publisher.wake(self)
        self._flushed.wait(timeout)

    async def aclose(self) -> None:
        """The same for a coroutine."""
        await asyncio.to_thread(self.close)

    def _joined(self, event: LiveEvent) -> bool:
        """Whether the event became part of the frame that waits last."""
        last = self._pending[-1] if self._pending else None
        if (
            not isinstance(event, DELTAS)
            or not isinstance(last, _Delta)
            or (last.kind, last.part) != (type(event), event.part)
            or last.chars + len(event.delta) > DELTA_CHARS
        ):
            return False
        last.texts.append(event.delta)
        last.chars += len(event.delta)
        return True

    async def flush(self, store: LiveStore) -> None:
        """Number what waits and write it. On the publisher's loop only."""
        try:
            if self._number is None:
                self._number = await store.last_number(self.run)
            frames = self._take(self._number)
            await store.append(
                self.run, frames, first_kept=self._first_kept, is_ended=self._is_closed
            )
        finally:
            # What came, and the end itself, while the last frames were written waits for a turn.
            with self._lock:
                is_done = self._is_closed and not self._pending
            if is_done:
                self._flushed.set()

    def _take(self, number: int) -> list[tuple[int, str]]:
        with self._lock:
            pending, self._pending = self._pending, deque()
            number += self._lost
            self._lost = 0
        frames = []
        for number, each in enumerate(pending, start=number + 1):  # noqa: B020 - it goes on
            text = self._framed(each)
            frames.append((number, text))
            self._keep(number, len(text))
        self._number = number
        return frames

    def _framed(self, pending: _Delta | LiveEvent) -> str:
        event = pending.event() if isinstance(pending, _Delta) else pending
        return Live(run_id=self.run.run_id, event=event).model_dump_json(exclude_none=True)

    def _keep(self, number: int, size: int) -> None:
        """Count what is kept, and move the number below which it is forgotten."""
        settings = conf.settings()
        self._kept.append((number, size))
        self._kept_bytes += size
        while len(self._kept) > settings.LIVE_FRAMES or self._kept_bytes > settings.LIVE_BYTES:
            dropped, its_size = self._kept.popleft()
            self._kept_bytes -= its_size
            self._first_kept = dropped + 1


class LivePublisher(threading.Thread):
    """Writes what runs of this process have sent, on a loop of its own."""

    def __init__(self) -> None:
        super().__init__(name="artifactr-live", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._waiting: dict[RunLive, None] = {}
        self._woken = asyncio.Event()
        self._is_stopping = False

    def wake(self, run: RunLive) -> None:
        if run not in self._waiting:  # set by the loop alone; a second call does no harm
            self._loop.call_soon_threadsafe(self._add, run)

    def run(self) -> None:
        self._loop.run_until_complete(self._forever())
        self._loop.close()

    def stop(self) -> None:
        """Write what waits, let go of the store, and end."""

        def stopping() -> None:
            self._is_stopping = True
            self._woken.set()

        self._loop.call_soon_threadsafe(stopping)
        self.join()

    def _add(self, run: RunLive) -> None:
        self._waiting[run] = None
        self._woken.set()

    async def _forever(self) -> None:
        while not self._is_stopping:
            await self._woken.wait()
            self._woken.clear()
            runs = list(self._waiting)
            self._waiting.clear()
            await asyncio.gather(*(self._flush(run) for run in runs))
            # What comes meanwhile is written together.
            await asyncio.sleep(COALESCE_SECONDS)
        await store().aclose()

    async def _flush(self, run: RunLive) -> None:
        try:
            async with asyncio.timeout(STORE_SECONDS):
                await run.flush(store())
        except Exception as error:
            logger.warning("live frames were lost: %s", type(error).__name__)


_lock = threading.Lock()
_publisher: LivePublisher | None = None
_memory = MemoryStore()
_redis = RedisStore()


def store() -> LiveStore:
    """Where frames are kept: in Redis where the channel layer is, else in this process."""
    return _redis if is_layer_in_redis() else _memory


def open_run(workspace: Workspace, run_id: str) -> RunLive:
    """The producing end of a run's live frames. One per run at a time, whichever process."""
    global _publisher  # noqa: PLW0603 - one per process is the point
    with _lock:
        if _publisher is None:
            _publisher = LivePublisher()
            _publisher.start()
    return RunLive(RunKey(workspace.pk, run_id), _publisher)


def _pending(event: LiveEvent) -> _Delta | LiveEvent:
    if not isinstance(event, DELTAS):
        return event
    return _Delta(type(event), event.part, [event.delta], len(event.delta))


def _forget() -> None:
    """In a forked child: the parent's thread and connections do not exist here."""
    global _publisher, _lock, _memory, _redis
    _publisher, _lock = None, threading.Lock()
    _memory, _redis = MemoryStore(), RedisStore()


os.register_at_fork(after_in_child=_forget)
