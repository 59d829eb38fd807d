"""Reads of uses: one, those of a recipe, those that ran on a record, and the signals on one."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from pydantic_core import from_json

from artifacts import clock, conf
from artifacts.core.errors import ValidationFailed
from artifacts.core.values import Value
from artifacts.workspace import as_moment, database
from feedback.core.errors import ArtifactUseNotFound
from feedback.core.signals import UseIdentity
from feedback.models import ArtifactUse, UseSignal, UseTarget, UseTargetHead

# In the order of the model's fields, the moments at their end.
COLUMNS = tuple(field.attname for field in ArtifactUse._meta.concrete_fields)
FIND = f"""
    SELECT {", ".join(f"u.{column}" for column in COLUMNS)}, t.text
    FROM {ArtifactUse._meta.db_table} u
    LEFT JOIN {UseTarget._meta.db_table} t ON t.id = u.target_id
    WHERE u.workspace_id = %s AND u.public_id = %s"""
USE_ID = re.compile(r"use_[0-9a-f]{32}")


class UseInfo(Value):
    """A use as it is read: what was rendered and on what, and never the text."""

    id: str
    artifact: dict[str, Any]
    render_sha256: str
    truncated: bool
    learning_target: dict[str, Any] | None
    snapshot_id: str | None
    created_at: datetime
    expires_at: datetime | None
    expired: bool

    def wire(self) -> dict[str, Any]:
        """Here null says something, so it is said."""
        return self.model_dump(mode="json")


def find_use(workspace_pk: int, use_id: str) -> ArtifactUse:
    """The row of a use; unknown, purged and foreign ones are the same refusal."""
    found = database().one(FIND, (workspace_pk, use_id)).rows
    if not found:
        raise ArtifactUseNotFound(use_id=use_id)
    *columns, created_at, expires_at, target = found[0]
    row = ArtifactUse.from_db(
        None, COLUMNS, [*columns, as_moment(created_at), as_moment(expires_at)]
    )
    row.truncated = bool(row.truncated)
    if target is not None:
        row.target = UseTarget(pk=row.target_id, workspace_id=workspace_pk, text=target)
    return row


def find_by_key(workspace_pk: int, sender: str, key: str) -> ArtifactUse | None:
    """The use that a sender bound under its key."""
    return _rows(workspace_pk).filter(sender=sender, idempotency_key=key).first()


def uses(
    workspace_pk: int,
    *,
    recipe: str | None = None,
    version: int | None = None,
    head: str | None = None,
    after: str | None = None,
    limit: int = 100,
) -> list[UseInfo]:
    """A page of uses, oldest first: of a recipe, of one version of it, or bound on a record."""
    rows = _rows(workspace_pk)
    if recipe is not None:
        rows = rows.filter(recipe_name=recipe)
    if version is not None:
        rows = rows.filter(recipe_version=version)
    if head is not None:
        on_head = UseTargetHead.objects.filter(record_id=head)
        rows = rows.filter(target__in=on_head.values("target"))
    if after is not None:
        last = _rows(workspace_pk).filter(public_id=after).values_list("pk", flat=True).first()
        if last is None:
            raise ValidationFailed.at(["after"], "names nothing in this list")
        rows = rows.filter(pk__gt=last)
    return [use_info(row) for row in rows.order_by("pk")[:limit]]


def signal_ids(use: ArtifactUse, *, after: str | None, limit: int) -> list[str]:
    """A page of the records of the signals on a use, in the order in which they came."""
    rows = UseSignal.objects.filter(use=use)
    if after is not None:
        last = rows.filter(record_id=after).values_list("pk", flat=True).first()
        if last is None:
            raise ValidationFailed.at(["after"], "names nothing in this list")
        rows = rows.filter(pk__gt=last)
    return list(rows.order_by("pk").values_list("record_id", flat=True)[:limit])


def use_info(row: ArtifactUse) -> UseInfo:
    """A use with its expiry as it is now."""
    ends = ends_at(row)
    return UseInfo(
        id=row.public_id,
        artifact=artifact_of(row),
        render_sha256=row.render_sha256,
        truncated=row.truncated,
        learning_target=_target(row),
        snapshot_id=row.snapshot_id,
        created_at=row.created_at,
        expires_at=ends,
        expired=is_over(ends),
    )


def identity(row: ArtifactUse) -> UseIdentity:
    """What every signal on the use says of it."""
    return UseIdentity(
        row.public_id, artifact_of(row), row.render_sha256, row.snapshot_id, _target(row)
    )


def artifact_of(row: ArtifactUse) -> dict[str, Any]:
    return {
        "name": row.recipe_name,
        "version": row.recipe_version,
        "definition_hash": row.definition_hash,
    }


def ends_at(row: ArtifactUse) -> datetime | None:
    """The earlier of what was promised at bind and what the setting in force allows."""
    allowed = retention_end(row.created_at, conf.settings().USE_RETENTION_DAYS)
    ends = [each for each in (row.expires_at, allowed) if each is not None]
    return min(ends, default=None)


def retention_end(created_at: datetime, days: int | None) -> datetime | None:
    """When a use that was bound then expires, if they are kept for so many days; None is never."""
    return None if days is None else created_at + timedelta(days=days)


def is_over(ends: datetime | None) -> bool:
    return ends is not None and ends <= clock.now()


def _target(row: ArtifactUse) -> dict[str, Any] | None:
    target: dict[str, Any] | None = None if row.target is None else from_json(row.target.text)
    return target


def _rows(workspace_pk: int) -> QuerySet[ArtifactUse]:
    return ArtifactUse.objects.select_related("target").filter(workspace_id=workspace_pk)


def is_use_id(text: str) -> bool:
    """Whether this has the form of a use's id; another is no id, and not unknown."""
    return USE_ID.fullmatch(text) is not None
