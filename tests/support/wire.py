"""What a database connection really sends, counted below Django and below the store."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection


@dataclass
class Wire:
    """Statements, transaction control included, and how often a reply was waited for."""

    statements: list[str] = field(default_factory=list)
    round_trips: int = 0


@contextmanager
def counted() -> Iterator[Wire]:
    """Watch this thread's connection inside the block."""
    wire = Wire()
    connection.ensure_connection()
    raw: Any = connection.connection
    watch = _postgresql if connection.vendor == "postgresql" else _sqlite
    with watch(raw, wire):
        yield wire


@contextmanager
def _sqlite(raw: Any, wire: Wire) -> Iterator[None]:
    def sent(sql: str) -> None:
        # For each statement of a trigger, the one that fired it is reported again.
        if wire.statements[-1:] != [sql]:
            wire.statements.append(sql)

    raw.set_trace_callback(sent)
    try:
        yield
    finally:
        raw.set_trace_callback(None)


@contextmanager
def _postgresql(raw: Any, wire: Wire) -> Iterator[None]:
    """libpq's own trace: `F` lines are sent, `B` lines come back."""
    with tempfile.TemporaryFile("w+") as file:
        raw.pgconn.trace(file.fileno())
        try:
            yield
        finally:
            raw.pgconn.untrace()
        file.seek(0)
        side = "B"
        for line in file:
            # Time, side, length, kind of message, its content.
            match = re.match(r"^(?:\S+ \S+\t)?([FB])\t\d+\t(\w+)(.*)", line)
            if match is None:
                continue
            if match[2] in ("Execute", "Query"):
                wire.statements.append(match[3].strip())
            wire.round_trips += side == "F" and match[1] == "B"
            side = match[1]
