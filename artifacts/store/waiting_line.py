"""First come, first served, for writers of one process that share a database with one write lock.

SQLite lets writers sleep and try again, so the unlucky one sleeps on while others come and go.
Threads of one process need not: they stand in line here, and each is handed the lock in turn.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class WaitingLine:
    """A lock that is handed to whoever waited longest."""

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Also in a forked child: the threads that stood in line do not exist there."""
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._is_taken = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @contextmanager
    def turn(self, timeout_seconds: float) -> Iterator[None]:
        """Do the block alone; `TimeoutError` when the turn does not come in time."""
        if not self._take(timeout_seconds):
            raise TimeoutError
        try:
            yield
        finally:
            self._pass_on()

    def _take(self, timeout_seconds: float) -> bool:
        with self._mutex:
            if not self._is_taken:
                self._is_taken = True
                return True
            mine = threading.Event()
            self._waiting.append(mine)
        if mine.wait(timeout_seconds):
            return True
        with self._mutex:
            if mine.is_set():  # the turn came just now
                return True
            self._waiting.remove(mine)
            return False

    def _pass_on(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False
