"""Taking in records by the hundred, beside one raw multi-row insert of as many rows, and beside the
rows that as many records really have."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from benchmarks import copies, floors, scenes
from benchmarks.measure import Timing, report, timed

BATCH = 100
TEXT = scenes.PARAGRAPH * 3
CONTENT = {"kind": "failure", "signal": {"source": "end_user"}}
TABLE = """CREATE TABLE floor_record (id {key}, workspace_id INTEGER NOT NULL, seq BIGINT NOT NULL,
    public_id TEXT NOT NULL UNIQUE, collection TEXT NOT NULL, entity TEXT NOT NULL,
    type TEXT NOT NULL, text TEXT NOT NULL, content TEXT NOT NULL, UNIQUE (workspace_id, seq))"""
# Collection, declared fields, and how the line is named.
CASES: tuple[tuple[str, dict[str, str], str], ...] = (
    ("main", {}, ""),
    ("outcomes", {"kind": "failure"}, ", one declared field"),
)
KEYS = {True: "INTEGER PRIMARY KEY", False: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"}
COLUMNS = ("workspace_id", "seq", "public_id", "collection", "entity", "type", "text", "content")


def measure(name: str, database: str, *, seconds: float) -> None:
    """Batches of new records; the figures are of records, not of batches. `main` declares no field,
    `outcomes` one, which is a second row for each record.

    One floor is a bare table that has the columns; the other writes all rows that a record has,
    into tables with all indexes that it has, its search among them.
    """
    connection = floors.connect()
    connection.execute("DROP TABLE IF EXISTS floor_record")
    connection.execute(TABLE.format(key=KEYS[floors.is_sqlite()]))
    try:
        bare = _each(timed(_raw(connection), seconds=seconds, warm_up=3))
    finally:
        connection.execute("DROP TABLE floor_record")
    for collection, fields, also in CASES:
        with copies.copied(connection):
            same = _each(timed(_same_rows(connection, fields), seconds=seconds, warm_up=3))
        ours = _each(timed(_ingest(name, collection), seconds=seconds, warm_up=3))
        named = {"raw multi-row insert": bare, "same rows, tables and indexes": same}
        report(f"{name}{also}", database=database, ours=ours, floors=named)
    connection.close()


def _same_rows(connection: Any, fields: dict[str, str]) -> Callable[[], None]:
    """BEGIN, all rows of a hundred records, COMMIT."""
    begin = "BEGIN IMMEDIATE" if floors.is_sqlite() else "BEGIN"
    seq, content = itertools.count(1), json.dumps(CONTENT)

    def work() -> None:
        numbers = [next(seq) for _ in range(BATCH)]
        connection.execute(begin)
        copies.run(connection, copies.rows_of_records(numbers, TEXT, content, fields))
        connection.execute("COMMIT")

    return work


def _each(timing: Timing) -> Timing:
    return Timing(timing.per_second * BATCH, timing.p50_ms, timing.p99_ms)


def _raw(connection: Any) -> Callable[[], None]:
    """BEGIN, one INSERT of a hundred rows, COMMIT."""
    row = "(" + ", ".join(["{p}"] * len(COLUMNS)) + ")"
    sql = floors.sql(
        f"INSERT INTO floor_record ({', '.join(COLUMNS)}) VALUES {', '.join([row] * BATCH)}"
    )
    begin = "BEGIN IMMEDIATE" if floors.is_sqlite() else "BEGIN"
    seq, content = itertools.count(1), json.dumps(CONTENT)

    def work() -> None:
        values: list[Any] = []
        for _ in range(BATCH):
            number = next(seq)
            values += (1, number, f"rec_{number:032x}", "outcomes", "agent:ada", "exception", TEXT,
                       content)  # fmt: skip
        connection.execute(begin)
        connection.execute(sql, values)
        connection.execute("COMMIT")

    return work


def _ingest(name: str, collection: str) -> Callable[[], None]:
    """The same through the door: checked, numbered, salted, searchable."""
    from learning.services.catalog import apply_catalog, files_of_package
    from learning.services.records import ingest

    workspace = scenes.opened(scenes.new_workspace(name), scenes.HOST)
    apply_catalog(workspace, files_of_package("skills"))
    record = {"collection": collection, "entity": "agent:ada", "type": "exception", "text": TEXT,
              "content": CONTENT}  # fmt: skip
    batch = [record] * BATCH

    def work() -> None:
        ingest(workspace, batch)

    return work
