"""A write of one statement, which is a transaction by itself and needs none around it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ..core.errors import Unavailable
from .database import BUSY, WRITER_SECONDS, Database, Result, _writers, unavailable_when_busy


def write_alone(db: Database, sql: str, params: Sequence[Any]) -> Result:
    """Run it and commit it; inside a transaction it is a part of that one."""
    with ExitStack() as stack:
        stack.enter_context(unavailable_when_busy())
        if db.connection.vendor == "sqlite" and not db.connection.in_atomic_block:
            # Its turn comes in the line of all writers of this process, as that of any other.
            try:
                stack.enter_context(_writers.turn(WRITER_SECONDS))
            except TimeoutError:
                raise Unavailable(BUSY) from None
        return db.one(sql, params)
