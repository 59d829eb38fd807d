"""The tables of a record made again, empty, with their indexes and their search: what the same rows
cost the database alone. A copy has no foreign keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from artifacts.extensions import Statement
from benchmarks import floors

RECORDS = "artifactr_learning_record"
TABLES = (RECORDS, "artifactr_learning_recordfield", "artifactr_learning_recordtext")
FTS = "artifactr_learning_recordtext_fts"
AT = "2030-01-01 00:00:00"
FIELD_COLUMNS = ("record_id", "workspace_id", "collection", "name", "seq", "text")


@contextmanager
def copied(connection: Any) -> Iterator[None]:
    """The copies, as long as the block runs."""
    _drop(connection)
    if floors.is_sqlite():
        _copy_on_sqlite(connection)
    else:
        for table in TABLES:
            connection.execute(f"CREATE TABLE {_floor(table)} (LIKE {table} INCLUDING ALL)")
    try:
        yield
    finally:
        _drop(connection)


def rows_of_records(
    numbers: Sequence[int], text: str, content: str, fields: Mapping[str, str]
) -> list[Statement]:
    """All rows of such records, in as few statements as a batch of them takes."""
    from learning.models import Record, RecordField
    from learning.store.records import COLUMNS
    from learning.store.rows import inserting
    from learning.store.search import adding_texts

    rows = [
        (n, 1, n, f"rec_{n:032x}", "outcomes", 1, "agent:ada", None, "exception", None, None, text,
         content, "{}", AT, bytes(16), bytes(32))
        for n in numbers
    ]  # fmt: skip
    declared = [
        (n, 1, "outcomes", name, n, value) for n in numbers for name, value in fields.items()
    ]
    statements = [
        *inserting(Record, COLUMNS, rows),
        *inserting(RecordField, FIELD_COLUMNS, declared),
        *adding_texts(1, [(n, text) for n in numbers]),
    ]
    return [(_floor(sql), params) for sql, params in statements]


def run(connection: Any, statements: Sequence[Statement]) -> None:
    for sql, params in statements:
        connection.execute(sql.replace("%s", "?") if floors.is_sqlite() else sql, params)


def _floor(text: str) -> str:
    return text.replace("artifactr_", "floor_")


def _copy_on_sqlite(connection: Any) -> None:
    known = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
    for table in (*TABLES, FTS):
        connection.execute(_floor(known[table]))
    indexes = "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql <> ''"
    for table in TABLES:
        for (sql,) in connection.execute(indexes, (table,)).fetchall():
            connection.execute(_floor(sql))


def _drop(connection: Any) -> None:
    for table in (FTS, *TABLES):
        connection.execute(f"DROP TABLE IF EXISTS {_floor(table)}")
