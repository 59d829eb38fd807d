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
from typing import Any, TypeVar

log = logging.getLogger(__name__)

R = TypeVar("R")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def submit(work: Coroutine[Any, Any, R]) -> Future[R]:
    """Run `work` on the loop; cancelling the future cancels it there."""
    return asyncio.run_coroutine_threadsafe(work, _running())


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


def leave_behind() -> None:
    """Give the next turn a loop of its own: something on this one never yields. Should it yet, what
    is left there ends by itself."""
    global _loop  # noqa: PLW0603 - as above
    with _lock:
        _loop = None


def _forget() -> None:
    """In a forked child: the parent's thread does not exist here."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
