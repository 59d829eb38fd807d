"""What a database holds of our apps, as comparable text; and a second database to compare with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

OTHER = "other"

POSTGRES = """
    SELECT 'column ' || relname || '.' || attname, format_type(atttypid, atttypmod)
           || ' ' || attnotnull::text || attidentity::text
           || coalesce(pg_get_expr(adbin, adrelid), '')
      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
           LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     WHERE relkind = 'r' AND relname LIKE 'artifactr%' AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT 'constraint ' || conname, pg_get_constraintdef(oid)
      FROM pg_constraint WHERE conrelid::regclass::text LIKE 'artifactr%'
    UNION ALL SELECT 'index ' || indexname, indexdef
      FROM pg_indexes WHERE tablename LIKE 'artifactr%'
    UNION ALL SELECT 'trigger ' || tgname, pg_get_triggerdef(oid)
           || coalesce(obj_description(oid, 'pg_trigger'), '')
      FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'artifactr%' AND NOT tgisinternal
    UNION ALL SELECT 'function ' || proname, prosrc
      FROM pg_proc WHERE proname LIKE 'artifactr%'
"""
SQLITE = "SELECT type || ' ' || name, sql FROM sqlite_master WHERE tbl_name LIKE 'artifactr%'"


def snapshot(connection: BaseDatabaseWrapper) -> dict[str, object]:
    """Every column, constraint, index and trigger by name."""
    with connection.cursor() as cursor:
        cursor.execute(POSTGRES if connection.vendor == "postgresql" else SQLITE)
        found = dict(cursor.fetchall())
    if connection.vendor == "postgresql":
        return found
    return {
        name: sorted(_definitions(sql)) if name.startswith("table ") else sql
        for name, sql in found.items()
    }


def _definitions(sql: str) -> list[str]:
    """Take a CREATE TABLE apart: a remake keeps its columns and constraints, not their order."""
    parts, depth, text = [], 0, sql[sql.index("(") + 1 : sql.rindex(")")]
    start = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]


@contextmanager
def alias(**settings: Any) -> Iterator[BaseDatabaseWrapper]:
    """A connection to another database, reachable as `OTHER`."""
    connections.settings[OTHER] = connection.settings_dict | settings
    try:
        yield connections[OTHER]
    finally:
        connections[OTHER].close()
        del connections[OTHER]
        del connections.settings[OTHER]


@contextmanager
def empty_database(folder: Path) -> Iterator[BaseDatabaseWrapper]:
    """A database of the same make as that of the tests."""
    if connection.vendor == "sqlite":
        with alias(NAME=str(folder / "other.sqlite3")) as found:
            yield found
        return
    name = f"{connection.settings_dict['NAME']}_other"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"')
    try:
        with alias(NAME=name) as found:
            yield found
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}"')
