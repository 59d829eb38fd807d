"""The declared guarantees in a real database: installed on SQLite, checked on both.

A table remake drops SQLite's triggers without a word, and fails where a trigger of another table
names the remade one. So they are taken away before migrations run and put back after every migrate
and flush. PostgreSQL's come and go with migrations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.core import checks
from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from .triggers import GUARD_TABLE, Guarantee


def guarantees() -> Iterator[tuple[type[models.Model], Guarantee]]:
    """Every declaration of every installed app."""
    for model in apps.get_models():
        for trigger in getattr(model._meta, "triggers", ()):
            if isinstance(trigger, Guarantee):
                yield model, trigger


def install(connection: BaseDatabaseWrapper) -> None:
    """Make SQLite's triggers those declared, where the tables exist."""
    if connection.vendor != "sqlite":
        return
    wanted, found = _wanted(connection), _found(connection)
    stale = [_drop(connection, name) for name, sql in found.items() if wanted.get(name) != sql]
    missing = [sql for name, sql in wanted.items() if found.get(name) != sql]
    _execute(connection, [*stale, *missing])


def remove_before_migrate(*, using: str, plan: Sequence[Any] = (), **kwargs: Any) -> None:
    """Receive `pre_migrate`; a plan without steps touches no table."""
    connection = connections[using]
    if plan and connection.vendor == "sqlite":
        _execute(connection, [_drop(connection, name) for name in _found(connection)])


def install_after_migrate(*, using: str, **kwargs: Any) -> None:
    """Receive `post_migrate`."""
    install(connections[using])


def disagreements(connection: BaseDatabaseWrapper) -> list[str]:
    """Name each trigger that is missing, changed, off or left over, and an open erasure."""
    wanted, found = _wanted(connection), _found(connection)
    wrong = [name for name in sorted({*wanted, *found}) if wanted.get(name) != found.get(name)]
    with connection.cursor() as cursor:
        if GUARD_TABLE in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT count(*) FROM {GUARD_TABLE}")
            wrong += [GUARD_TABLE] if cursor.fetchone()[0] else []
    return wrong


def check_databases(
    app_configs: Sequence[AppConfig] | None = None,
    databases: Sequence[str] | None = None,
    **kwargs: Any,
) -> Iterator[checks.CheckMessage]:
    """Warnings, not errors: an error would stop the very migrate that puts things right."""
    for alias in databases or ():
        connection = connections[alias]
        if wrong := disagreements(connection):
            yield checks.Warning(
                f"Database {alias!r} does not hold the declared guarantees: {', '.join(wrong)}.",
                hint="Run manage.py migrate; it installs what is missing.",
                id="artifactr.W010",
            )
        if connection.vendor == "sqlite":
            yield from _check_sqlite(connection)


def _check_sqlite(connection: BaseDatabaseWrapper) -> Iterator[checks.CheckMessage]:
    hint = "Set OPTIONS to artifacts.sqlite.sqlite_options()."
    mode = connection.settings_dict["OPTIONS"].get("transaction_mode") or ""
    if mode.upper() not in {"IMMEDIATE", "EXCLUSIVE"}:
        yield checks.Warning(
            f"Transactions of {connection.alias!r} begin without the write lock; two writers at "
            "once fail with 'database is locked'.",
            hint=hint,
            id="artifactr.W011",
        )
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA recursive_triggers")
        if not cursor.fetchone()[0]:
            yield checks.Warning(
                f"{connection.alias!r} lets INSERT OR REPLACE delete append-only rows unseen.",
                hint=hint,
                id="artifactr.W012",
            )
        cursor.execute("PRAGMA journal_mode")
        if cursor.fetchone()[0] not in {"wal", "memory"}:
            yield checks.Warning(
                f"Readers of {connection.alias!r} wait for its writers.",
                hint=hint,
                id="artifactr.W013",
            )


def _drop(connection: BaseDatabaseWrapper, name: str) -> str:
    return f"DROP TRIGGER {connection.ops.quote_name(name)}"


def _execute(connection: BaseDatabaseWrapper, statements: Sequence[str]) -> None:
    """All or none, so that no writer ever sees half of the guarantees."""
    if not statements:
        return
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _wanted(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """What stands for each trigger's definition, by name: its SQL, on PostgreSQL the SQL's hash."""
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    wanted: dict[str, str] = {}
    for model, guarantee in guarantees():
        if model._meta.db_table not in tables:
            continue
        if connection.vendor == "sqlite":
            wanted |= guarantee.sqlite_statements(model)
        elif connection.vendor == "postgresql":
            guard = guarantee.compile(model)
            wanted |= dict.fromkeys(guard.sql.trigger_names(), guard.hash)
    return wanted


def _found(connection: BaseDatabaseWrapper) -> dict[str, str]:
    queries = {
        # Ours are known by what they say, whatever they are called.
        "sqlite": "SELECT name, sql FROM sqlite_master "
        "WHERE type = 'trigger' AND sql LIKE '%''artifactr:%'",
        "postgresql": "SELECT tgname, CASE WHEN tgenabled IN ('O', 'A') "
        "THEN obj_description(pg_trigger.oid, 'pg_trigger') END "
        "FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid "
        "WHERE NOT tgisinternal AND prosrc LIKE '%''artifactr:%' AND pg_table_is_visible(tgrelid)",
    }
    if connection.vendor not in queries:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(queries[connection.vendor])
        return dict(cursor.fetchall())
