"""Floors: the least SQL that does the same work, on tables of their own in the same database.

`seven_round_trips` is a sequential transaction; `two_round_trips` sends the same statements in two
psycopg pipelines. SQLite has no round trips, so there one floor stands for both.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import psycopg
from django.conf import settings

TABLES = (
    "CREATE TABLE floor_workspace (id INTEGER PRIMARY KEY, head_seq BIGINT NOT NULL)",
    """CREATE TABLE floor_artifact (id INTEGER PRIMARY KEY, workspace_id INTEGER NOT NULL,
       version INTEGER NOT NULL)""",
    """CREATE TABLE floor_revision (artifact_id INTEGER NOT NULL, version INTEGER NOT NULL,
       data TEXT NOT NULL, patch TEXT NOT NULL, PRIMARY KEY (artifact_id, version))""",
    """CREATE TABLE floor_event (workspace_id INTEGER NOT NULL, seq BIGINT NOT NULL,
       text TEXT NOT NULL, PRIMARY KEY (workspace_id, seq))""",
    """CREATE TABLE floor_proposal (id INTEGER PRIMARY KEY, workspace_id INTEGER NOT NULL,
       status TEXT NOT NULL, change TEXT NOT NULL)""",
)
LOCK = "UPDATE floor_workspace SET head_seq = head_seq + 1 WHERE id = {p} RETURNING head_seq"
LOAD = """SELECT a.version, r.data FROM floor_artifact a JOIN floor_revision r
    ON r.artifact_id = a.id AND r.version = a.version WHERE a.id = {p}"""
MOVE = "UPDATE floor_artifact SET version = {p} WHERE id = {p} AND version = {p}"
REVISE = (
    "INSERT INTO floor_revision (artifact_id, version, data, patch) VALUES ({p}, {p}, {p}, {p})"
)
LOG = "INSERT INTO floor_event (workspace_id, seq, text) VALUES ({p}, {p}, {p})"


def sql(text: str) -> str:
    return text.format(p="?" if is_sqlite() else "%s")


def is_sqlite() -> bool:
    return "sqlite" in settings.DATABASES["default"]["ENGINE"]


def connect() -> Any:
    """A connection of the driver itself, set up as the product sets up its own."""
    database = settings.DATABASES["default"]
    if is_sqlite():
        connection = sqlite3.connect(database["NAME"], isolation_level=None, timeout=60)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection
    return psycopg.connect(
        host=database["HOST"],
        port=database["PORT"],
        user=database["USER"],
        password=database["PASSWORD"],
        dbname=database["NAME"],
        autocommit=True,
        prepare_threshold=1,
    )


def prepare(workspaces: int, data: str) -> None:
    """Make the tables, with one artifact in each workspace."""
    connection = connect()
    for table in TABLES:
        connection.execute(table)
    for n in range(1, workspaces + 1):
        connection.execute(sql("INSERT INTO floor_workspace VALUES ({p}, 0)"), (n,))
        connection.execute(sql("INSERT INTO floor_artifact VALUES ({p}, {p}, 1)"), (n, n))
        connection.execute(sql("INSERT INTO floor_revision VALUES ({p}, 1, {p}, '')"), (n, data))
    connection.close()


def drop() -> None:
    connection = connect()
    for table in ("workspace", "artifact", "revision", "event", "proposal"):
        connection.execute(f"DROP TABLE IF EXISTS floor_{table}")
    connection.close()


def seven_round_trips(
    workspace: int, texts: tuple[str, str, str], artifact: int | None = None
) -> Callable[[], None]:
    """BEGIN, lock, load, move the head, insert a revision, insert an event, COMMIT."""
    connection, (data, patch, event) = connect(), texts
    artifact = artifact or workspace
    begin = "BEGIN IMMEDIATE" if is_sqlite() else "BEGIN"

    def work() -> None:
        connection.execute(begin)
        seq = connection.execute(sql(LOCK), (workspace,)).fetchone()[0]
        version, _ = connection.execute(sql(LOAD), (artifact,)).fetchone()
        connection.execute(sql(MOVE), (version + 1, artifact, version))
        connection.execute(sql(REVISE), (artifact, version + 1, data, patch))
        connection.execute(sql(LOG), (workspace, seq, event))
        connection.execute("COMMIT")

    return work


def two_round_trips(workspace: int, texts: tuple[str, str, str]) -> Callable[[], None]:
    """The same statements in two pipelines."""
    connection, (data, patch, event) = connect(), texts

    def work() -> None:
        with connection.pipeline() as pipeline:
            connection.execute("BEGIN")
            locked = connection.execute(sql(LOCK), (workspace,))
            loaded = connection.execute(sql(LOAD), (workspace,))
            pipeline.sync()
            seq, (version, _) = locked.fetchone()[0], loaded.fetchone()
            connection.execute(sql(MOVE), (version + 1, workspace, version))
            connection.execute(sql(REVISE), (workspace, version + 1, data, patch))
            connection.execute(sql(LOG), (workspace, seq, event))
            connection.execute("COMMIT")

    return work


def propose_and_accept(workspace: int, texts: tuple[str, str, str]) -> Callable[[], None]:
    """Two sequential transactions: store a proposal with its event; settle it as an edit does."""
    connection, (data, patch, event) = connect(), texts
    begin = "BEGIN IMMEDIATE" if is_sqlite() else "BEGIN"
    number = workspace * 10_000_000

    def work() -> None:
        nonlocal number
        number += 1
        connection.execute(begin)
        seq = connection.execute(sql(LOCK), (workspace,)).fetchone()[0]
        connection.execute(sql(LOAD), (workspace,)).fetchone()
        connection.execute(
            sql("INSERT INTO floor_proposal VALUES ({p}, {p}, 'pending', {p})"),
            (number, workspace, data),
        )
        connection.execute(sql(LOG), (workspace, seq, event))
        connection.execute("COMMIT")
        connection.execute(begin)
        seq = connection.execute(sql(LOCK.replace("+ 1", "+ 2")), (workspace,)).fetchone()[0]
        connection.execute(
            sql("SELECT status, change FROM floor_proposal WHERE id = {p}"), (number,)
        ).fetchone()
        version, _ = connection.execute(sql(LOAD), (workspace,)).fetchone()
        connection.execute(sql(MOVE), (version + 1, workspace, version))
        connection.execute(sql(REVISE), (workspace, version + 1, data, patch))
        connection.execute(
            sql("UPDATE floor_proposal SET status = 'accepted' WHERE id = {p}"), (number,)
        )
        connection.execute(sql(LOG), (workspace, seq - 1, event))
        connection.execute(sql(LOG), (workspace, seq, event))
        connection.execute("COMMIT")

    return work
