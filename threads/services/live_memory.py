"""Live frames of runs in this process, for a server that is one process."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from artifacts import conf

# Runs whose frames are kept at most, should some never end.
MOST_RUNS = 1_000

Waiter = tuple[asyncio.AbstractEventLoop, asyncio.Event]


@dataclass(slots=True)
class _Ring:
    """One run's frames and who waits for more."""

    frames: deque[tuple[int, str]] = field(default_factory=deque)
    last: int = 0
    ended_at: float | None = None
    waiters: set[Waiter] = field(default_factory=set)


class MemoryStore:
    """Producers and watchers are on different loops, so everything is under one lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rings: dict[Any, _Ring] = {}

    async def last_number(self, run: Any) -> int:
        with self._lock:
            ring = self._rings.get(run)
            return ring.last if ring else 0

    async def append(
        self, run: Any, frames: Sequence[tuple[int, str]], *, first_kept: int, is_ended: bool
    ) -> None:
        with self._lock:
            ring = self._ring(run)
            ring.frames.extend(frames)
            if frames:
                ring.last = frames[-1][0]
            while ring.frames and ring.frames[0][0] < first_kept:
                ring.frames.popleft()
            ring.ended_at = time.monotonic() if is_ended else None
            waiters = tuple(ring.waiters)
        for loop, event in waiters:
            with suppress(RuntimeError):  # its loop is closed
                loop.call_soon_threadsafe(event.set)

    async def read(self, run: Any, *, after: int, wait_seconds: float) -> list[tuple[int, str]]:
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            ring = self._ring(run)
            if found := _above(ring, after):
                return found
            ring.waiters.add(waiter)
        try:
            # Not `wait_for`, which in Python 3.11 may lose a cancellation to what it waits for.
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await waiter[1].wait()
        finally:
            with self._lock:
                ring.waiters.discard(waiter)
        with self._lock:
            return _above(ring, after)

    async def aclose(self) -> None:
        """Nothing is bound to a loop here."""

    def _ring(self, run: Any) -> _Ring:
        if run not in self._rings:
            self._forget_old()
            self._rings[run] = _Ring()
        return self._rings[run]

    def _forget_old(self) -> None:
        before = time.monotonic() - conf.settings().LIVE_KEPT_SECONDS
        for run, ring in list(self._rings.items()):
            is_old = ring.ended_at is not None and ring.ended_at < before
            if is_old and not ring.waiters:
                del self._rings[run]
        while len(self._rings) >= MOST_RUNS:
            del self._rings[next(iter(self._rings))]


def _above(ring: _Ring, number: int) -> list[tuple[int, str]]:
    return [frame for frame in ring.frames if frame[0] > number]
