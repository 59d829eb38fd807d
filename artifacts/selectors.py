"""Reads of artifacts, proposals and the log; never a write. Lists come oldest first.

Every function is given the key of one workspace and what its caller may not see; the door checks
who asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeVar

from django.db.models import F, Model, Q, QuerySet
from pydantic_core import from_json

from . import models
from .core.actors import Actor, actor_adapter
from .core.errors import NotFound, ValidationFailed
from .core.events import WORKSPACE_WIDE
from .core.patches import patch_adapter
from .core.state import Group, Proposal, Revision, Stored
from .core.values import Id, Value, is_id
from .core.visibility import Hidden, visible_text
from .extensions import StoredEvent
from .rows import ADDRESS_COLUMNS, PROPOSAL_COLUMNS, as_address, as_proposal, columns_of

M = TypeVar("M", bound=Model)

# Beyond what a 64-bit column can hold there is nothing.
MOST = 2**63 - 1


class StoredRevision(Revision):
    """A revision as it is kept: with its own id, its change set and its moment."""

    id: Id
    change_set_id: Id
    at: datetime


class ChangeSetInfo(Value):
    """What one commit wrote together, and where it came from."""

    id: Id
    origin: Literal["command", "batch", "promotion", "rollback"]
    actor: Actor
    last_seq: int
    at: datetime
    revisions: tuple[StoredRevision, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the log: `after_seq < seq < before_seq`, its first `limit` or its last `last`.

    `threads` are those the reader follows, None for all of them.
    """

    after_seq: int = 0
    before_seq: int | None = None
    threads: frozenset[str] | None = None
    limit: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.last is not None:
            raise ValidationFailed.at(["last"], "does not go with limit")
        for name in ("limit", "last"):
            number = getattr(self, name)
            if number is not None and number < 0:
                raise ValidationFailed.at([name], "must not be negative")


# The log


def head_seq(workspace_pk: int) -> int:
    return models.Workspace.objects.values_list("head_seq", flat=True).get(pk=workspace_pk)


def texts(workspace_pk: int, window: Window, hidden: Hidden) -> list[str]:
    """The stored envelopes of a window, as they go on the wire."""
    rows = _in_window(workspace_pk, window)
    if not hidden:
        found = list(_cut(rows, window).values_list("text", flat=True))
        return found[::-1] if window.last is not None else found
    return [event.text for event in events(workspace_pk, window, hidden)]


def events(workspace_pk: int, window: Window, hidden: Hidden) -> list[StoredEvent]:
    """The same with the columns beside the text. What the caller may not see does not count."""
    rows = _in_window(workspace_pk, window)
    found = list(_visible(rows, window, hidden)) if hidden else _stored(_cut(rows, window))
    return found[::-1] if window.last is not None else found


def cursor(workspace_pk: int, name: str) -> int:
    """How far a named consumer got; 0 for one that never said."""
    rows = models.Cursor.objects.filter(workspace_id=workspace_pk, name=name)
    return rows.values_list("seq", flat=True).first() or 0


def _in_window(workspace_pk: int, window: Window) -> QuerySet[models.Event]:
    rows = models.Event.objects.filter(workspace_id=workspace_pk)
    if window.after_seq > 0:
        rows = rows.filter(seq__gt=min(window.after_seq, MOST))
    if window.before_seq is not None:
        rows = rows.filter(seq__lt=min(window.before_seq, MOST))
    if window.threads is not None:  # the rule of core's `is_delivered_to`, for the database
        rows = rows.filter(
            Q(type__in=sorted(WORKSPACE_WIDE))
            | Q(thread_id__isnull=True)
            | Q(thread_id__in=sorted(window.threads))
        )
    return rows.order_by("seq" if window.last is None else "-seq")


def _cut(rows: QuerySet[M], window: Window) -> QuerySet[M]:
    return rows[: window.limit if window.last is None else window.last]


EVENT_COLUMNS = (
    "seq", "public_id", "type", "thread_id", "run_id", "artifact_id", "mentions", "at", "text",
)  # fmt: skip


