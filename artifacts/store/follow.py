"""Following a log: replay in pages, then wake with each commit of this process.

A commit elsewhere is met at the next poll. The next number is always asked of the database, so
there is no seam between replay and live, and a lost wake-up costs a moment only.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from ..core.events import Envelope
from ..core.visibility import Hidden
from ..pool import in_pool
from ..selectors import Window, head_seq, texts
from ..telemetry import untraced
from . import publish

PAGE = 500


class Followed(Protocol):
    """What is needed of a workspace to follow it."""

    @property
    def pk(self) -> int: ...

    @property
    def hidden(self) -> Hidden: ...

    def require(self, action: str) -> None: ...


def follow(workspace: Followed, window: Window, poll_seconds: float | None) -> Iterator[Envelope]:
    """Envelopes from `window.after_seq` on, without end."""
    appended = threading.Event()
    end = publish.on_append(workspace.pk, lambda _: appended.set())
    try:
        while True:
            appended.clear()
            found, window = _page(workspace, window)
            yield from found
            if not found:
                appended.wait(_pause(poll_seconds))
    finally:
        end()


async def afollow(
    workspace: Followed, window: Window, poll_seconds: float | None
) -> AsyncIterator[Envelope]:
    """The same for a coroutine; the database is read in the pool."""
    appended = asyncio.Event()
    loop = asyncio.get_running_loop()
    end = publish.on_append(workspace.pk, lambda _: loop.call_soon_threadsafe(appended.set))
    try:
        while True:
            appended.clear()
            found, window = await in_pool(_page, workspace, window)
            for envelope in found:
                yield envelope
            if not found:
                await _waited(appended, _pause(poll_seconds))
    finally:
        end()


def _page(workspace: Followed, window: Window) -> tuple[Sequence[Envelope], Window]:
    """The next page, and the window behind it."""
    with untraced():
        workspace.require("read_events")
        # Read first: what is committed after it comes with the next page.
        head = head_seq(workspace.pk)
        found = texts(workspace.pk, replace(window, limit=PAGE), workspace.hidden)
    page = [Envelope.model_validate_json(text) for text in found]
    # Less than a page: all up to the head has been looked at, seen by this reader or not.
    reached = page[-1].seq if page else window.after_seq
    if len(page) < PAGE:
        reached = max(reached, head)
    return page, replace(window, after_seq=reached)


def _pause(poll_seconds: float | None) -> float:
    return publish.poll_seconds() if poll_seconds is None else poll_seconds


async def _waited(event: asyncio.Event, seconds: float) -> None:
    # Not `wait_for`, which in Python 3.11 may lose a cancellation to what it waits for.
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
