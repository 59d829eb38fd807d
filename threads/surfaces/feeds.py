"""The live frames of one run, read once in this process for all who watch it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from artifacts import conf
from threads.services.live import RunKey, store
from threads.surfaces.outbox import Outbox

logger = logging.getLogger("artifactr.live")

WAIT_SECONDS = 2.0
AGAIN_SECONDS = 0.5


class RunFeed:
    """A run's watchers, and what they may still be given of it."""

    def __init__(self, run: RunKey, *, on_end: Callable[[RunFeed], None]) -> None:
        self.run = run
        self._on_end = on_end
        self._watchers: set[Outbox] = set()
        self._frames: deque[tuple[int, str]] = deque()
        self._bytes = 0
        self._is_over = False
        self._task = asyncio.get_running_loop().create_task(self._pump())

    @property
    def is_going_on(self) -> bool:
        return not self._task.done()

    def watch(self, outbox: Outbox) -> None:
        """Give what was kept, then what comes."""
        for number, text in self._frames:
            outbox.offer_live(self.run.run_id, number, text)
        self._watchers.add(outbox)

    def unwatch(self, outbox: Outbox) -> None:
        self._watchers.discard(outbox)
        if not self._watchers:
            self.stop()

    def finish(self) -> None:
        """The run has ended: give what is left, then end."""
        self._is_over = True

    def stop(self) -> None:
        self._task.cancel()
        self._on_end(self)

    async def _pump(self) -> None:
        last = 0
        while True:
            is_last_look = self._is_over
            found = await self._read(last, 0 if is_last_look else WAIT_SECONDS)
            for number, text in found:
                self._take(number, text)
                last = number
            if is_last_look and not found:
                self._on_end(self)
                return

    async def _read(self, after: int, wait_seconds: float) -> list[tuple[int, str]]:
        try:
            async with asyncio.timeout(wait_seconds + WAIT_SECONDS):
                return await store().read(self.run, after=after, wait_seconds=wait_seconds)
        except Exception as error:
            logger.warning("live frames could not be read: %s", type(error).__name__)
            await asyncio.sleep(AGAIN_SECONDS)
            return []

    def _take(self, number: int, text: str) -> None:
        settings = conf.settings()
        self._frames.append((number, text))
        self._bytes += len(text)
        while len(self._frames) > settings.LIVE_FRAMES or self._bytes > settings.LIVE_BYTES:
            self._bytes -= len(self._frames.popleft()[1])
        for outbox in tuple(self._watchers):
            outbox.offer_live(self.run.run_id, number, text)
