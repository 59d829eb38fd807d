"""What the document blocks of a recipe read: all of them together, in one statement.

One statement sees one moment, so no render mixes what two promotions wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic_core import from_json

from artifacts.core.visibility import Hidden
from artifacts.workspace import Database, database
from learning.core.records import content_of, text_of
from learning.core.render import Row, RowStatus, row_text

Status = Literal["active", "draft", "all"]

WANTED = "(VALUES {rows}) AS w (block, place, collection, entity)"
WANTED_SQLITE = (
    "(SELECT column1 AS block, column2 AS place, column3 AS collection, column4 AS entity "
    "FROM (VALUES {rows})) AS w"
)
ONE = "(CAST(%s AS integer), CAST(%s AS integer), CAST(%s AS text), CAST(%s AS text))"
# The run is named where one commit promoted or rolled back; a direct write has none.
RUN = """LEFT JOIN artifactr_revision v ON v.id = r.revision_id
    LEFT JOIN artifactr_changeset s ON s.workspace_id = r.workspace_id
        AND s.public_id = v.change_set_id AND s.origin IN ('promotion', 'rollback')"""
RECORD = """r.collection, r.entity, r.key, r.type, r.public_id AS record_id, r.artifact_id,
    v.version, NULL AS proposal_id, s.public_id AS run_id, v.kind, v.data, r.text, r.content"""
ACTIVE = f"""
    SELECT w.block, w.place, NULL AS newest, 'active' AS status, {RECORD}
    FROM {{wanted}}
    JOIN artifactr_learning_currentrecord c
        ON c.workspace_id = %s AND c.collection = w.collection AND c.entity = w.entity
    JOIN artifactr_learning_record r ON r.id = c.record_id
    {RUN}"""
VERSIONS = f"""
    SELECT w.block, w.place, r.at AS newest,
        CASE WHEN c.id IS NULL THEN 'superseded' ELSE 'active' END AS status, {RECORD}
    FROM {{wanted}}
    JOIN artifactr_learning_record r ON r.workspace_id = %s
        AND r.collection = w.collection AND r.entity = w.entity AND r.key IS NOT NULL
    LEFT JOIN artifactr_learning_currentrecord c ON c.record_id = r.id
    {RUN}"""
# A draft of a value that is not there yet has its address in its change alone.
DRAFTS = """
    SELECT w.block, w.place, d.created_at AS newest, 'draft' AS status, w.collection, w.entity,
        d.key, d.type, NULL AS record_id, d.artifact_id, NULL AS version,
        d.public_id AS proposal_id, NULL AS run_id, d.kind, d.result AS data, '' AS text,
        '{{}}' AS content
    FROM {wanted}
    JOIN (
        SELECT p.public_id, p.artifact_id, p.kind, p.result, p.created_at,
            CASE WHEN a.id IS NULL THEN {address_collection} ELSE a.collection END AS collection,
            CASE WHEN a.id IS NULL THEN {address_entity} ELSE a.entity END AS entity,
            CASE WHEN a.id IS NULL THEN {address_key} ELSE a.key END AS key,
            CASE WHEN a.id IS NULL THEN {address_type} ELSE a.type END AS type
        FROM artifactr_proposal p
        LEFT JOIN artifactr_artifact a
            ON a.workspace_id = p.workspace_id AND a.public_id = p.artifact_id
        WHERE p.workspace_id = %s AND p.status = 'pending' AND p.result IS NOT NULL
    ) d ON d.collection = w.collection AND d.entity = w.entity"""
END = " ORDER BY block, newest DESC, place, key LIMIT %s"
ADDRESS = {
    "postgresql": "(p.change::jsonb #>> '{{address,{part}}}')",
    "sqlite": "json_extract(p.change, '$.address.{part}')",
}
PARTS: Mapping[Status, tuple[str, ...]] = {
    "active": (ACTIVE,),
    "all": (VERSIONS, DRAFTS),
    "draft": (DRAFTS,),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one block asks for."""

    entity: str
    collections: Sequence[str]
    status: Status


def document_rows(
    workspace_pk: int, wanted: Mapping[str, Wanted], *, hidden: Hidden, most: int
) -> tuple[dict[str, list[Row]], str | None]:
    """The rows of each block, in its own order, at most so many in all; and the block at which
    there were more.

    Values in force stand in the order of their collections, then of their keys; where a block asks
    for others too, the newest stand first.
    """
    found: dict[str, list[Row]] = {name: [] for name in wanted}
    if not wanted:
        return found, None
    db = database()
    names = list(wanted)
    rows = db.one(*_statement(db, workspace_pk, list(wanted.values()), most + 1)).rows
    lists = [found[name] for name in names]
    for each in rows[:most]:
        row = row_of(each[3], each[4:])
        if row.artifact_id not in hidden.artifacts:
            lists[each[0]].append(row)
    return found, names[rows[most][0]] if len(rows) > most else None


def _statement(
    db: Database, workspace_pk: int, wanted: Sequence[Wanted], most: int
) -> tuple[str, list[Any]]:
    """The union of what the blocks' statuses need, each part with the blocks that need it."""
    params: list[Any] = []
    shape: list[tuple[str, int]] = []
    for part in (ACTIVE, VERSIONS, DRAFTS):
        rows = [
            (block, place, collection, each.entity)
            for block, each in enumerate(wanted)
            if part in PARTS[each.status]
            for place, collection in enumerate(each.collections)
        ]
        if rows:
            shape.append((part, len(rows)))
            params += [value for row in rows for value in row]
            params.append(workspace_pk)
    return _sql(db.connection.vendor, tuple(shape)), [*params, most]


@lru_cache(maxsize=256)
def _sql(vendor: str, shape: tuple[tuple[str, int], ...]) -> str:
    """The text for so many addresses in each part."""
    table = WANTED_SQLITE if vendor == "sqlite" else WANTED
    form = ADDRESS[vendor]
    address = {
        f"address_{part}": form.format(part=part)
        for part in ("collection", "entity", "key", "type")
    }
    texts = [
        part.format(wanted=table.format(rows=", ".join([ONE] * count)), **address)
        for part, count in shape
    ]
    return " UNION ALL ".join(texts) + END


def row_of(status: RowStatus, row: tuple[Any, ...]) -> Row:
    """A row with the columns of `RECORD`, which stand in the order of a row's own."""
    return Row._make((shown_text(*row[9:]), *row[:4], status, *row[4:9]))


def shown_text(kind: str | None, data: str | None, text: str, content: str) -> str:
    """What a record says: of a maintained value its revision does, unless that was erased."""
    if kind is None:
        return text if _says(text) else row_text("", from_json(content) if content else {})
    value = from_json(data) if data else {}
    if not value:
        return ""
    said = text_of(kind, value)
    return said if _says(said) else row_text("", content_of(kind, value))


def _says(text: str) -> bool:
    """Whether anything is left of it without spaces; no copy is made to see that."""
    return bool(text) and not text.isspace()
