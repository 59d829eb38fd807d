"""What a decided result writes: each statement with the number of rows it must write.

A row that is replaced is named with the version or status it was loaded with: what changed under
the lock, by whatever road, is never overwritten.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from pydantic_core import to_json

from ..core.commands import Decision
from ..core.events import ProposalResolved
from ..core.ids import new_id
from ..core.state import CommitResult, Group, Proposal, Revision, Stored
from ..extensions import Statement
from .database import Database
from .load import Seen
from .log import SALT_BYTES, Place, digest_of, json_text

INSERT_ARTIFACT = """
    INSERT INTO artifactr_artifact (workspace_id, public_id, kind, version, archived, updated_by,
        collection, entity, key, type, created_at, updated_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"""
UPDATE_ARTIFACT = """
    UPDATE artifactr_artifact SET version = %s, archived = %s, updated_by = %s, updated_at = %s
    WHERE id = %s AND version = %s"""
INSERT_REVISION = """
    INSERT INTO artifactr_revision (artifact_id, public_id, version, kind, data, patch, actor,
        actor_key, proposal_id, archived, edited, trace_id, change_set_id, at, salt, digest)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"""
# The key of an artifact made in this transaction is known to the database alone.
INSERT_FIRST_REVISION = INSERT_REVISION.replace(
    "VALUES (%s",
    "VALUES ((SELECT id FROM artifactr_artifact WHERE workspace_id = %s AND public_id = %s)",
)
INSERT_CHANGE_SET = """
    INSERT INTO artifactr_changeset (workspace_id, public_id, origin, actor, last_seq, at)
    VALUES (%s, %s, %s, %s, %s, %s)"""
INSERT_PROPOSAL = """
    INSERT INTO artifactr_proposal (workspace_id, public_id, status, artifact_id, kind, change,
        base_version, result, rationale, proposed_by, proposer_key, thread_id, run_id, group_id,
        created_at, resolved_at, resolved_by, reason, resolved_version)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"""
RESOLVE_PROPOSAL = """
    UPDATE artifactr_proposal SET status = %s, resolved_at = %s, resolved_by = %s, reason = %s,
        resolved_version = %s
    WHERE id = %s AND status = 'pending'"""
INSERT_GROUP = """
    INSERT INTO artifactr_proposalgroup (workspace_id, public_id, status, proposed_by)
    VALUES (%s, %s, %s, %s)"""
UPDATE_GROUP = """
    UPDATE artifactr_proposalgroup SET status = %s WHERE id = %s AND status = %s"""

STATUS: dict[Decision, str] = {"accept": "accepted", "reject": "rejected"}


class Saving:
    """The statements of one result, at one place of the log."""

    def __init__(self, db: Database, place: Place, seen: Seen, *, trace_id: str | None) -> None:
        self.db, self.place, self.seen, self.trace_id = db, place, seen, trace_id
        self.at = db.moment(place.now)
        self.actor = json_text(place.actor)

    def first(self, result: CommitResult) -> list[Statement]:
        """What the others name: new artifacts."""
        new = (each for each in result.artifacts if each.id not in self.seen.artifacts)
        return [self._artifact(each) for each in new]

    def rest(self, result: CommitResult) -> Iterator[Statement]:
        """What replaces and adds rows, in any order."""
        for artifact in result.artifacts:
            if artifact.id in self.seen.artifacts:
                yield self._artifact(artifact)
        for revision in result.revisions:
            yield self._revision(revision)
        for group in result.groups:
            yield from self._group(group)
        for proposal in result.proposals:
            yield self._proposal(proposal, _resolution(result, proposal.id))

    def change_set(self, change_set_id: str, *, origin: str, last_seq: int) -> Statement:
        row = (self.place.workspace_pk, change_set_id, origin, self.actor, last_seq, self.at)
        return INSERT_CHANGE_SET, row

    def _artifact(self, artifact: Stored) -> Statement:
        seen = self.seen.artifacts.get(artifact.id)
        actor = self._text_of(artifact.updated_by)
        if seen is not None:
            pk, version = seen
            row = (artifact.version, artifact.archived, actor, self.at, pk, version)
            return UPDATE_ARTIFACT, row
        address = artifact.address
        return INSERT_ARTIFACT, (
            self.place.workspace_pk, artifact.id, artifact.kind, artifact.version,
            artifact.archived, actor,
            *((address.collection, address.entity, address.key, address.type) if address
              else (None, None, None, None)),
            self.at, self.at,
        )  # fmt: skip

    def _revision(self, revision: Revision) -> Statement:
        data = to_json(revision.data).decode()
        patch = None if revision.patch is None else json_text(revision.patch)
        salt = secrets.token_bytes(SALT_BYTES)
        row = (
            new_id("rev"), revision.version, revision.kind, data, patch,
            self._text_of(revision.actor), revision.actor.participant, revision.proposal_id,
            revision.archived, revision.edited, self.trace_id, self.place.change_set_id, self.at,
            salt, digest_of(salt, data, patch),
        )  # fmt: skip
        seen = self.seen.artifacts.get(revision.artifact_id)
        if seen is None:
            return INSERT_FIRST_REVISION, (self.place.workspace_pk, revision.artifact_id, *row)
        return INSERT_REVISION, (seen[0], *row)

    def _proposal(self, proposal: Proposal, resolved: ProposalResolved | None) -> Statement:
        how: tuple[Any, ...] = (None, None, None, None)
        if resolved is not None:
            how = (self.at, self.actor, resolved.reason, resolved.version)
        pk = self.seen.proposals.get(proposal.id)
        if pk is not None:
            return RESOLVE_PROPOSAL, (proposal.status, *how, pk)
        return INSERT_PROPOSAL, (
            self.place.workspace_pk, proposal.id, proposal.status, proposal.change.artifact_id,
            proposal.kind, json_text(proposal.change), proposal.base_version,
            None if proposal.result is None else to_json(proposal.result).decode(),
            proposal.rationale, self._text_of(proposal.proposed_by),
            proposal.proposed_by.participant, proposal.thread_id, proposal.run_id,
            proposal.group_id, self.at, *how,
        )  # fmt: skip

    def _group(self, group: Group) -> Iterator[Statement]:
        seen = self.seen.groups.get(group.id)
        if seen is None:
            row = (self.place.workspace_pk, group.id, group.status)
            yield INSERT_GROUP, (*row, self._text_of(group.proposed_by))
        elif seen[1] != group.status:  # one that only gained a proposal changes no row
            yield UPDATE_GROUP, (group.status, *seen)

    def _text_of(self, actor: Any) -> str:
        return self.actor if actor is self.place.actor else json_text(actor)


def _resolution(result: CommitResult, proposal_id: str) -> ProposalResolved | None:
    for event in result.events:
        if isinstance(event, ProposalResolved) and event.proposal_id == proposal_id:
            return event
    return None
