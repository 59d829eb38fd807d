"""The bounded threads in which async callers reach the database.

Django's own async bridge runs everything of a loop on one thread, so one slow statement would hold
up every socket. A caller that is cancelled waits for the statement in flight: its thread then
gives up before the next one, and the transaction rolls back unless its COMMIT was already sent.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.db import close_old_connections, connections

from . import conf

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

GATHER_SECONDS = 2.0

_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None
_size = 0
_cancelled: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar(
    "artifactr_cancelled", default=None
)


class CallerLeft(BaseException):
    """The coroutine that asked was cancelled. Not an `Exception`: nothing may swallow it."""


def raise_if_cancelled() -> None:
    """Between two statements: go on only if somebody still waits for the result."""
    event = _cancelled.get()
    if event is not None and event.is_set():
        raise CallerLeft


@contextmanager
def for_nobody() -> Iterator[None]:
    """What the block does goes on to its end, whoever asked for it and has left."""
    token = _cancelled.set(None)
    try:
        yield
    finally:
        _cancelled.reset(token)


async def in_pool(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Await `function` in a thread of the pool, with the caller's context."""
    event = threading.Event()
    context = contextvars.copy_context()
    context.run(_cancelled.set, event)
    work: Future[R] = _pool().submit(
        context.run, _with_fresh_connections, partial(function, *args, **kwargs)
    )
    result = asyncio.wrap_future(work)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        event.set()
        # Work that has not begun is simply dropped.
        if not work.cancel():
            await _to_the_end(result)
        raise


def twin(
    method: Callable[Concatenate[S, P], R],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """The async twin of a method or function: the same call, in the pool."""

    @wraps(method)
    async def in_thread(first: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await in_pool(method, first, *args, **kwargs)

    return in_thread


def close_pool() -> None:
    """End the pool's threads and close their connections; the next call begins a new pool."""
    global _executor
    with _lock:
        executor, _executor = _executor, None
    if executor is None:
        return
    together = threading.Barrier(_size)
    for _ in range(_size):
        executor.submit(_close_connections, together)
    executor.shutdown(wait=True)


async def _to_the_end(result: asyncio.Future[Any]) -> None:
    """Wait until the thread has let go, however often the caller is cancelled meanwhile."""
    while not result.done():
        try:
            await asyncio.wait([result])
        except asyncio.CancelledError:
            continue
    if not result.cancelled():
        result.exception()  # nobody asks for it any more


def _with_fresh_connections(call: Callable[[], R]) -> R:
    close_old_connections()
    try:
        raise_if_cancelled()
        return call()
    finally:
        close_old_connections()


def _close_connections(together: threading.Barrier) -> None:
    # So that every thread takes one of these. The executor may have begun fewer threads than it
    # may: then those that are there go on together.
    with suppress(threading.BrokenBarrierError):
        together.wait(GATHER_SECONDS)
    connections.close_all()


def _pool() -> ThreadPoolExecutor:
    global _executor, _size  # noqa: PLW0603 - one pool per process
    with _lock:
        if _executor is None:
            _size = conf.settings().POOL_THREADS
            _executor = ThreadPoolExecutor(_size, thread_name_prefix="artifactr")
        return _executor


def _forget() -> None:
    """In a forked child: the parent's threads do not exist here."""
    global _executor, _lock
    _executor, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
