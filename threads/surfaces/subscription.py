"""One reader's place in a log: replay in pages, then live, without a seam.

A page is read only when most of the one before was sent, so a slow reader is never cut while it
catches up. Once live, a reader has an outbox's worth of events and then some seconds; one that
takes too little in that time is cut, the others are given the log in pages again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from artifacts.core.protocol import ActiveRun
from artifacts.core.resume import resume
from artifacts.pool import in_pool
from artifacts.workspace import Workspace
from threads.services.live import RunKey
from threads.surfaces.admissions import Admission
from threads.surfaces.closing import TOO_SLOW
from threads.surfaces.events import FIRST_PAGE, Frame, LogEvent, next_page_size
from threads.surfaces.feeds import RunFeed
from threads.surfaces.follower import Follower
from threads.surfaces.hub import Hub
from threads.surfaces.outbox import Outbox

# How long a reader that was live may take to make room.
SLOW_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a reader begins, and the threads it follows (None: all of them)."""

    after_seq: int = 0
    from_head: bool = False
    threads: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a reader is told first."""

    head_seq: int
    reset: bool
    active_runs: tuple[ActiveRun, ...]


class Subscription:
    """A reader on its way through a log; `cursor` is the last event it has passed."""

    def __init__(
        self, hub: Hub, admission: Admission, outbox: Outbox, frame: Frame, *, watches_runs: bool
    ) -> None:
        self.workspace, self.hidden = admission.workspace, admission.hidden
        self.threads: frozenset[str] | None = None
        self.cursor = 0
        self.frame = frame
        self._hub, self._outbox, self._watches_runs = hub, outbox, watches_runs
        self._feeds: set[RunFeed] = set()
        self._is_live = False
        self._behind = asyncio.Event()

    def keep(self, admission: Admission) -> None:
        """The role or what is hidden may have changed."""
        self.workspace, self.hidden = admission.workspace, admission.hidden

    async def run(
        self,
        start: Start,
        *,
        greet: Callable[[Greeting], None],
        arrived: Callable[[int], None],
    ) -> None:
        """Replay, then stay; cancel it to end it. `arrived` is called between the two."""
        self.threads = start.threads
        async with self._hub.following(self.workspace.pk) as follower:
            head = await self.workspace.ahead_seq()
            follower.note_head(head)
            place = resume(head if start.from_head else start.after_seq, head_seq=head)
            self.cursor = place.after_seq
            greet(Greeting(head, place.reset, self._active_runs(follower)))
            try:
                await self._replay(follower, self._outbox.room)
                arrived(self.cursor)
                self._is_live = True
                while not self._outbox.is_closed:
                    self._watch_active(follower)
                    await self._behind.wait()
                    self._behind.clear()
                    await self._replay(follower, self._room_soon)
            finally:
                follower.detach(self)
                for feed in self._feeds:
                    feed.unwatch(self._outbox)

    async def _room_soon(self) -> None:
        try:
            async with asyncio.timeout(SLOW_SECONDS):
                await self._outbox.room()
        except TimeoutError:
            self._outbox.close(TOO_SLOW)

    async def _replay(self, follower: Follower, room: Callable[[], Awaitable[None]]) -> None:
        size = FIRST_PAGE
        while not self._outbox.is_closed:
            await room()
            # From the moment this says yes, what is appended comes by itself.
            if follower.attach(self):
                return
            texts, self.cursor = await in_pool(
                _page, self.workspace, self.cursor, self.threads, size
            )
            for text in texts:
                if self._outbox.is_half_full:
                    await room()
                self._outbox.offer_event(self.frame(text))
            size = next_page_size(size, chars=sum(map(len, texts)))

    def take(self, event: LogEvent, frame: str | None) -> bool:
        """An event from the follower; without a frame it is not for this reader. False if there is
        no room for it: the reader has fallen behind."""
        if frame is not None and not self._outbox.offer_event(frame):
            self._behind.set()
            return False
        self.cursor = event.seq
        is_watched = self._is_live and self._watches_runs and event.type == "run_started"
        if is_watched and frame is not None and event.run_id is not None:
            self.watch(event.run_id)
        return True

    # Live frames

    def watch(self, run_id: str, *, is_over: bool = False) -> None:
        """Get a run's live frames, those kept so far first."""
        feed = self._hub.feed(RunKey(self.workspace.pk, run_id))
        self._feeds = {each for each in self._feeds if each.is_going_on} | {feed}
        feed.watch(self._outbox)
        if is_over:
            feed.finish()

    def _watch_active(self, follower: Follower) -> None:
        if self._watches_runs:
            for run in self._active_runs(follower):
                self.watch(run.run_id)

    def _active_runs(self, follower: Follower) -> tuple[ActiveRun, ...]:
        return tuple(
            ActiveRun(run_id=run_id, thread_id=thread_id)
            for run_id, thread_id in follower.active.items()
            if (self.threads is None or thread_id in self.threads)
            and thread_id not in self.hidden.threads
        )


def _page(
    workspace: Workspace, after_seq: int, threads: frozenset[str] | None, size: int
) -> tuple[list[str], int]:
    """What a reader sees of the next `size` numbers, and how far that goes."""
    # The head first: everything up to it is there to be read.
    up_to = min(workspace.head_seq(), after_seq + size)
    if up_to <= after_seq:
        return [], after_seq
    found = workspace.read_text(after_seq=after_seq, before_seq=up_to + 1, threads=threads)
    return found, up_to
