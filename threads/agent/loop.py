"""The process's one long-lived event loop for agents, on a thread of its own.

Clients of models stay bound to the loop that opened them, so every turn of a process runs on the
same loop, whatever thread or loop asked for it. What a tool raises or blocks costs its own turn:
the loop outlives a `sys.exit()`, and one that is stuck is left behind for a new one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

log = logging.getLogger(__name__)

R = TypeVar("R")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


class Work(Generic[R]):
    """Something that runs on the loop. Unlike a future's, its `cancel` only asks: what is cancelled
    says itself how it ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, R]) -> None:
        self.loop, self._work = loop, work
        self.done: Future[R] = Future()
        self._task: asyncio.Task[R] | None = None
        loop.call_soon_threadsafe(self._start)

    def cancel(self) -> None:
        self.loop.call_soon_threadsafe(self._cancel)

    def _start(self) -> None:
        self._task = self.loop.create_task(self._work)
        self._task.add_done_callback(self._take)

    def _cancel(self) -> None:
        assert self._task is not None, "asked after it was started"
        self._task.cancel()

    def _take(self, task: asyncio.Task[R]) -> None:
        if task.cancelled():
            self.done.set_exception(Cancelled())
        elif (error := task.exception()) is not None:
            self.done.set_exception(error)
        else:
            self.done.set_result(task.result())


class Cancelled(Exception):
    """The work was cancelled before it could say how it ended."""


def submit(work: Coroutine[Any, Any, R]) -> Work[R]:
    """Run `work` on the loop, with the caller's context."""
    return Work(_running(), work)


def is_stuck(loop: asyncio.AbstractEventLoop, *, within_seconds: float) -> bool:
    """Whether something on the loop never yields."""
    turned = threading.Event()
    loop.call_soon_threadsafe(turned.set)
    return not turned.wait(within_seconds)


def _running() -> asyncio.AbstractEventLoop:
    global _loop  # noqa: PLW0603 - one loop per process is the point
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(_loop,), name="agents", daemon=True).start()
        return _loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            # asyncio hands them to whoever waits for the task, and ends the loop besides.
            log.exception("something on the agents' loop tried to end the process")
        else:
            return


def leave_behind(stuck: asyncio.AbstractEventLoop) -> None:
    """Give the next turn a loop of its own: something on this one never yields. Should it yet, what
    is left there ends by itself."""
    global _loop  # noqa: PLW0603 - as above
    with _lock:
        if _loop is stuck:
            _loop = None


def _forget() -> None:
    """In a forked child: the parent's thread does not exist here."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
