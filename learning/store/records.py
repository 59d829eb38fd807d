"""Appending records: numbered, salted, linked, and known to queries and search, in one go.

The caller's transaction holds the workspace's lock; the record head is the second lock, rows come
after it. Every road to a record ends in `write`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from artifacts.core.ids import address_id, new_id
from artifacts.extensions import Statement, Transaction
from learning.core.definitions import Collection
from learning.core.records import digest_of, field_values
from learning.models import CurrentRecord, Record, RecordField, RecordLink
from learning.selectors.catalog import InForce

from .questions import Questions
from .rows import Rows, among, insert, inserting, moment, parts
from .search import adding_texts, forget_texts

SALT_BYTES = 16

RECORDS = "artifactr_learning_record"
COLUMNS = (
    "id", "workspace_id", "seq", "public_id", "collection", "collection_version", "entity", "key",
    "type", "artifact_id", "revision_id", "text", "content", "actor", "at", "salt", "digest",
)  # fmt: skip
HEAD = "SELECT seq FROM artifactr_learning_recordhead WHERE workspace_id = %s"
MOVE_HEAD = """
    INSERT INTO artifactr_learning_recordhead (workspace_id, seq) VALUES (%s, %s)
    ON CONFLICT (workspace_id) DO UPDATE SET seq = excluded.seq"""
# Keys are taken first, so that all rows are written in one round trip. SQLite's one writer is us,
# and no record is ever deleted.
NEXT_KEYS = {
    "postgresql": f"SELECT nextval(pg_get_serial_sequence('{RECORDS}', 'id')) "
    "FROM generate_series(1, %s)",
    "sqlite": "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s) "
    f"SELECT (SELECT coalesce(max(id), 0) FROM {RECORDS}) + i FROM n",
}
CURRENT = "artifactr_learning_currentrecord"
MOVE_CURRENT = "ON CONFLICT (workspace_id, address_id) DO UPDATE SET record_id = excluded.record_id"

LINK_COLUMNS = ("record_id", "position", "source_id", "revision_id")

# The key of a source: that of a record, or that of a revision.
Source = tuple[int | None, int | None]


@dataclass(slots=True)
class NewRecord:
    """One record to append. `text` and `content` are what it says; those of a maintained value
    stay in the revision with the key `revision_pk`."""

    collection: str
    in_force: InForce | None
    entity: str
    actor: str
    key: str | None = None
    type: str | None = None
    text: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)
    content_text: str = "{}"
    artifact_id: str | None = None
    revision_pk: int | None = None
    archived: bool = False
    sources: Sequence[Source] = ()
    public_id: str = field(default_factory=lambda: new_id("rec"))


# Key, number, record.
Placed = Sequence[tuple[int, int, NewRecord]]


@dataclass(slots=True)
class Places:
    """Where records will stand: after which number, and under which keys."""

    head: int = 0
    keys: Sequence[int] = ()

    def ask(self, tx: Transaction, most: int, questions: Questions) -> None:
        """Ask for so many; the workspace's lock keeps them free until they are taken."""
        questions.ask((HEAD, (tx.workspace_pk,)), self._take_head)
        questions.ask((NEXT_KEYS[tx.connection.vendor], (most,)), self._take_keys)

    def of(self, records: Sequence[NewRecord]) -> Placed:
        """The key and number of each record, in their order."""
        return [
            (pk, seq, each)
            for seq, (pk, each) in enumerate(zip(self.keys, records, strict=False), self.head + 1)
        ]

    def _take_head(self, rows: Rows) -> None:
        self.head = rows[0][0] if rows else 0

    def _take_keys(self, rows: Rows) -> None:
        self.keys = [pk for (pk,) in rows]


def append(tx: Transaction, records: Sequence[NewRecord]) -> None:
    """Write records in their order."""
    if records:
        places, questions = Places(), Questions()
        places.ask(tx, len(records), questions)
        questions.answer(tx)
        write(tx, places.of(records))


