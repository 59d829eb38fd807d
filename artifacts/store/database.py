"""How the two databases differ, and nothing else of the store does.

Statements run on the driver's own cursors: Django's would paste every value into the SQL. One text
serves both databases, with `%s` placeholders; `{any}`, `{now}` and the like are what they spell
differently.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import psycopg
from django.db import InterfaceError, OperationalError, connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from .. import clock
from ..core.errors import ConfigurationError, Unavailable
from ..extensions import Statement
from ..models import Workspace
from ..pool import raise_if_cancelled
from .waiting_line import WaitingLine

LOCK_TIMEOUT = "10s"
WRITER_SECONDS = 20.0  # as long as SQLite itself is told to wait
BUSY = "the database is busy or away; try again"
# SQLSTATE classes of what passes by itself: connection, rollback, resources, operator, lock.
PASSING_CLASSES = ("08", "40", "53", "57", "55P03")
SQLITE_BUSY, SQLITE_LOCKED = 5, 6
# How many writes PostgreSQL is given as one statement.
TOGETHER = 6


@dataclass(frozen=True, slots=True)
class Result:
    """The rows a statement gave and how many it wrote."""

    rows: list[tuple[Any, ...]]
    count: int


class Database:
    """One connection, spoken to in its own dialect."""

    any: str
    now: str
    lock: str
    try_lock: str
    skip_locked: str
    share: str
    # How a transaction that locks rows, but not its workspace, says how long it waits for them.
    patience: tuple[Statement, ...] = ()

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection

    def run(self, statements: Sequence[Statement]) -> list[Result]:
        """Run statements in order, in as few round trips as the driver allows."""
        raise_if_cancelled()
        if self.connection.connection is None:
            self.connection.ensure_connection()
        self.connection.validate_no_broken_transaction()
        with self.connection.wrap_database_errors:
            return self._run(statements)

    def write(
        self,
        first: Sequence[Statement],
        rest: Sequence[Statement],
        last: Sequence[Statement] = (),
    ) -> int:
        """Run writes and count the rows they wrote. Those of `rest`, between the others, neither
        see each other's rows nor mind their order."""
        statements = [*first, *rest, *last]
        return sum(result.count for result in self.run(statements)) if statements else 0

    def one(self, sql: str, params: Sequence[Any] = ()) -> Result:
        return self.run([(sql, params)])[0]

    def spelled(self, sql: str) -> str:
        """Fill in what the two databases spell differently."""
        return _spelled(self.connection.vendor, sql)

    def _run(self, statements: Sequence[Statement]) -> list[Result]:
        raise NotImplementedError

    def begin(self) -> None:
        """Just after BEGIN: whatever makes the next read see all that was committed before it."""

    def array(self, ids: Sequence[str] | Sequence[int]) -> Any:
        """The parameter that `{any}` compares with."""
        raise NotImplementedError

    def moment(self, at: datetime | None) -> Any:
        """A moment as a parameter."""
        raise NotImplementedError

    def present(self, later: timedelta = timedelta()) -> Any:
        """The parameter of `{now}`, for this moment or a later one."""
        raise NotImplementedError

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[None]:
        """One write transaction; `Unavailable` where its lock does not come in time."""
        with unavailable_when_busy(), transaction.atomic(self.connection.alias, durable=durable):
            self.begin()
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Reads inside the block see one moment, and hold up no writer."""
        yield


class PostgreSQL(Database):
    """Prepared statements with server-side parameters, several of them to a round trip."""

    any = "= ANY(%s)"
    now = "(clock_timestamp() + %s)"
    skip_locked = "FOR UPDATE SKIP LOCKED"
    share = "FOR SHARE"
    # Conditions are worked out before the row is locked, so the timeout is set and the command
    # claimed by the same statement that then waits. They hold until the transaction ends.
    lock = f"AND set_config('lock_timeout', '{LOCK_TIMEOUT}', true) <> '' FOR NO KEY UPDATE"
    try_lock = (
        f"AND set_config('lock_timeout', '{LOCK_TIMEOUT}', true) <> '' "
        "AND pg_try_advisory_xact_lock(%s) FOR NO KEY UPDATE"
    )

    patience = (("SELECT set_config('lock_timeout', %s, true)", (LOCK_TIMEOUT,)),)

    def write(
        self,
        first: Sequence[Statement],
        rest: Sequence[Statement],
        last: Sequence[Statement] = (),
    ) -> int:
        parts = [rest[start : start + TOGETHER] for start in range(0, len(rest), TOGETHER)]
        joined = [_together(part) for part in parts]
        results = self.run([*first, *joined, *last]) if first or joined or last else []
        # A joined statement gives a row with its count, the others are counted by the driver.
        return sum(each.rows[0][0] if each.rows else each.count for each in results)

    def _run(self, statements: Sequence[Statement]) -> list[Result]:
        raw: Any = self.connection.connection
        if not isinstance(raw, psycopg.Connection):
            raise ConfigurationError("PostgreSQL needs psycopg 3")
        with self._preparing(raw):
            if len(statements) == 1:
                cursors = [_executed(raw, *statements[0])]
            else:
                with raw.pipeline():
                    cursors = [_executed(raw, *statement) for statement in statements]
            # `description` would make an object for every column.
            return [
                Result([] if each.rownumber is None else each.fetchall(), each.rowcount)
                for each in cursors
            ]

    @contextmanager
    def _preparing(self, raw: Any) -> Iterator[None]:
        """Django turns preparing off for the sake of poolers; a host behind one says so."""
        if self.connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
            yield
            return
        before, raw.prepare_threshold = raw.prepare_threshold, 1
        try:
            yield
        finally:
            raw.prepare_threshold = before

    def array(self, ids: Sequence[str] | Sequence[int]) -> Any:
        return list(ids)

    def moment(self, at: datetime | None) -> Any:
        return at

    def present(self, later: timedelta = timedelta()) -> Any:
        return clock.shift() + later

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with transaction.atomic(using=self.connection.alias):
            self.one("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield


class SQLite(Database):
    """One writer at a time, no round trips."""

    any = "IN (SELECT value FROM json_each(%s))"
    now = "%s"
    skip_locked = ""
    share = ""
    lock = ""
    try_lock = ""

    def _run(self, statements: Sequence[Statement]) -> list[Result]:
        raw: Any = self.connection.connection
        cursors = [raw.execute(_question_marks(sql), params) for sql, params in statements]
        return [Result(cursor.fetchall(), cursor.rowcount) for cursor in cursors]

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[None]:
        with ExitStack() as stack:
            # Inside a host's own transaction the write lock is ours already, and standing in line
            # behind one who waits for it would never end.
            if not self.connection.in_atomic_block:
                try:
                    stack.enter_context(_writers.turn(WRITER_SECONDS))
                except TimeoutError:
                    raise Unavailable(BUSY) from None
            stack.enter_context(super().writing(durable=durable))
            yield

    def begin(self) -> None:
        # A host that begins its transactions deferred would read first and then fail to upgrade
        # its lock; a statement that writes, even nothing, takes the lock and waits for it.
        if getattr(self.connection, "transaction_mode", None) not in ("IMMEDIATE", "EXCLUSIVE"):
            self.one("UPDATE artifactr_cursor SET seq = seq WHERE id = 0")

    def array(self, ids: Sequence[str] | Sequence[int]) -> Any:
        return json.dumps(list(ids))

    def moment(self, at: datetime | None) -> Any:
        return None if at is None else str(at.astimezone(UTC).replace(tzinfo=None))

    def present(self, later: timedelta = timedelta()) -> Any:
        return self.moment(clock.now() + later)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        # Not `atomic`, which begins IMMEDIATE where the host follows our advice.
        self.one("BEGIN DEFERRED")
        try:
            yield
        finally:
            # Also for a caller who has left: the next one would be shown this moment for ever.
            self.connection.connection.rollback()


_writers = WaitingLine()

DATABASES: dict[str, type[Database]] = {"postgresql": PostgreSQL, "sqlite": SQLite}


def database() -> Database:
    """The database that holds the workspaces, on this thread's connection."""
    connection = connections[router.db_for_write(Workspace)]
    if connection.vendor not in DATABASES:
        raise ConfigurationError(f"{connection.vendor} is not supported: use PostgreSQL or SQLite")
    return DATABASES[connection.vendor](connection)


