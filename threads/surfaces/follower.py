"""Follows one workspace's log for everyone in this process who reads it.

Pushes that continue the log are handed on at once; for a gap, and whenever the head is found to be
ahead, the log is read. So a push may be lost, repeated or late: every reader gets every event once
and in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from artifacts import selectors as log
from artifacts.core.visibility import NOTHING_HIDDEN
from artifacts.extensions import Committed
from artifacts.pool import in_pool
from artifacts.selectors import Window
from artifacts.telemetry import untraced
from artifacts.workspace import on_append
from threads import selectors
from threads.surfaces.events import FIRST_PAGE, Frame, LogEvent, next_page_size

if TYPE_CHECKING:
    from threads.surfaces.subscription import Subscription

logger = logging.getLogger("artifactr.follow")

# A push that is missing may only be late: another thread's commit, another process's message.
GAP_SECONDS = 0.005
# What came early and is kept meanwhile; beyond it the log is read anyway.
MOST_EARLY = 1_000
# Kept for readers that are about to arrive at the head of a log that does not stand still.
RECENT, RECENT_BYTES = 256, 1024 * 1024


class Follower:
    """One workspace's readers; `head` is the last event they were given."""

    def __init__(self, workspace_pk: int, *, on_run_ended: Any) -> None:
        self.pk = workspace_pk
        self.users = 0
        self.head = 0
        self.active: dict[str, str] = {}  # run id → thread id, of runs that have not ended
        # How often an event was framed; it must not depend on how many readers there are.
        self.framed = 0
        self._on_run_ended = on_run_ended
        self._subscriptions: dict[Subscription, None] = {}
        self._early: dict[int, LogEvent] = {}
        self._recent: deque[LogEvent] = deque(maxlen=RECENT)
        self._recent_bytes = 0
        self._known_head = 0
        self._is_started = False
        self._reading: asyncio.Task[None] | None = None
        self._late: asyncio.TimerHandle | None = None
        self._end_local = lambda: None

    # Its life

    async def start(self) -> None:
        """Listen first, then ask where the log stands, so that nothing falls between."""
        loop = asyncio.get_running_loop()

        def wake(committed: Committed) -> None:
            events = [LogEvent.of(event) for event in committed.envelopes]
            loop.call_soon_threadsafe(self.push, events, committed.last_seq)

        self._end_local = on_append(self.pk, wake)
        self.head, self.active = await in_pool(_standing, self.pk)
        self._is_started = True
        self.note_head(self._known_head)

    def stop(self) -> None:
        self._end_local()
        for running in (self._reading, self._late):
            if running is not None:
                running.cancel()

    # What comes in

    def push(self, events: Sequence[LogEvent], last_seq: int) -> None:
        """Take what a commit wrote, or only learn how far the log goes."""
        self._known_head = max(self._known_head, last_seq)
        if not self._is_started:
            return
        for event in events:
            if event.seq == self.head + 1:
                self._deliver(event)
            elif event.seq > self.head:
                self._early[event.seq] = event
        self._deliver_early()
        if self.head >= self._known_head:
            return
        if not events or len(self._early) > MOST_EARLY:
            self._read_on()
        elif self._late is None:
            self._late = asyncio.get_running_loop().call_later(GAP_SECONDS, self._gap_stays)

    def note_head(self, head: int) -> None:
        """The log is known to reach this far: read what has not come."""
        self._known_head = max(self._known_head, head)
        if self._is_started and self.head < self._known_head:
            self._read_on()

    def _gap_stays(self) -> None:
        self._late = None
        self.note_head(self._known_head)

    def _read_on(self) -> None:
        if self._reading is None or self._reading.done():
            with untraced():  # a push comes with the context of whoever committed
                self._reading = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        """Page through the log up to what is known of it; one of these at a time."""
        size = FIRST_PAGE
        try:
            while self.head < self._known_head:
                window = Window(after_seq=self.head, limit=size)
                page = await in_pool(log.events, self.pk, window, NOTHING_HIDDEN)
                if not page:
                    self._known_head = self.head  # a push that lied, or came of a rolled back log
                self._take_page(page)
                size = next_page_size(size, chars=sum(len(event.text) for event in page))
                await asyncio.sleep(0)
        except Exception as error:
            logger.warning("the log could not be read: %s", type(error).__name__)

    def _take_page(self, page: Iterable[Any]) -> None:
        for stored in page:
            if stored.seq == self.head + 1:  # else a push was quicker
                self._deliver(LogEvent.of(stored))
        self._deliver_early()

    def _deliver_early(self) -> None:
        while self._early:
            event = self._early.pop(self.head + 1, None)
            if event is None:
                break
            self._deliver(event)
        for seq in [seq for seq in self._early if seq <= self.head]:
            del self._early[seq]

    # What goes out

    def attach(self, subscription: Subscription) -> bool:
        """Take a reader in if nothing is missing between it and the head; without waiting.

        Between the check and the taking in nothing else runs, so no event is left out or doubled.
        """
        if subscription.cursor < self.head:
            missing = [event for event in self._recent if event.seq > subscription.cursor]
            if len(missing) != self.head - subscription.cursor:
                return False
            for event in missing:
                self._give(subscription, event, {})
            if subscription.cursor < self.head:  # not all of it found room
                return False
        self._subscriptions[subscription] = None
        return True

    def detach(self, subscription: Subscription) -> None:
        self._subscriptions.pop(subscription, None)

    def _deliver(self, event: LogEvent) -> None:
        self.head = event.seq
        self._keep(event)
        self._note_run(event)
        frames: dict[Frame, str] = {}
        for subscription in tuple(self._subscriptions):
            self._give(subscription, event, frames)
        if event.type == "run_ended" and event.run_id is not None:
            self._on_run_ended(self.pk, event.run_id)

    def _give(self, subscription: Subscription, event: LogEvent, frames: dict[Frame, str]) -> None:
        """Hand on the shared frame, or one of its own to a reader who may not see everything.

        One who has no room for it leaves, and comes back when it has caught up.
        """
        if event.seq != subscription.cursor + 1:
            return
        text = event.seen_by(subscription.threads, subscription.hidden)
        if text is None:
            frame = None
        elif text is not event.text:
            frame = subscription.frame(text)
        else:
            frame = frames.get(subscription.frame)
            if frame is None:
                self.framed += 1
                frame = frames[subscription.frame] = subscription.frame(text)
        if not subscription.take(event, frame):
            self.detach(subscription)

    def _keep(self, event: LogEvent) -> None:
        if len(self._recent) == RECENT:
            self._recent_bytes -= len(self._recent.popleft().text)
        self._recent.append(event)
        self._recent_bytes += len(event.text)
        while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= len(self._recent.popleft().text)

    def _note_run(self, event: LogEvent) -> None:
        if event.run_id is None:
            return
        if event.type == "run_started" and event.thread_id is not None:
            self.active[event.run_id] = event.thread_id
        elif event.type == "run_ended":
            self.active.pop(event.run_id, None)


def _standing(workspace_pk: int) -> tuple[int, dict[str, str]]:
    """The head, and the runs that have not ended. In this order: what a run does after the head
    was read comes as an event."""
    head = log.head_seq(workspace_pk)
    return head, dict(selectors.active_runs(workspace_pk))
