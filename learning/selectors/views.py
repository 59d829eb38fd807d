"""What a view selects: records in force, by scope and declared fields, ranked; one statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from artifacts.core.visibility import Hidden
from artifacts.workspace import Database, database
from learning.core.definitions import Order
from learning.core.parameters import Scalar
from learning.core.render import Row

from .documents import RECORD, RUN, row_of

SELECT = f"""
    SELECT {RECORD} FROM artifactr_learning_record r
    {RUN}"""
# An older version of a value is history, an erased record nothing.
IN_FORCE = """(r.key IS NULL OR EXISTS (
        SELECT 1 FROM artifactr_learning_currentrecord c WHERE c.record_id = r.id))
    AND (r.revision_id IS NOT NULL OR r.text <> '' OR r.content NOT IN ('', '{}'))"""
FIELD = """ JOIN artifactr_learning_recordfield {alias}
    ON {alias}.record_id = r.id AND {alias}.name = %s"""
TEXTS = "artifactr_learning_recordtext"
MATCHED = {
    "postgresql": (
        f" JOIN {TEXTS} t ON t.record_id = r.id",
        "to_tsvector('simple', t.text) @@ websearch_to_tsquery('simple', %s)",
        "ts_rank(to_tsvector('simple', t.text), websearch_to_tsquery('simple', %s)) DESC",
    ),
    "sqlite": (
        f" JOIN {TEXTS}_fts t ON t.rowid = r.id",
        f"{TEXTS}_fts MATCH %s",
        f"bm25({TEXTS}_fts)",
    ),
}
WORD = re.compile(r"\w+")
MOST_WORDS = 32


@dataclass(frozen=True, slots=True)
class Selection:
    """A view with its arguments in place."""

    collections: tuple[str, ...]
    entity: str | None
    types: tuple[str, ...]
    where: Mapping[str, Scalar]
    order: Order
    query: str | None
    limit: int


def view_rows(
    workspace_pk: int, selection: Selection, *, hidden: Hidden, most: int
) -> tuple[list[Row], bool]:
    """The rows of a selection, and whether `most` left out some that its own limit allows."""
    if most < 1:
        return [], True
    if selection.order.by == "rank" and not _words(selection.query):
        return [], False
    db = database()
    limit = min(selection.limit, most)
    statement = _Statement(db, workspace_pk, selection)
    # One more tells whether there are more, where that is asked.
    rows = db.one(*statement.limited(limit + 1 if limit < selection.limit else limit)).rows
    found = [row_of("active", row) for row in rows[:limit]]
    return [row for row in found if row.artifact_id not in hidden.artifacts], len(rows) > limit


@dataclass(slots=True)
class _Statement:
    """The SQL of one selection, put together from left to right."""

    db: Database
    workspace_pk: int
    selection: Selection
    joins: list[str] = field(default_factory=list)
    wheres: list[str] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    join_params: list[Any] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)
    order_params: list[Any] = field(default_factory=list)

    def limited(self, limit: int) -> tuple[str, list[Any]]:
        self._scope()
        self._fields()
        self._ordered()
        sql = (
            f"{SELECT}{''.join(self.joins)} WHERE {' AND '.join(self.wheres)} "
            f"ORDER BY {', '.join([*self.orders, 'r.seq DESC'])} LIMIT %s"
        )
        return sql, [*self.join_params, *self.params, *self.order_params, limit]

    def _scope(self) -> None:
        scope = self.selection
        self._where("r.workspace_id = %s", self.workspace_pk)
        self._where(self.db.spelled("r.collection {any}"), self.db.array(scope.collections))
        if scope.entity is not None:
            self._where("r.entity = %s", scope.entity)
        if scope.types:
            self._where(self.db.spelled("r.type {any}"), self.db.array(scope.types))
        self.wheres.append(IN_FORCE)

    def _fields(self) -> None:
        for number, (name, value) in enumerate(self.selection.where.items()):
            alias = f"f{number}"
            self.joins.append(FIELD.format(alias=alias))
            self.join_params.append(name)
            if isinstance(value, str):
                self._where(f"{alias}.text = %s", value)
            else:
                self._where(f"{alias}.number = %s", float(value))

    def _ordered(self) -> None:
        order = self.selection.order
        if order.by == "field":
            self.joins.append(" LEFT" + FIELD.format(alias="o"))
            self.join_params.append(order.field)
            # A field is either text or number, so one of the two is empty throughout.
            way = "ASC" if order.direction == "asc" else "DESC"
            self.orders += ["(o.id IS NULL)", f"o.number {way}", f"o.text {way}"]
        elif order.by == "rank":
            join, match, rank = MATCHED[self.db.connection.vendor]
            query = _query(self.db.connection.vendor, self.selection.query)
            self.joins.append(join)
            self._where(match, query)
            self.orders.append(rank)
            self.order_params += [query] * rank.count("%s")

    def _where(self, condition: str, value: Any) -> None:
        self.wheres.append(condition)
        self.params.append(value)


def _words(query: str | None) -> list[str]:
    """The words that are looked for; any of them makes a hit, more of them a better one."""
    return list(dict.fromkeys(WORD.findall((query or "").lower())))[:MOST_WORDS]


def _query(vendor: str, query: str | None) -> str:
    words = _words(query)
    if vendor == "sqlite":
        return " OR ".join(f'"{word}"' for word in words)
    # In quotes, because `or` and `-` are operators outside of them.
    return " or ".join(f'"{word}"' for word in words)