@contextmanager
def unavailable_when_busy() -> Iterator[None]:
    """A lock waited for in vain, a lost connection, a deadlock: `Unavailable`, try again."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        if not is_passing(error):
            raise
        raise Unavailable(BUSY) from error


def as_moment(value: Any) -> datetime | None:
    """A moment as the driver gave it, in UTC."""
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_passing(error: Exception) -> bool:
    """Whether what Django raised is busyness or absence of the database, and no mistake of ours."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    cause = error.__cause__
    if isinstance(cause, psycopg.Error):
        return cause.sqlstate is None or cause.sqlstate.startswith(PASSING_CLASSES)
    code = getattr(cause, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (SQLITE_BUSY, SQLITE_LOCKED)


def _executed(raw: Any, sql: str, params: Sequence[Any]) -> Any:
    return psycopg.Cursor(raw).execute(sql, params, prepare=True)


def _together(statements: Sequence[Statement]) -> Statement:
    """One statement that does what several do: each costs more on its way than in its doing."""
    if len(statements) == 1:
        return statements[0]
    params = [value for _, values in statements for value in values]
    return _joined(tuple(sql for sql, _ in statements)), params


@cache
def _joined(texts: tuple[str, ...]) -> str:
    parts = ", ".join(f"s{index} AS ({sql} RETURNING 1)" for index, sql in enumerate(texts))
    counts = " + ".join(f"(SELECT count(*) FROM s{index})" for index in range(len(texts)))
    return f"WITH {parts} SELECT {counts}"


@cache
def _question_marks(sql: str) -> str:
    return sql.replace("%s", "?")


@cache
def _spelled(vendor: str, sql: str) -> str:
    words = vars(DATABASES[vendor])
    return sql.format(**{word: words[word] for word in ("any", "now", "share", "skip_locked")})
