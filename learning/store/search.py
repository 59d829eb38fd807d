"""The searched texts: a GIN index on PostgreSQL, an FTS5 table beside the rows on SQLite.

Neither is a model's, so both are put in place after every migrate, as the triggers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from artifacts.extensions import Statement, Transaction
from learning.core.records import searched_text
from learning.models import RecordText

from .rows import among, inserting, inserting_values, parts

TEXTS = RecordText._meta.db_table
FTS = f"{TEXTS}_fts"


def install_after_migrate(*, using: str, **kwargs: Any) -> None:
    """Receive `post_migrate`."""
    install(connections[using])


def install(place: BaseDatabaseWrapper) -> None:
    """Make what search needs, where the table is there; take it away where it is not."""
    with place.cursor() as cursor:
        exists = TEXTS in place.introspection.table_names(cursor)
        if place.vendor == "sqlite":
            cursor.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {FTS} "
                "USING fts5(text, tokenize = 'unicode61 remove_diacritics 0')"
                if exists
                else f"DROP TABLE IF EXISTS {FTS}"
            )
        elif place.vendor == "postgresql" and exists:
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS {TEXTS}_search ON {TEXTS} "
                "USING gin (to_tsvector('simple', text))"
            )


def adding_texts(workspace_pk: int, texts: Sequence[tuple[int, str]]) -> list[Statement]:
    """The statements that let records be found by their texts."""
    rows = [(pk, words) for pk, text in texts if (words := searched_text(text))]
    mine = [(pk, workspace_pk, text) for pk, text in rows]
    found = inserting(RecordText, ("record_id", "workspace_id", "text"), mine)
    if connection.vendor == "sqlite":
        found += inserting_values(f"INSERT INTO {FTS} (rowid, text)", 2, rows)
    return found


def forget_texts(tx: Transaction, pks: Sequence[int]) -> None:
    """Records that search finds no longer."""
    for part in parts(pks):
        if tx.connection.vendor == "sqlite":
            tx.execute(f"DELETE FROM {FTS} WHERE rowid IN {among(part)}", part)
        tx.execute(f"DELETE FROM {TEXTS} WHERE record_id IN {among(part)}", part)
