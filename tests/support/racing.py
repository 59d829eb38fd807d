"""Threads for tests that race: each with its own database connection, closed when it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connections

from artifacts.core import ArtifactrError

PATIENCE = 120.0


class Background(threading.Thread):
    """A call on a thread of its own; `result()` waits for what it gives or raises."""

    def __init__(self, call: Callable[..., Any], *args: Any, after: float = 0.0) -> None:
        super().__init__(daemon=True)
        self._call, self._args, self._after = call, args, after
        self._value: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            if self._after:
                threading.Event().wait(self._after)
            self._value = self._call(*self._args)
        except BaseException as error:
            self._error = error
        finally:
            connections.close_all()

    def result(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive(), "it hangs"
        if self._error is not None:
            raise self._error
        return self._value


def together(count: int, call: Callable[[int], Any]) -> list[Any]:
    """What so many calls at the same moment give; a rejection counts as what it gives."""
    ready = threading.Barrier(count)

    def run(number: int) -> Any:
        ready.wait(PATIENCE)
        try:
            return call(number)
        except ArtifactrError as error:
            return error

    return all_of([Background(run, number) for number in range(count)])


def all_of(threads: Sequence[Background]) -> list[Any]:
    return [thread.result() for thread in threads]
