"""Reads of records. What stands at a hidden artifact's address is not there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db.models import Exists, F, FilteredRelation, OuterRef, Q, QuerySet
from pydantic_core import from_json

from artifacts.core.actors import Actor, actor_adapter
from artifacts.core.errors import NotFound, ValidationFailed
from artifacts.core.values import AddressPart, Id, Value, is_id
from artifacts.core.visibility import Hidden
from learning import models
from learning.core.definitions import Collection
from learning.core.records import content_of, text_of, value_at

from .catalog import collections_in_force

CONDITION = re.compile(r"([a-z][a-z0-9_]{0,63})(>=|<=|=|>|<)(.*)", re.DOTALL)
LOOKUPS = {"=": "", ">=": "__gte", "<=": "__lte", ">": "__gt", "<": "__lt"}
MOST_CONDITIONS = 10


class RecordQuery(Value):
    """Which records, in which order. `where` holds conditions such as `signal_score<=0.5` on
    declared fields; `sort` is `seq` or a declared field, with `-` for the other way round.

    `status` is `current` for the values in force at their addresses and all events, or `all`.
    """

    collection: tuple[Id, ...] = ()
    entity: AddressPart | None = None
    type: tuple[Id, ...] = ()
    key: AddressPart | None = None
    where: tuple[str, ...] = ()
    sort: str = "seq"
    status: Literal["current", "all"] = "current"


class RecordInfo(Value):
    """A record as it is read: of a maintained value with the text of its revision."""

    id: Id
    seq: int
    collection: str
    collection_version: int | None = None
    entity: str
    key: str | None = None
    type: str | None = None
    text: str
    content: dict[str, Any]
    fields: dict[str, Any] = {}
    derived_from: tuple[Id, ...] = ()
    artifact_id: Id | None = None
    version: int | None = None
    archived: bool | None = None
    current: bool | None = None
    erased: bool | None = None
    actor: Actor
    at: datetime


def find_record(workspace_pk: int, record_id: str, hidden: Hidden) -> RecordInfo:
    """One record, or `not_found`."""
    row = (
        record_rows(workspace_pk, hidden).filter(public_id=record_id).first()
        if is_id(record_id)
        else None
    )
    if row is None:
        raise NotFound("record", record_id)
    return as_infos(workspace_pk, [row], hidden)[0]


def list_records(
    workspace_pk: int, query: RecordQuery, hidden: Hidden, *, after: str | None, limit: int
) -> list[RecordInfo]:
    """A page of records. Sorted by a field, it holds those that have the field."""
    rows = narrowed(workspace_pk, record_rows(workspace_pk, hidden), query)
    order = _order(workspace_pk, query)
    rows = order.applied(rows, workspace_pk)
    if after is not None:
        last = rows.filter(public_id=after).values_list(order.column, "seq").first()
        if last is None:
            raise ValidationFailed.at(["after"], "names nothing in this list")
        rows = rows.filter(order.beyond(*last))
    return as_infos(workspace_pk, list(rows[:limit]), hidden)


def narrowed(
    workspace_pk: int, rows: QuerySet[models.Record], query: RecordQuery
) -> QuerySet[models.Record]:
    """The rows that a query is about, in no order."""
    if query.collection:
        rows = rows.filter(collection__in=query.collection)
    if query.entity is not None:
        rows = rows.filter(entity=query.entity)
    if query.type:
        rows = rows.filter(type__in=query.type)
    if query.key is not None:
        rows = rows.filter(key=query.key)
    if query.status == "current":
        rows = rows.filter(Q(key__isnull=True) | Q(current__isnull=False))
    if len(query.where) > MOST_CONDITIONS:
        raise ValidationFailed.at(["where"], f"holds more than {MOST_CONDITIONS} conditions")
    if query.where:
        collection = _the_collection(workspace_pk, query, "where")
        for place, condition in enumerate(query.where):
            rows = rows.filter(Exists(_matching(collection, condition, place)))
    return rows


def as_infos(workspace_pk: int, rows: Sequence[models.Record], hidden: Hidden) -> list[RecordInfo]:
    """Rows as they are told; two statements for what stands beside them."""
    in_force = collections_in_force(workspace_pk, [each.collection for each in rows])
    sources = _sources([each.pk for each in rows], hidden)
    return [
        _info(each, sources.get(each.pk, ()), _definition(in_force, each.collection))
        for each in rows
    ]


def _definition(in_force: Any, name: str) -> Collection | None:
    found = in_force.get(name)
    return None if found is None else found.definition


def record_rows(workspace_pk: int, hidden: Hidden) -> QuerySet[models.Record]:
    rows = models.Record.objects.select_related("revision", "current").filter(
        workspace_id=workspace_pk
    )
    if hidden.artifacts:
        rows = rows.filter(
            Q(artifact_id__isnull=True) | ~Q(artifact_id__in=sorted(hidden.artifacts))
        )
    return rows


def _info(row: models.Record, sources: Iterable[str], collection: Collection | None) -> RecordInfo:
    revision = row.revision
    if revision is None:
        text, content = row.text, from_json(row.content or "{}")
    else:
        data = from_json(revision.data or "{}")
        is_erased = not revision.salt
        text = "" if is_erased else text_of(revision.kind, data)
        content = content_of(revision.kind, data)
    projected = {} if collection is None else collection.fields
    values = {
        name: value_at(content, each.path) for name, each in projected.items() if each.project
    }
    return RecordInfo(
        id=row.public_id,
        seq=row.seq,
        collection=row.collection,
        collection_version=row.collection_version,
        entity=row.entity,
        key=row.key,
        type=row.type,
        text=text,
        content=content,
        fields={name: value for name, value in values.items() if value is not None},
        derived_from=tuple(sources),
        artifact_id=row.artifact_id,
        version=None if revision is None else revision.version,
        archived=None if revision is None else revision.archived,
        current=None if row.key is None else hasattr(row, "current"),
        erased=True if not row.salt or (revision is not None and not revision.salt) else None,
        actor=actor_adapter.validate_json(row.actor),
        at=row.at,
    )


def _sources(pks: Sequence[int], hidden: Hidden) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    rows = models.RecordLink.objects.filter(record_id__in=pks).order_by("record_id", "position")
    for pk, record, record_of, revision, revision_of in rows.values_list(
        "record_id", "source__public_id", "source__artifact_id",
        "revision__public_id", "revision__artifact__public_id",
    ):  # fmt: skip
        if not {record_of, revision_of} & hidden.artifacts:
            found.setdefault(pk, []).append(record or revision)
    return found


# Declared fields


def _the_collection(workspace_pk: int, query: RecordQuery, member: str) -> Collection:
    """Fields are declared by a collection, so a query by fields is of one."""
    if len(query.collection) != 1:
        raise ValidationFailed.at([member], "needs exactly one collection, which declares fields")
    [name] = query.collection
    found = collections_in_force(workspace_pk, [name]).get(name)
    if found is None:
        raise ValidationFailed.at(["collection"], "is not declared in this workspace's catalog")
    return found.definition


def _matching(collection: Collection, condition: str, place: int) -> QuerySet[models.RecordField]:
    match = CONDITION.fullmatch(condition)
    if match is None:
        raise ValidationFailed.at(["where", place], "must be a field, one of = < <= > >=, a value")
    name, operator, text = match.groups()
    declared = collection.fields.get(name)
    if declared is None or not declared.filter:
        raise ValidationFailed.at(["where", place], "is on no field that is declared for filter")
    column = "text" if declared.type == "string" else "number"
    if operator != "=" and declared.type in ("string", "boolean"):
        raise ValidationFailed.at(["where", place], f"a {declared.type} is compared by = alone")
    return models.RecordField.objects.filter(
        record=OuterRef("pk"),
        workspace_id=OuterRef("workspace_id"),
        collection=collection.name,
        name=name,
        **{column + LOOKUPS[operator]: _typed(declared.type, text, place)},
    )


def _typed(type_: str, text: str, place: int) -> str | float:
    if type_ == "string":
        if "\0" in text:
            raise ValidationFailed.at(["where", place], "must not contain NUL")
        return text
    if type_ == "boolean":
        if text not in ("true", "false"):
            raise ValidationFailed.at(["where", place], "a boolean is true or false")
        return float(text == "true")
    if re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", text) is None:
        raise ValidationFailed.at(["where", place], "must be a number")
    return float(text)


@dataclass(frozen=True, slots=True)
class _Order:
    """By seq, or by a field and then by seq."""

    is_down: bool
    collection: str | None = None
    name: str | None = None
    column: str = "seq"

    def applied(self, rows: QuerySet[models.Record], workspace_pk: int) -> QuerySet[models.Record]:
        if self.name is None:
            return rows.order_by("-seq" if self.is_down else "seq")
        rows = rows.annotate(
            sorted=FilteredRelation(
                "fields",
                condition=Q(
                    fields__name=self.name,
                    fields__collection=self.collection,
                    fields__workspace_id=workspace_pk,
                ),
            )
        ).filter(**{f"{self.column}__isnull": False})
        # The field's own copy of the seq, so that its index gives this order.
        value, seq = F(self.column), F("sorted__seq")
        return rows.order_by(*((value.desc(), seq.desc()) if self.is_down else (value, seq)))

    def beyond(self, value: Any, seq: int) -> Q:
        """What comes after the record with this value and seq."""
        side = "__lt" if self.is_down else "__gt"
        if self.name is None:
            return Q(**{f"seq{side}": seq})
        tied = Q(**{self.column: value, f"sorted__seq{side}": seq})
        # Said twice: the first condition is where the index begins.
        return Q(**{f"{self.column}{side}e": value}) & (Q(**{f"{self.column}{side}": value}) | tied)


def _order(workspace_pk: int, query: RecordQuery) -> _Order:
    name = query.sort.removeprefix("-")
    is_down = query.sort.startswith("-")
    if name == "seq":
        return _Order(is_down)
    collection = _the_collection(workspace_pk, query, "sort")
    declared = collection.fields.get(name)
    if declared is None or not declared.sort:
        raise ValidationFailed.at(["sort"], "is no field that is declared for sort")
    column = "sorted__text" if declared.type == "string" else "sorted__number"
    return _Order(is_down, collection.name, name, column)