def write(tx: Transaction, placed: Placed, beside: Sequence[Statement] = ()) -> None:
    """Write records at their places, and rows of others that name them, in one round trip."""
    if not placed:
        return
    at = moment(tx, tx.now)
    salts = secrets.token_bytes(SALT_BYTES * len(placed))
    rows = [
        _row(pk, tx.workspace_pk, seq, at, salts[start : start + SALT_BYTES], each)
        for start, (pk, seq, each) in zip(count(0, SALT_BYTES), placed, strict=False)
    ]
    tx.execute_all(
        [
            (MOVE_HEAD, (tx.workspace_pk, placed[-1][1])),
            *inserting(Record, COLUMNS, rows),
            *_linking(placed),
            *_declaring(tx.workspace_pk, placed),
            *_moving_current(tx, placed),
            *adding_texts(tx.workspace_pk, [(pk, each.text) for pk, each in _searched(placed)]),
            *beside,
        ]
    )


def link(tx: Transaction, record_pk: int, sources: Sequence[Source]) -> None:
    """Say what a record that was just written is derived from."""
    rows = [(record_pk, position, *source) for position, source in enumerate(sources)]
    insert(tx, RecordLink, LINK_COLUMNS, rows)


def _row(
    pk: int, workspace_pk: int, seq: int, at: Any, salt: bytes, record: NewRecord
) -> tuple[Any, ...]:
    is_elsewhere = record.revision_pk is not None
    return (
        pk, workspace_pk, seq, record.public_id, record.collection,
        None if record.in_force is None else record.in_force.version, record.entity, record.key,
        record.type, record.artifact_id, record.revision_pk,
        "" if is_elsewhere else record.text, "{}" if is_elsewhere else record.content_text,
        record.actor, at, salt, digest_of(salt, record.text, record.content_text),
    )  # fmt: skip


def _linking(placed: Placed) -> list[Statement]:
    rows = [
        (pk, position, *source)
        for pk, _, record in placed
        for position, source in enumerate(record.sources)
    ]
    return inserting(RecordLink, LINK_COLUMNS, rows)


def _declaring(workspace_pk: int, placed: Placed) -> list[Statement]:
    """The declared fields that queries may use, in the column of their type."""
    rows = [
        (pk, workspace_pk, record.collection, name, seq, *columns)
        for pk, seq, record in placed
        if record.in_force is not None
        for name, columns in _asked(record.in_force.definition, record.content)
    ]
    columns = ("record_id", "workspace_id", "collection", "name", "seq", "text", "number")
    return inserting(RecordField, columns, rows)


def _asked(
    collection: Collection, content: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str | None, float | None]]]:
    """The values of fields for filter or sort: text, or number."""
    for name, value in field_values(collection, content).items():
        declared = collection.fields[name]
        if declared.filter or declared.sort:
            yield name, (value, None) if declared.type == "string" else (None, float(value))


def _searched(placed: Placed) -> list[tuple[int, NewRecord]]:
    """Of several versions of one value only the last is in force."""
    last = {each.key and _address(each): pk for pk, _, each in placed}
    return [
        (pk, each)
        for pk, _, each in placed
        if each.key is None or (last[_address(each)] == pk and not each.archived)
    ]


def _address(record: NewRecord) -> str:
    assert record.key is not None
    return address_id(record.collection, record.entity, record.key)


def _moving_current(tx: Transaction, placed: Placed) -> list[Statement]:
    """The newest record at an address takes the place of the one before it."""
    last = {_address(each): (pk, each) for pk, _, each in placed if each.key is not None}
    if not last:
        return []
    for part in parts(sorted(last)):
        sql = f"SELECT record_id FROM {CURRENT} WHERE workspace_id = %s AND address_id IN "
        found = tx.execute(sql + among(part), (tx.workspace_pk, *part))
        forget_texts(tx, [pk for (pk,) in found])
    gone = [id for id, (_, each) in last.items() if each.archived]
    for part in parts(gone):
        sql = f"DELETE FROM {CURRENT} WHERE workspace_id = %s AND address_id IN {among(part)}"
        tx.execute(sql, (tx.workspace_pk, *part))
    rows = [
        (tx.workspace_pk, id, each.collection, each.entity, pk)
        for id, (pk, each) in last.items()
        if not each.archived
    ]
    columns = ("workspace_id", "address_id", "collection", "entity", "record_id")
    return inserting(CurrentRecord, columns, rows, MOVE_CURRENT)
