"""Threads for tools that are plain functions: each call has one of its own, with its own connection
to the database, which is closed when the tool comes back.

They are daemons, so a tool that never comes back does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from django.db import connections

from artifacts.pool import awaitable

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


class ToolThreads(Executor):
    """The threads of one attempt. A call that was cancelled goes on; its end can be waited for."""

    def __init__(self) -> None:
        self._running: set[Future[object]] = set()

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        work: Future[R] = Future()

        def run() -> None:
            if not work.set_running_or_notify_cancel():
                return
            error: BaseException | None = None
            try:
                result = fn(*args, **kwargs)
            except BaseException as raised:
                error = awaitable(raised)
            try:
                connections.close_all()
            except Exception:  # what the tool gave counts
                log.warning("a tool's connection could not be closed", exc_info=True)
            if error is not None:
                work.set_exception(error)
            else:
                work.set_result(result)

        self._running.add(work)  # type: ignore[arg-type]
        work.add_done_callback(self._running.discard)
        threading.Thread(target=run, name="tool", daemon=True).start()
        return work

    async def ended(self) -> None:
        """Wait until none of them runs any more."""
        while running := list(self._running):
            await asyncio.wait([asyncio.wrap_future(each) for each in running])
