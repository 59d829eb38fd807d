"""Rows as the store would write them, made without it: these tests are about the database alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

from artifacts.core.ids import new_id
from artifacts.models import (
    Artifact,
    ChangeSet,
    Event,
    Proposal,
    ProposalGroup,
    Revision,
    Tenant,
    Workspace,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ACTOR = '{"type":"system"}'


def workspace() -> Workspace:
    tenant = Tenant.objects.create(name="Acme")
    return Workspace.objects.create(tenant=tenant, name="Launch")


def unsaved_event(workspace: Workspace, seq: int, **columns: Any) -> Event:
    values = {
        "public_id": new_id("evt"),
        "type": "message_posted",
        "actor_key": "system",
        "at": NOON + timedelta(seconds=seq),
        "text": '{"secret":"of Ada"}',
        "salt": b"s" * 16,
        "digest": b"d" * 32,
        "chain": seq.to_bytes(32, "big", signed=True),
    }
    return Event(workspace=workspace, seq=seq, **values | columns)


def event(workspace: Workspace, seq: int, **columns: Any) -> Event:
    row = unsaved_event(workspace, seq, **columns)
    row.save(force_insert=True)
    return row


def artifact(workspace: Workspace) -> Artifact:
    return Artifact.objects.create(
        workspace=workspace, public_id=new_id("art"), kind="doc", version=3, updated_by=ACTOR,
        created_at=NOON, updated_at=NOON,
    )  # fmt: skip


def revision(workspace: Workspace) -> Revision:
    return Revision.objects.create(
        artifact=artifact(workspace), public_id=new_id("rev"), version=3, kind="doc",
        data='{"text":"of Ada"}', patch="[]", actor=ACTOR, actor_key="system",
        change_set_id="chs_1", at=NOON, salt=b"s" * 16, digest=b"d" * 32,
    )  # fmt: skip


def change_set(workspace: Workspace) -> ChangeSet:
    return ChangeSet.objects.create(
        workspace=workspace, public_id=new_id("chs"), origin="command", actor=ACTOR, last_seq=1,
        at=NOON,
    )  # fmt: skip


def group(workspace: Workspace, status: str) -> ProposalGroup:
    return ProposalGroup.objects.create(
        workspace=workspace, public_id=new_id("grp"), status=status, proposed_by=ACTOR
    )


def proposal(workspace: Workspace, status: str) -> Proposal:
    return Proposal.objects.create(
        workspace=workspace, public_id=new_id("prp"), status=status, artifact_id="art_1",
        kind="doc", change='{"of":"Ada"}', base_version=3, result='{"text":"of Ada"}',
        rationale="of Ada", proposed_by=ACTOR, proposer_key="system", created_at=NOON,
    )  # fmt: skip