def _stored(rows: QuerySet[models.Event]) -> list[StoredEvent]:
    return [StoredEvent(*row) for row in rows.values_list(*EVENT_COLUMNS)]


def _visible(rows: QuerySet[models.Event], window: Window, hidden: Hidden) -> Iterator[StoredEvent]:
    """Go on until enough is found that may be seen, so that a page is full or the last."""
    most = window.limit if window.last is None else window.last
    left = most if most is not None else MOST
    for row in rows.values_list(*EVENT_COLUMNS).iterator(chunk_size=500):
        if left == 0:
            return
        event = StoredEvent(*row)
        text = visible_text(event.text, named=event.mentions, event_type=event.type, hidden=hidden)
        if text is not None:
            left -= 1
            yield event if text is event.text else replace(event, text=text)


# Artifacts


def artifact(workspace_pk: int, artifact_id: str, hidden: Hidden) -> Stored:
    """An artifact at the version in force, or `not_found`."""
    _check_id("artifact", artifact_id)
    row = _heads(workspace_pk, hidden).filter(artifact__public_id=artifact_id).first()
    if row is None:
        raise NotFound("artifact", artifact_id)
    return _artifact(row)


def artifacts(
    workspace_pk: int,
    hidden: Hidden,
    *,
    kind: str | None,
    archived: bool | None,
    after: str | None,
    limit: int,
) -> list[Stored]:
    """A page of artifacts; `archived` None gives both."""
    rows = _heads(workspace_pk, hidden)
    if kind is not None:
        rows = rows.filter(artifact__kind=kind)
    if archived is not None:
        rows = rows.filter(artifact__archived=archived)
    if after is not None:
        here = models.Artifact.objects.filter(workspace_id=workspace_pk)
        seen = here.exclude(public_id__in=sorted(hidden.artifacts))
        rows = rows.filter(artifact_id__gt=_pk_of(seen, after))
    return [_artifact(row) for row in rows.order_by("artifact_id")[:limit]]


def revision(workspace_pk: int, artifact_id: str, version: int, hidden: Hidden) -> StoredRevision:
    """One version of an artifact, or `not_found`."""
    _check_id("artifact", artifact_id)
    row = _revisions(workspace_pk, hidden).filter(
        artifact__public_id=artifact_id, version=version
    ).first()  # fmt: skip
    if row is None:
        raise NotFound("revision", f"{artifact_id}@{version}")
    return _revision(row)


def revisions(
    workspace_pk: int, artifact_id: str, hidden: Hidden, *, after: int | None, limit: int
) -> list[StoredRevision]:
    """A page of an artifact's versions, after version `after`."""
    _check_id("artifact", artifact_id)
    here = models.Artifact.objects.filter(workspace_id=workspace_pk, public_id=artifact_id)
    if artifact_id in hidden.artifacts or not here.exists():
        raise NotFound("artifact", artifact_id)
    rows = _revisions(workspace_pk, hidden).filter(artifact__public_id=artifact_id)
    if after is not None:
        rows = rows.filter(version__gt=after)
    return [_revision(row) for row in rows.order_by("version")[:limit]]


def change_set(workspace_pk: int, change_set_id: str, hidden: Hidden) -> ChangeSetInfo:
    """What one commit wrote together, or `not_found`; hidden artifacts are left out of it."""
    _check_id("change_set", change_set_id)
    row = models.ChangeSet.objects.filter(
        workspace_id=workspace_pk, public_id=change_set_id
    ).first()  # fmt: skip
    written = _revisions(workspace_pk, hidden).filter(change_set_id=change_set_id)
    shown = tuple(_revision(each) for each in written.order_by("pk")) if row else ()
    if row is None or not shown:
        raise NotFound("change_set", change_set_id)
    return ChangeSetInfo(
        id=row.public_id,
        origin=row.origin,
        actor=actor_adapter.validate_json(row.actor),
        last_seq=row.last_seq,
        at=row.at,
        revisions=shown,
    )


def _heads(workspace_pk: int, hidden: Hidden) -> QuerySet[models.Revision]:
    return _revisions(workspace_pk, hidden).filter(version=F("artifact__version"))


