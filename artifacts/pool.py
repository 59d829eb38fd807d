"""The bounded threads in which async callers reach the database.

Django's own async bridge runs everything of a loop on one thread, so one slow statement would hold
up every socket. A caller that is cancelled waits for the statement in flight: its thread then
gives up before the next one, and the transaction rolls back unless its COMMIT was already sent.

To connect costs more than most of what is asked, so a thread keeps its connections from one call to
the next, and ends with them once it has had nothing to do for a while.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial, wraps
from queue import Empty, SimpleQueue
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.db import connections

from . import conf

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

# A thread that has had nothing to do for so long ends, and its connections with it.
IDLE_SECONDS = 10.0
# A connection that was not used for so long is asked whether it still lives.
TRUSTED_SECONDS = 1.0
CLOSE_SECONDS = 60.0

log = logging.getLogger(__name__)

_lock = threading.Lock()
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
    work: Future[R] = Future()
    _submit(
        _Call(work, partial(context.run, _unless_cancelled, partial(function, *args, **kwargs)))
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


async def at_all_events(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """As `in_pool`, but done to its end however often the caller is cancelled, who then hears of it
    after that: for what gives something back."""
    context = contextvars.copy_context()
    context.run(_cancelled.set, None)
    work: Future[R] = Future()
    _submit(_Call(work, partial(context.run, partial(function, *args, **kwargs))))
    result = asyncio.wrap_future(work)
    if await _to_the_end(result):
        raise asyncio.CancelledError
    return result.result()


def twin(
    method: Callable[Concatenate[S, P], R],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """The async twin of a method or function: the same call, in the pool."""

    @wraps(method)
    async def in_thread(first: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await in_pool(method, first, *args, **kwargs)

    return in_thread


def replace_dead_connections() -> None:
    """Ask this thread's connections whether they still live, after it has waited for something;
    one that does not is made anew."""
    for each in connections.all(initialized_only=True):
        if each.connection is not None and not each.in_atomic_block and not each.is_usable():
            each.close()


def close_pool() -> None:
    """End the pool's threads and close their connections; the next call begins a new pool."""
    global _pool
    with _lock:
        closed, _pool = _pool, None
    if closed is not None:
        closed.close()


async def _to_the_end(result: asyncio.Future[Any]) -> bool:
    """Wait until the thread has let go, however often the caller is cancelled meanwhile; whether it
    was."""
    was_cancelled = False
    while not result.done():
        try:
            await asyncio.wait([result])
        except asyncio.CancelledError:
            was_cancelled = True
    if not result.cancelled():
        result.exception()  # perhaps nobody asks for it any more
    return was_cancelled


def _unless_cancelled(call: Callable[[], R]) -> R:
    raise_if_cancelled()
    return call()


def awaitable(error: BaseException) -> BaseException:
    """An error as a coroutine can be given it: of a `StopIteration` it would never hear."""
    if not isinstance(error, StopIteration):
        return error
    told = RuntimeError("a call raised StopIteration")
    told.__cause__ = error
    return told


class _Call:
    """One call, and the future of its result."""

    def __init__(self, work: Future[Any], call: Callable[[], Any]) -> None:
        self._work, self._call = work, call

    def run(self) -> Callable[[], None]:
        """Make it; what is given tells whoever waits for it."""
        if not self._work.set_running_or_notify_cancel():
            return lambda: None
        try:
            result = self._call()
        except BaseException as error:
            return partial(self._work.set_exception, awaitable(error))
        return partial(self._work.set_result, result)


class _Thread(threading.Thread):
    """Runs calls that it is given, one after the other; None ends it."""

    def __init__(self, pool: _Pool, first: _Call) -> None:
        super().__init__(name="artifactr", daemon=True)
        self.inbox: SimpleQueue[_Call | None] = SimpleQueue()
        self.inbox.put(first)
        self._pool = pool
        self._last_used = time.monotonic()

    def run(self) -> None:
        try:
            while (call := self._next()) is not None:
                self._keep_connections()
                tell = call.run()
                self._keep_connections()
                # In this order, so that whoever is told finds a free thread, and its connections.
                self._pool.is_free(self)
                tell()
                del call, tell  # or what they hold would live until the next one
        finally:
            connections.close_all()

    def _next(self) -> _Call | None:
        try:
            return self.inbox.get(timeout=IDLE_SECONDS)
        except Empty:
            # What was put in just now, while the lock was waited for, is done yet.
            return None if self._pool.let_go(self) else self.inbox.get()

    def _keep_connections(self) -> None:
        """As Django does between requests, except that a host that allows no connection to outlast
        a request does not mean these. One of a pool goes back to it."""
        now = time.monotonic()
        is_trusted, self._last_used = now - self._last_used < TRUSTED_SECONDS, now
        for each in connections.all(initialized_only=True):
            if not (
                each.settings_dict["OPTIONS"].get("pool") or each.settings_dict["CONN_MAX_AGE"]
            ):
                each.close_at = None
            if not is_trusted:
                each.errors_occurred = True  # so that it is asked
            try:
                each.close_if_unusable_or_obsolete()
            except Exception:  # whoever waits for this thread must hear from it all the same
                log.warning("a connection could not be closed", exc_info=True)
                del connections[each.alias]


class _Pool:
    """Whoever was busy last is busy next, so that those whom nothing needs come to their end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._threads: set[_Thread] = set()
        self._free: list[_Thread] = []
        self._waiting: deque[_Call] = deque()
        self._is_closed = False

    def submit(self, call: _Call) -> bool:
        """False once the pool is closed."""
        with self._lock:
            if self._is_closed:
                return False
            if self._free:
                self._free.pop().inbox.put(call)
            elif len(self._threads) < self._most:
                thread = _Thread(self, call)
                self._threads.add(thread)
                thread.start()
            else:
                self._waiting.append(call)
        return True

    def is_free(self, thread: _Thread) -> None:
        with self._lock:
            if self._waiting:
                thread.inbox.put(self._waiting.popleft())
            elif self._is_closed:
                thread.inbox.put(None)
            else:
                self._free.append(thread)

    def let_go(self, thread: _Thread) -> bool:
        """Let a thread end, unless it was given a call just now."""
        with self._lock:
            if thread not in self._free:
                return False
            self._free.remove(thread)
            self._threads.discard(thread)
            return True

    def close(self) -> None:
        """What was put in is done; then all threads end. What hangs is left behind."""
        with self._lock:
            self._is_closed = True
            for thread in self._free:
                thread.inbox.put(None)
            self._free.clear()
        until = time.monotonic() + CLOSE_SECONDS
        for thread in list(self._threads):
            thread.join(max(0.0, until - time.monotonic()))


_pool: _Pool | None = None


def _submit(call: _Call) -> None:
    global _pool  # noqa: PLW0603 - one pool per process
    while True:
        with _lock:
            if _pool is None:
                _pool = _Pool(conf.settings().POOL_THREADS)
            pool = _pool
        if pool.submit(call):
            return


def _forget() -> None:
    """In a forked child: the parent's threads do not exist here."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
atexit.register(close_pool)
