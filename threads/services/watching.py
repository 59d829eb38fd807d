"""Running turns of this process, and what cuts them short: a stop asked for anywhere, or the end of
the process.

One thread looks for all of them, with one statement at a time, and only while there are any.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from django.db import Error, close_old_connections, connections

from artifacts import conf, telemetry
from artifacts.core.outcomes import AnyOutcome
from artifacts.workspace import Workspace
from threads import selectors
from threads.services.stops import request_stop
from threads.services.turns import wake_thread

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5

Why = Literal["stopped", "handed_over", "lost"]


class Running(Protocol):
    """A turn that can be cut short, from any thread and more than once."""

    @property
    def key(self) -> tuple[int, str]:
        """The key of its workspace and its run's id."""
        ...

    def cancel(self, why: Why) -> None: ...


class Flag(Protocol):
    """Says that this process ends. It may be one that outlives a fork, so that a worker's main
    process can tell its children."""

    def is_set(self) -> bool: ...
    def set(self) -> None: ...


def stop_run(
    workspace: Workspace,
    run_id: str,
    *,
    command_id: str | None = None,
    body_sha256: str | None = None,
) -> AnyOutcome:
    """Ask a run to stop, wherever it is; a paused one has nobody who looks, so somebody is sent."""
    outcome = request_stop(workspace, run_id, command_id=command_id, body_sha256=body_sha256)
    thread_id = selectors.paused_in(workspace.pk, run_id)
    if thread_id is not None:
        wake_thread(workspace.id, thread_id)
    _watch.look_now()
    return outcome


@contextmanager
def watched(turn: Running) -> Iterator[None]:
    """Cut the turn short inside the block, should anybody want that."""
    _watch.add(turn)
    try:
        yield
    finally:
        _watch.remove(turn)


def drain() -> None:
    """From now on turns have `DRAIN_SECONDS` to end, and no new one begins."""
    _ends.set()


def drains_with(flag: Flag) -> None:
    """Use this flag: a worker's main process makes it before its children are forked."""
    global _ends  # noqa: PLW0603 - one per process
    _ends = flag


def is_draining() -> bool:
    return _ends.is_set()


def hand_over_all() -> None:
    """Hand every running turn over now: this process ends, and others go on."""
    _watch.cancel_all("handed_over")


class _Watch:
    """The thread that looks, started with the first turn and gone with the last."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turns: dict[tuple[int, str], Running] = {}
        self._thread: threading.Thread | None = None
        self._is_urgent = False

    def add(self, turn: Running) -> None:
        with self._changed:
            self._turns[turn.key] = turn
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="turns", daemon=True)
                self._thread.start()

    def remove(self, turn: Running) -> None:
        with self._changed:
            self._turns.pop(turn.key, None)
            self._changed.notify()

    def look_now(self) -> None:
        with self._changed:
            self._is_urgent = True
            self._changed.notify()

    def cancel_all(self, why: Why) -> None:
        with self._changed:
            turns = list(self._turns.values())
        for turn in turns:
            turn.cancel(why)

    def _run(self) -> None:
        draining_since: float | None = None
        try:
            while turns := self._next():
                self._stop_those_asked(turns)
                if not is_draining():
                    continue
                draining_since = draining_since or time.monotonic()
                if time.monotonic() - draining_since >= conf.settings().DRAIN_SECONDS:
                    self.cancel_all("handed_over")
        finally:
            connections.close_all()

    def _next(self) -> dict[tuple[int, str], Running]:
        """The turns to look after, after a while; none ends the thread."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_urgent or not self._turns, LOOK_SECONDS)
            self._is_urgent = False
            if not self._turns:
                self._thread = None
            return dict(self._turns)

    def _stop_those_asked(self, turns: dict[tuple[int, str], Running]) -> None:
        close_old_connections()
        try:
            with telemetry.untraced():
                asked = selectors.stops_asked(run_id for _, run_id in turns)
        except Error:
            log.warning("could not look which runs shall stop", exc_info=True)
            return
        for key in asked:
            if key in turns:
                turns[key].cancel("stopped")


_watch = _Watch()
_ends: Flag = threading.Event()


def _forget() -> None:
    """In a forked child: the parent's turns and thread do not exist here."""
    global _watch  # noqa: PLW0603 - as above
    _watch = _Watch()


os.register_at_fork(after_in_child=_forget)
