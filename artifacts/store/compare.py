"""What stands in the tables beside what the log says: every difference is a line of `verify_log`.

Nothing stored may go unmentioned either: a row that no event tells of is a difference too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic_core import from_json

from .. import extensions, models
from ..core.actors import Actor, SystemActor, actor_adapter
from ..core.events import (
    ArtifactArchived,
    ArtifactChanged,
    ArtifactCreated,
    Envelope,
    ProposalCreated,
    ProposalResolved,
)
from ..core.limits import DEFAULT_LIMITS
from ..core.patches import patch_adapter
from ..core.state import Group, Proposal, Revision, Stored, revision_key
from ..core.values import Value
from ..rows import ADDRESS_COLUMNS, PROPOSAL_COLUMNS, as_address, as_proposal, columns_of
from .database import Database
from .log import digest_of
from .replay import Replayed
from .transaction import Terms, WriteTransaction

PAGE = 1_000
# Of rows that may hold a whole artifact each.
HEAVY_PAGE = 100


@dataclass(frozen=True, slots=True)
class Written:
    """Where and when a revision was written, as its event has it, and the hash of its data: that of
    every version of a long log would not fit into memory."""

    data_sha256: bytes
    at: datetime
    trace_id: str | None
    change_set_id: str | None


@dataclass(frozen=True, slots=True)
class Decided:
    """How a proposal was settled."""

    at: datetime
    by: Actor
    reason: str | None
    version: int | None


@dataclass(slots=True)
class Told:
    """The state that a log amounts to, and what its envelopes say around it."""

    state: Replayed = field(default_factory=Replayed)
    written: dict[str, Written] = field(default_factory=dict)
    suggested: dict[str, datetime] = field(default_factory=dict)
    decided: dict[str, Decided] = field(default_factory=dict)
    change_sets: dict[str, tuple[int, Actor, datetime]] = field(default_factory=dict)

    def take(self, envelope: Envelope, change_set_id: str | None) -> None:
        """One more event, in order."""
        self.state.take(envelope)
        if change_set_id is not None:
            self.change_sets[change_set_id] = (envelope.seq, envelope.actor, envelope.ts)
        match envelope.event:
            case ArtifactCreated() | ArtifactChanged() | ArtifactArchived() as event:
                trace = envelope.traceparent.split("-")[1] if envelope.traceparent else None
                key = revision_key(event.artifact_id, event.version)
                revision = self.state.revisions[key]
                sha256 = _sha256(revision.data)
                self.written[key] = Written(sha256, envelope.ts, trace, change_set_id)
                self.state.revisions[key] = revision.model_copy(update={"data": {}})
            case ProposalCreated() as event:
                self.suggested[event.proposal_id] = envelope.ts
            case ProposalResolved() as event:
                self.decided[event.proposal_id] = Decided(
                    envelope.ts, envelope.actor, event.reason, event.version
                )


def _sha256(data: Any) -> bytes:
    """The same for equal JSON alone: `1`, `1.0` and `true` are three values."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def is_emptied(text: str | None) -> bool:
    """Whether nothing is left of a payload, as an erasure leaves it."""
    return text in (None, "", "{}")


def differences(db: Database, workspace_pk: int, workspace_id: str, told: Told) -> Iterator[str]:
    """All of them, family by family."""
    yield from _of_revisions(workspace_pk, told)
    yield from _of_artifacts(workspace_pk, told)
    yield from _of_change_sets(workspace_pk, told)
    yield from _of_proposals(workspace_pk, told)
    yield from _of_groups(workspace_pk, told.state.groups)
    terms = Terms(workspace_pk, workspace_id, "", SystemActor(), DEFAULT_LIMITS)
    tx = WriteTransaction(db, terms)
    for name in ("threads", "runs", "messages"):
        yield from _of_others(tx, name, getattr(told.state, name))


def _of_revisions(workspace_pk: int, told: Told) -> Iterator[str]:
    missing = dict(told.state.revisions)
    rows = models.Revision.objects.filter(artifact__workspace_id=workspace_pk)
    for row in rows.select_related("artifact").order_by("pk").iterator(HEAVY_PAGE):
        key = revision_key(row.artifact.public_id, row.version)
        revision = missing.pop(key, None)
        if not row.salt:
            if not (is_emptied(row.data) and is_emptied(row.patch)):
                yield f"revision {key}: it has lost its salt and still says something"
            continue
        if bytes(row.digest) != digest_of(bytes(row.salt), row.data, row.patch):
            yield f"revision {key}: its data is not what was written"
        if revision is None:
            yield f"revision {key}: no event wrote it"
        elif not _agrees(_is_same_revision, row, revision, told.written[key]):
            yield f"revision {key}: it is not what its event says"
    yield from (f"revision {key}: it is missing" for key in missing)


def _is_same_revision(row: models.Revision, told: Revision, written: Written) -> bool:
    patch = None if row.patch is None else patch_adapter.validate_json(row.patch)
    return (
        (row.kind, row.proposal_id, row.archived, row.edited, row.actor_key)
        == (told.kind, told.proposal_id, told.archived, told.edited, told.actor.participant)
        and (row.at, row.trace_id, row.change_set_id)
        == (written.at, written.trace_id, written.change_set_id)
        and actor_adapter.validate_json(row.actor) == told.actor
        and _sha256(from_json(row.data)) == written.data_sha256
        and (patch and patch.wire()) == (told.patch and told.patch.wire())
    )


