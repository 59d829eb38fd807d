"""The one clock of all services. Tests move it; nothing else reads the time of day.

Core takes moments as arguments. Where the database's own clock decides (leases on PostgreSQL), the
same `shift` is added to it, so a moved clock moves both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

_shift = timedelta()


def now() -> datetime:
    """The present moment, UTC."""
    return datetime.now(UTC) + _shift


def shift() -> timedelta:
    """How far the clock was moved."""
    return _shift


def move(by: timedelta) -> None:
    """Let time pass, or go back."""
    global _shift  # noqa: PLW0603 - one clock per process is the point
    _shift += by


@contextmanager
def moved(by: timedelta) -> Iterator[None]:
    """Another time of day inside the block."""
    move(by)
    try:
        yield
    finally:
        move(-by)
