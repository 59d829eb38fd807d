"""A conformance case's entities as rows, so that its command can be sent through a real surface.

The one place that makes rows without a command: a case may begin with any state the rules allow,
whichever way a workspace would have come to it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_json

from artifacts import models
from artifacts.core import Proposal, Revision, Run, Thread
from artifacts.core.state import Group, Stored
from threads import models as threads

AT = datetime(2020, 1, 1, tzinfo=UTC)


def text(value: Any) -> str:
    return to_json(value, exclude_none=True, by_alias=True).decode()


def seed(workspace: models.Workspace, entities: dict[str, list[Any]]) -> None:
    """Every entity of a state; the head revision of an artifact is made where none is given."""
    given = {(each.artifact_id, each.version) for each in entities.get("revisions", ())}
    for artifact in entities.get("artifacts", ()):
        _artifact(workspace, artifact, has_head=(artifact.id, artifact.version) in given)
    for revision in entities.get("revisions", ()):
        _revision(workspace, revision)
    for group in entities.get("groups", ()):
        _group(workspace, group)
    for proposal in entities.get("proposals", ()):
        _proposal(workspace, proposal)
    for thread in entities.get("threads", ()):
        _thread(workspace, thread)
    for run in entities.get("runs", ()):
        _run(workspace, run)
    for id in entities.get("messages", ()):
        where = entities["threads"][-1].id  # a case's messages are of its last thread
        threads.MessageId.objects.create(workspace=workspace, public_id=id, thread_id=where)


def _artifact(workspace: models.Workspace, each: Stored, *, has_head: bool) -> None:
    address = each.address.model_dump() if each.address else {}
    models.Artifact.objects.create(
        workspace=workspace,
        public_id=each.id,
        kind=each.kind,
        version=each.version,
        archived=each.archived,
        updated_by=text(each.updated_by),
        created_at=AT,
        updated_at=AT,
        **address,
    )
    if not has_head:
        head = Revision(
            artifact_id=each.id,
            version=each.version,
            kind=each.kind,
            data=each.data,
            actor=each.updated_by,
            archived=each.archived,
        )
        _revision(workspace, head)


def _revision(workspace: models.Workspace, each: Revision) -> None:
    models.Revision.objects.create(
        artifact=models.Artifact.objects.get(workspace=workspace, public_id=each.artifact_id),
        public_id=f"rev_{workspace.pk}_{each.artifact_id}_{each.version}",
        version=each.version,
        kind=each.kind,
        data=to_json(each.data).decode(),
        patch=None if each.patch is None else text(each.patch),
        actor=text(each.actor),
        actor_key=each.actor.participant,
        proposal_id=each.proposal_id,
        archived=each.archived,
        edited=each.edited,
        change_set_id="chs_seeded",
        at=AT,
        salt=b"",
        digest=b"",
    )


def _group(workspace: models.Workspace, each: Group) -> None:
    models.ProposalGroup.objects.create(
        workspace=workspace,
        public_id=each.id,
        status=each.status,
        proposed_by=text(each.proposed_by),
    )


def _proposal(workspace: models.Workspace, each: Proposal) -> None:
    models.Proposal.objects.create(
        workspace=workspace,
        public_id=each.id,
        status=each.status,
        artifact_id=each.change.artifact_id,
        kind=each.kind,
        change=text(each.change),
        base_version=each.base_version,
        result=None if each.result is None else to_json(each.result).decode(),
        rationale=each.rationale,
        proposed_by=text(each.proposed_by),
        proposer_key=each.proposed_by.participant,
        thread_id=each.thread_id,
        run_id=each.run_id,
        group_id=each.group_id,
        created_at=AT,
    )


def _thread(workspace: models.Workspace, each: Thread) -> None:
    threads.Thread.objects.create(
        workspace=workspace,
        public_id=each.id,
        title=each.title,
        mode=each.mode,
        focus=to_json(each.focus).decode(),
        agent=each.agent,
        created_at=AT,
    )


def _run(workspace: models.Workspace, each: Run) -> None:
    thread, _ = threads.Thread.objects.get_or_create(
        workspace=workspace,
        public_id=each.thread_id,
        defaults={"title": "of the run", "created_at": AT},
    )
    threads.Run.objects.create(
        workspace=workspace,
        thread=thread,
        public_id=each.id,
        status=each.status,
        pending=text(each.pending),
        answers=text(each.answers),
        trace_ids=to_json(each.trace_ids).decode(),
        started_at=AT,
    )