def _revisions(workspace_pk: int, hidden: Hidden) -> QuerySet[models.Revision]:
    rows = models.Revision.objects.select_related("artifact").filter(
        artifact__workspace_id=workspace_pk
    )
    if hidden.artifacts:
        rows = rows.exclude(artifact__public_id__in=sorted(hidden.artifacts))
    return rows


def _artifact(row: models.Revision) -> Stored:
    head = row.artifact
    return Stored(
        id=head.public_id,
        kind=head.kind,
        version=head.version,
        data=from_json(row.data or "{}"),
        updated_by=actor_adapter.validate_json(head.updated_by),
        archived=head.archived,
        address=as_address(columns_of(head, ADDRESS_COLUMNS)),
    )


def _revision(row: models.Revision) -> StoredRevision:
    return StoredRevision(
        id=row.public_id,
        artifact_id=row.artifact.public_id,
        version=row.version,
        kind=row.kind,
        data=from_json(row.data or "{}"),
        patch=None if not row.patch else patch_adapter.validate_json(row.patch),
        actor=actor_adapter.validate_json(row.actor),
        proposal_id=row.proposal_id,
        archived=row.archived,
        edited=row.edited,
        trace_id=row.trace_id,
        change_set_id=row.change_set_id,
        at=row.at,
    )


# Proposals


def proposal(workspace_pk: int, proposal_id: str, hidden: Hidden) -> Proposal:
    """A proposal, or `not_found`."""
    _check_id("proposal", proposal_id)
    row = _proposals(workspace_pk, hidden).filter(public_id=proposal_id).first()
    if row is None:
        raise NotFound("proposal", proposal_id)
    return _proposal(row)


def proposals(
    workspace_pk: int,
    hidden: Hidden,
    *,
    status: str | None,
    artifact_id: str | None,
    after: str | None,
    limit: int,
) -> list[Proposal]:
    """A page of proposals."""
    rows = _proposals(workspace_pk, hidden)
    if status is not None:
        rows = rows.filter(status=status)
    if artifact_id is not None:
        rows = rows.filter(artifact_id=artifact_id)
    if after is not None:
        rows = rows.filter(pk__gt=_pk_of(_proposals(workspace_pk, hidden), after))
    return [_proposal(row) for row in rows.order_by("pk")[:limit]]


def group(workspace_pk: int, group_id: str, hidden: Hidden) -> Group:
    """A group with all its proposals, or `not_found`; one that holds a hidden one is hidden."""
    _check_id("group", group_id)
    row = models.ProposalGroup.objects.filter(workspace_id=workspace_pk, public_id=group_id).first()
    members = models.Proposal.objects.filter(workspace_id=workspace_pk, group_id=group_id)
    seen = _proposals(workspace_pk, hidden).filter(group_id=group_id)
    if row is None or (hidden and members.count() != seen.count()):
        raise NotFound("group", group_id)
    return Group(
        id=row.public_id,
        proposed_by=actor_adapter.validate_json(row.proposed_by),
        proposal_ids=tuple(members.order_by("pk").values_list("public_id", flat=True)),
        status=row.status,
    )


def _proposals(workspace_pk: int, hidden: Hidden) -> QuerySet[models.Proposal]:
    rows = models.Proposal.objects.filter(workspace_id=workspace_pk)
    if hidden.artifacts:
        rows = rows.exclude(artifact_id__in=sorted(hidden.artifacts))
    if hidden.threads:  # said so for null too, or SQL leaves out what has no thread
        rows = rows.filter(Q(thread_id__isnull=True) | ~Q(thread_id__in=sorted(hidden.threads)))
    return rows


def _proposal(row: models.Proposal) -> Proposal:
    return as_proposal(columns_of(row, PROPOSAL_COLUMNS))


def _check_id(entity: str, id: str) -> None:
    """What could be no id is not there: the databases differ in what they do with it."""
    if not is_id(id):
        raise NotFound(entity, id)


def _pk_of(rows: QuerySet[Any], public_id: str) -> int:
    pk: int | None = rows.filter(public_id=public_id).values_list("pk", flat=True).first()
    if pk is None:
        raise ValidationFailed.at(["after"], "names nothing in this list")
    return pk
