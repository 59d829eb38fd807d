"""The values in force: what a render, a bind and a promotion take as their base."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import OuterRef, Subquery
from pydantic_core import from_json

from artifacts.core.values import Id, Value
from artifacts.core.visibility import NOTHING_HIDDEN, Hidden
from artifacts.models import ChangeSet
from learning import models
from learning.core.records import content_of, text_of

RUNS = (ChangeSet.Origin.PROMOTION, ChangeSet.Origin.ROLLBACK)


class Head(Value):
    """One value in force. `run_id` is the promotion or rollback that wrote it, None for a direct
    write; `version` is that of its artifact, None for a record that is no artifact."""

    collection: str
    entity: str
    key: str
    type: str | None = None
    record_id: Id
    run_id: Id | None = None
    artifact_id: Id | None = None
    version: int | None = None
    text: str
    content: dict[str, object]


def heads(
    workspace_pk: int,
    entity: str,
    collections: Sequence[str],
    hidden: Hidden = NOTHING_HIDDEN,
) -> list[Head]:
    """The heads of an entity in these collections, by key within each, in the order given.

    One statement, so what it gives was in force together: no promotion is seen by half.
    """
    run = ChangeSet.objects.filter(
        workspace_id=workspace_pk,
        public_id=OuterRef("record__revision__change_set_id"),
        origin__in=RUNS,
    ).values("public_id")
    rows = (
        models.CurrentRecord.objects.filter(
            workspace_id=workspace_pk, entity=entity, collection__in=collections
        )
        .select_related("record__revision")
        .annotate(run_id=Subquery(run))
    )
    order = {name: place for place, name in enumerate(collections)}
    found = [_head(row) for row in rows if row.record.artifact_id not in hidden.artifacts]
    found.sort(key=lambda each: (order[each.collection], each.key))
    return found


def _head(row: models.CurrentRecord) -> Head:
    record, revision = row.record, row.record.revision
    if revision is None:
        text, content = record.text, from_json(record.content or "{}")
    else:
        data = from_json(revision.data or "{}")
        text = text_of(revision.kind, data) if revision.salt else ""
        content = content_of(revision.kind, data)
    return Head(
        collection=row.collection,
        entity=row.entity,
        key=record.key or "",
        type=record.type,
        record_id=record.public_id,
        run_id=row.run_id,  # type: ignore[attr-defined]
        artifact_id=record.artifact_id,
        version=None if revision is None else revision.version,
        text=text,
        content=content,
    )