def _of_artifacts(workspace_pk: int, told: Told) -> Iterator[str]:
    missing = dict(told.state.artifacts)
    for row in models.Artifact.objects.filter(workspace_id=workspace_pk).iterator(PAGE):
        artifact = missing.pop(row.public_id, None)
        if artifact is None:
            yield f"artifact {row.public_id}: no event created it"
        elif not _agrees(_is_same_artifact, row, artifact, told):
            yield f"artifact {row.public_id}: its row is not what the log says"
    yield from (f"artifact {id}: it is missing" for id in missing)


def _is_same_artifact(row: models.Artifact, artifact: Stored, told: Told) -> bool:
    first, last = (
        told.written[revision_key(artifact.id, version)].at for version in (1, artifact.version)
    )
    return (
        (row.kind, row.version, row.archived)
        == (artifact.kind, artifact.version, artifact.archived)
        and (row.created_at, row.updated_at) == (first, last)
        and as_address(columns_of(row, ADDRESS_COLUMNS)) == artifact.address
        and actor_adapter.validate_json(row.updated_by) == artifact.updated_by
    )


def _of_change_sets(workspace_pk: int, told: Told) -> Iterator[str]:
    missing = dict(told.change_sets)
    for row in models.ChangeSet.objects.filter(workspace_id=workspace_pk).iterator(PAGE):
        expected = missing.pop(row.public_id, None)
        if expected is None:
            yield f"change set {row.public_id}: no event belongs to it"
        elif not _agrees(_is_same_change_set, row, expected):
            yield f"change set {row.public_id}: it is not what its events say"
    yield from (f"change set {id}: it is missing" for id in missing)


def _is_same_change_set(row: models.ChangeSet, told: tuple[int, Actor, datetime]) -> bool:
    return (row.last_seq, actor_adapter.validate_json(row.actor), row.at) == told


def _of_proposals(workspace_pk: int, told: Told) -> Iterator[str]:
    missing = dict(told.state.proposals)
    for row in models.Proposal.objects.filter(workspace_id=workspace_pk).iterator(HEAVY_PAGE):
        expected = missing.pop(row.public_id, None)
        if expected is None:
            yield f"proposal {row.public_id}: no event created it"
        elif not _agrees(_is_same_proposal, row, expected, told):
            yield f"proposal {row.public_id}: it is not what the log says"
    yield from (f"proposal {id}: it is missing" for id in missing)


def _is_same_proposal(row: models.Proposal, expected: Proposal, told: Told) -> bool:
    """Whether a proposal says what was said, stands in its lists, and was decided as told."""
    decided = told.decided.get(expected.id)
    how = (decided.at, decided.reason, decided.version) if decided else (None, None, None)
    by = None if row.resolved_by is None else actor_adapter.validate_json(row.resolved_by)
    # What the proposal would have given when it was made stands in no event.
    proposal = as_proposal(columns_of(row, PROPOSAL_COLUMNS)).model_copy(update={"result": None})
    return (
        proposal.wire() == expected.wire()
        and row.artifact_id == expected.change.artifact_id
        and row.proposer_key == expected.proposed_by.participant
        and row.created_at == told.suggested[expected.id]
        and (row.resolved_at, row.reason, row.resolved_version) == how
        and by == (decided.by if decided else None)
    )


def _of_groups(workspace_pk: int, told: Mapping[str, Group]) -> Iterator[str]:
    members: dict[str, list[str]] = {}
    grouped = models.Proposal.objects.filter(workspace_id=workspace_pk, group_id__isnull=False)
    for group_id, id in grouped.order_by("pk").values_list("group_id", "public_id"):
        members.setdefault(str(group_id), []).append(id)
    missing = dict(told)
    for row in models.ProposalGroup.objects.filter(workspace_id=workspace_pk).iterator(PAGE):
        expected = missing.pop(row.public_id, None)
        if expected is None:
            yield f"group {row.public_id}: no event made it"
        elif not _agrees(_is_same_group, row, members.get(row.public_id, []), expected):
            yield f"group {row.public_id}: it is not what the log says"
    yield from (f"group {id}: it is missing" for id in missing)


def _is_same_group(row: models.ProposalGroup, members: list[str], told: Group) -> bool:
    by = actor_adapter.validate_json(row.proposed_by)
    return (row.status, by, members) == (told.status, told.proposed_by, list(told.proposal_ids))


def _of_others(tx: WriteTransaction, name: str, told: Any) -> Iterator[str]:
    """A family that another app keeps; nothing to compare where no app does."""
    family = extensions.family(name)
    if family is None:
        return

    for part in _pages(told):
        if _agrees(_are_same, family.load, tx, part, told):
            continue
        for id in part:
            if not _agrees(_are_same, family.load, tx, [id], told):
                yield f"{name} {id}: what is stored is not what the log says"
    for id in family.ids(tx.workspace_pk) if family.ids else ():
        if id not in told:
            yield f"{name} {id}: no event made it"


def _are_same(load: extensions.Load, tx: WriteTransaction, ids: list[str], told: Any) -> bool:
    found = load(tx, frozenset(ids))
    return all(_is_same(found.get(id), told[id]) for id in ids)


def _pages(ids: Iterable[str]) -> Iterator[list[str]]:
    listed = sorted(ids)
    for start in range(0, len(listed), PAGE):
        yield listed[start : start + PAGE]


def _is_same(found: Any, told: Any) -> bool:
    return found.wire() == told.wire() if isinstance(found, Value) else bool(found == told)


def _agrees(check: Callable[..., bool], *args: Any) -> bool:
    """What cannot even be read does not agree with anything."""
    try:
        return check(*args)
    except ValueError:
        return False
