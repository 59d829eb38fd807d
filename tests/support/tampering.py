"""Raw writes past every guard, for tests that must notice them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from artifacts import guards


@contextmanager
def unguarded() -> Iterator[Any]:
    """A cursor whose statements no trigger and no foreign key sees; both are back after it."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = replica")
            try:
                yield cursor
            finally:
                cursor.execute("SET session_replication_role = origin")
            return
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER {connection.ops.quote_name(name)}")
        cursor.execute("PRAGMA foreign_keys = OFF")
        try:
            yield cursor
        finally:
            cursor.execute("PRAGMA foreign_keys = ON")
            guards.install(connection)
