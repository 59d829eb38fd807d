"""After COMMIT: wake this process's followers, run reactions, and tell the other processes.

One thread per process sends to the channel layer, on its own loop, so that a commit neither waits
for it nor fails with it. What cannot be sent is dropped: the log is the truth, and followers look
at it by themselves now and then.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from channels.layers import InMemoryChannelLayer, get_channel_layer

from .. import conf, extensions
from ..extensions import Committed
from ..pool import for_nobody

logger = logging.getLogger("artifactr.publish")

QUEUED = 10_000
SEND_SECONDS = 2.0
# After so many failures in a row nothing is tried for a while: the layer is down.
FAILURES, PAUSE_SECONDS = 3, 5.0
# Larger ranges go without their events; whoever is woken reads them.
MOST_BYTES = 256 * 1024
# How often a follower looks by itself: seldom, where a layer tells it of other processes.
POLL_SECONDS, POLL_SECONDS_WITH_LAYER = 1.0, 5.0

Wake = Callable[[Committed], object]

_lock = threading.Lock()
_followers: dict[int, set[Wake]] = {}


def group_name(workspace_pk: int) -> str:
    """The channel group of a workspace's log."""
    return f"artifactr.log.{workspace_pk}"


def on_append(workspace_pk: int, wake: Wake) -> Callable[[], None]:
    """Call `wake` with each commit of this process, on the thread that made it; returns its end."""
    with _lock:
        _followers.setdefault(workspace_pk, set()).add(wake)

    def end() -> None:
        with _lock:
            wakes = _followers.get(workspace_pk, set())
            wakes.discard(wake)
            if not wakes:
                _followers.pop(workspace_pk, None)

    return end


def after_commit(committed: Committed) -> None:
    """Tell everyone who waits; nothing in here may fail the commit that is already durable, nor
    does it end because the coroutine that asked for the commit was cancelled meanwhile."""
    told = (_wake, _publish) if committed.envelopes else ()
    with for_nobody():
        for tell in (*told, *extensions.reactions()):
            try:
                tell(committed)
            except Exception:
                logger.exception("a reaction failed after seq %s", committed.last_seq)


def _publish(committed: Committed) -> None:
    if reaches_others():
        publisher().put(committed)


def reaches_others() -> bool:
    """Whether there is a layer between processes. One in memory knows this process alone, whose
    followers are awake already, and does not wake another event loop than the sender's."""
    layer = get_channel_layer()
    return layer is not None and not isinstance(layer, InMemoryChannelLayer)


def poll_seconds() -> float:
    """How often a follower looks at the log itself, should a wake-up have been lost."""
    given = conf.settings().FOLLOW_POLL_SECONDS
    if given is not None:
        return given
    return POLL_SECONDS_WITH_LAYER if reaches_others() else POLL_SECONDS


def _wake(committed: Committed) -> None:
    with _lock:
        wakes = tuple(_followers.get(committed.workspace_pk, ()))
    for wake in wakes:
        try:
            wake(committed)
        except RuntimeError:  # its loop is closed: a follower that went without a word
            logger.debug("a follower is gone")


class Publisher(threading.Thread):
    """Sends what was committed to the channel layer, in order, or drops it."""

    def __init__(self) -> None:
        super().__init__(name="artifactr-publisher", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._queue: asyncio.Queue[Committed] = asyncio.Queue(QUEUED)
        self._failures, self._paused_until = 0, 0.0

    def put(self, committed: Committed) -> None:
        """Hand over, without waiting."""
        self._loop.call_soon_threadsafe(self._put, committed)

    def drain(self, timeout: float = 10.0) -> None:
        """Wait until everything put so far was sent or dropped."""
        asyncio.run_coroutine_threadsafe(self._queue.join(), self._loop).result(timeout)

    def run(self) -> None:
        self._loop.run_until_complete(self._forever())

    def _put(self, committed: Committed) -> None:
        try:
            self._queue.put_nowait(committed)
        except asyncio.QueueFull:
            logger.warning("the publisher is behind; followers will poll")

    async def _forever(self) -> None:
        while True:
            committed = await self._queue.get()
            try:
                await self._send(committed)
            finally:
                self._queue.task_done()

    async def _send(self, committed: Committed) -> None:
        layer = get_channel_layer()
        if layer is None or time.monotonic() < self._paused_until:
            return
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await layer.group_send(group_name(committed.workspace_pk), _message(committed))
        except Exception as error:
            self._failed(error)
        else:
            self._failures = 0

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._failures >= FAILURES:
            self._paused_until = time.monotonic() + PAUSE_SECONDS
        logger.warning("the channel layer failed: %s", type(error).__name__)


def _message(committed: Committed) -> dict[str, Any]:
    """What followers of other processes need to hand the events on without reading them."""
    events: list[list[Any]] = [
        [event.seq, event.type, event.thread_id, event.run_id, event.mentions, event.text]
        for event in committed.envelopes
    ]
    if sum(len(event.text) for event in committed.envelopes) > MOST_BYTES:
        events = []
    return {
        "type": "log.appended",
        "workspace_pk": committed.workspace_pk,
        "first_seq": committed.first_seq,
        "last_seq": committed.last_seq,
        "events": events,
    }


_publisher: Publisher | None = None


def publisher() -> Publisher:
    """This process's publisher, started when it is first needed."""
    global _publisher  # noqa: PLW0603 - one per process
    if _publisher is None:
        with _lock:
            if _publisher is None:
                _publisher = Publisher()
                _publisher.start()
    return _publisher


def _forget() -> None:
    """In a forked child: the parent's thread and followers do not exist here."""
    global _publisher, _lock
    _publisher, _lock = None, threading.Lock()
    _followers.clear()


os.register_at_fork(after_in_child=_forget)
