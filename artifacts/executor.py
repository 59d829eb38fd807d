"""Where tasks run: on Celery workers, or on daemon threads of this process.

Both run the same Celery task objects, and both read the periodic ones from the Celery app's
`beat_schedule`. A task is only a wake-up: it may be lost, come twice, or come late.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from celery import current_app
from django.db import close_old_connections, connections

from . import conf

log = logging.getLogger(__name__)

THREADS = 4
STOP_SECONDS = 10.0
CUT_STEP_SECONDS = 0.2

Call = tuple[str, tuple[Any, ...]]


_on_stop: list[Callable[[], object]] = []


def enqueue(
    name: str, /, *args: Any, expires_seconds: int | None = None, delay_seconds: float = 0
) -> None:
    """Run the task of this name soon, or after a while, somewhere. Call it after COMMIT only.

    With `expires_seconds`, a call that has waited longer than that in a broker is dropped.
    """
    if _is_embedded():
        _local.put((name, args), delay_seconds)
    else:
        # No retry while a request waits: whatever is lost here, a periodic task finds.
        wait = {"countdown": delay_seconds} if delay_seconds > 0 else {}
        current_app.tasks[name].apply_async(args, expires=expires_seconds, retry=False, **wait)


def start() -> None:
    """Begin with the periodic tasks, where it is this process that runs them, until it ends."""
    if _is_embedded():
        _local.start()
        atexit.unregister(stop)
        atexit.register(stop)


def stop(timeout_seconds: float = STOP_SECONDS) -> bool:
    """Take no more calls and wait for those that run; whether all ended in time."""
    return _local.stop(timeout_seconds)


def on_stop(cut_short: Callable[[], object]) -> None:
    """Call this as the executor of this process stops: what runs long ends early then."""
    _on_stop.append(cut_short)


def _is_embedded() -> bool:
    return conf.settings().EXECUTOR == "threads"


@dataclass(slots=True)
class _Periodic:
    """One entry of the schedule and when it is due, by the process's own steady clock."""

    call: Call
    every_seconds: float
    due: float = field(default_factory=time.monotonic)


class LocalExecutor:
    """A few daemon threads and a timer, started on first use; equal calls that wait are one."""

    def __init__(self, threads: int = THREADS) -> None:
        self._size = threads
        self._changed = threading.Condition()
        self._waiting: dict[Call, None] = {}
        self._later: dict[Call, float] = {}  # when each is due, the first time it was asked for
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._sooner = threading.Event()  # the timer has to look again

    def put(self, call: Call, delay_seconds: float = 0) -> None:
        self.start()
        with self._changed:
            if self._stopping.is_set():
                return
            if delay_seconds > 0:
                self._later.setdefault(call, time.monotonic() + delay_seconds)
                self._sooner.set()
            else:
                self._waiting[call] = None
                self._changed.notify()

    def start(self) -> None:
        with self._changed:
            if self._threads or self._stopping.is_set():
                return
            names = [f"tasks {number}" for number in range(self._size)]
            self._threads = [
                threading.Thread(target=self._work, name=name, daemon=True) for name in names
            ]
            self._threads.append(
                threading.Thread(target=self._tick, name="tasks timer", daemon=True)
            )
            for thread in self._threads:
                thread.start()

    def stop(self, timeout_seconds: float) -> bool:
        """What still waits is left to the next process; its sweep finds it."""
        with self._changed:
            self._stopping.set()
            self._sooner.set()
            self._waiting.clear()
            self._later.clear()
            self._changed.notify_all()
        until = time.monotonic() + timeout_seconds
        while still_running := [thread for thread in self._threads if thread.is_alive()]:
            if time.monotonic() >= until:
                return False
            for cut_short in _on_stop:  # again and again: some may only just have begun
                cut_short()
            still_running[0].join(CUT_STEP_SECONDS)
        with self._changed:
            self._threads = []
            self._stopping.clear()
            self._sooner.clear()
        return True

    def _work(self) -> None:
        try:
            while (call := self._next()) is not None:
                _run(call)
        finally:
            connections.close_all()

    def _next(self) -> Call | None:
        with self._changed:
            while not self._waiting and not self._stopping.is_set():
                self._changed.wait()
            if self._stopping.is_set():
                return None
            call = next(iter(self._waiting))
            del self._waiting[call]
            return call

    def _tick(self) -> None:
        schedule = [_periodic(entry) for entry in current_app.conf.beat_schedule.values()]
        while not self._stopping.is_set():
            self._sooner.clear()
            now = time.monotonic()
            for each in schedule:
                if each.due <= now:
                    each.due = now + each.every_seconds
                    self.put(each.call)
            due = [*(each.due for each in schedule), *self._put_what_is_due(now)]
            self._sooner.wait(max(0.0, min(due) - time.monotonic()) if due else None)

    def _put_what_is_due(self, now: float) -> list[float]:
        """Let delayed calls go whose time has come; when the others are due."""
        with self._changed:
            for call in [call for call, due in self._later.items() if due <= now]:
                del self._later[call]
                self._waiting[call] = None
                self._changed.notify()
            return list(self._later.values())


def _periodic(entry: Mapping[str, Any]) -> _Periodic:
    every = entry["schedule"]
    seconds = every.total_seconds() if isinstance(every, timedelta) else float(every)
    return _Periodic((entry["task"], tuple(entry.get("args", ()))), seconds)


def _run(call: Call) -> None:
    """Run one task here; a failure is told and stops nothing else."""
    name, args = call
    close_old_connections()
    try:
        current_app.tasks[name].run(*args)
    except BaseException:  # such as a SystemExit, which would end this thread
        log.exception("task %s failed", name)
    finally:
        close_old_connections()


_local = LocalExecutor()


def _forget() -> None:
    """In a forked child: the parent's threads do not exist here."""
    global _local  # noqa: PLW0603 - one executor per process is the point
    _local = LocalExecutor()


os.register_at_fork(after_in_child=_forget)
