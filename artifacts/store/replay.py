"""State from events alone: what stands in the tables must equal what the log says happened.

Pure, and on purpose not built on the rules: it is the second opinion of `verify_log` and of the
tests. What no event carries (the result a proposal had when it was made) it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..core.actors import Actor
from ..core.artifact import Address
from ..core.events import (
    ArtifactArchived,
    ArtifactChanged,
    ArtifactCreated,
    DeferredAnswered,
    Envelope,
    FocusChanged,
    MessagePosted,
    ProposalCreated,
    ProposalResolved,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
    ThreadModeChanged,
)
from ..core.limits import Limits
from ..core.patches import apply_patch
from ..core.state import Answer, Group, Proposal, Revision, Run, Stored, Thread, revision_key

# What was once accepted is replayed, whatever the limits are today.
UNLIMITED = Limits(**dict.fromkeys(Limits.__dataclass_fields__, 2**31))


@dataclass
class Replayed:
    """What a log amounts to, by family and public id."""

    artifacts: dict[str, Stored] = field(default_factory=dict)
    revisions: dict[str, Revision] = field(default_factory=dict)
    proposals: dict[str, Proposal] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    threads: dict[str, Thread] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    # The thread each message is in.
    messages: dict[str, str] = field(default_factory=dict)

    def take(self, envelope: Envelope) -> None:
        """What one more event changes."""
        event: Any = envelope.event
        match event:
            case ArtifactCreated() | ArtifactChanged() | ArtifactArchived():
                self._written(envelope, event)
            case ProposalCreated() | ProposalResolved():
                self._proposed(envelope, event)
            case ThreadCreated(thread_id=id):
                self.threads[id] = Thread(id=id, title=event.title, agent=event.agent)
            case ThreadModeChanged(thread_id=id):
                self.threads[id] = self.threads[id].model_copy(update={"mode": event.mode})
            case FocusChanged(thread_id=id):
                self.threads[id] = self.threads[id].model_copy(update={"focus": event.artifact_ids})
            case MessagePosted():
                self.messages[event.message_id] = event.thread_id
            case RunStarted() | RunPaused() | DeferredAnswered() | RunEnded():
                self.runs[event.run_id] = _run_after(self.runs.get(event.run_id), event)
            case _:
                pass  # feedback, tools' calls and application events change no state

    def _written(self, envelope: Envelope, event: Any) -> None:
        before = self.artifacts.get(event.artifact_id)
        data, patch = _data_after(before, event)
        address: Address | None = before.address if before else event.address
        artifact: Stored = Stored(
            id=event.artifact_id,
            kind=event.kind,
            version=event.version,
            data=data,
            updated_by=envelope.actor,
            archived=isinstance(event, ArtifactArchived),
            address=address,
        )
        self.artifacts[artifact.id] = artifact
        self.revisions[revision_key(artifact.id, artifact.version)] = Revision(
            artifact_id=artifact.id,
            version=artifact.version,
            kind=artifact.kind,
            data=data,
            patch=patch,
            actor=envelope.actor,
            proposal_id=event.proposal_id,
            archived=artifact.archived,
        )

    def _proposed(self, envelope: Envelope, event: ProposalCreated | ProposalResolved) -> None:
        if isinstance(event, ProposalCreated):
            self._created(event, event.proposed_by or envelope.actor)
        else:
            self._resolved(event)

    def _created(self, event: ProposalCreated, proposer: Actor) -> None:
        head = self.artifacts.get(event.artifact_id)
        self.proposals[event.proposal_id] = Proposal(
            id=event.proposal_id,
            change=event.change,
            proposed_by=proposer,
            rationale=event.rationale,
            thread_id=event.thread_id,
            run_id=event.run_id,
            group_id=event.group_id,
            kind=event.kind,
            base_version=head.version if head else 0,
        )
        if event.group_id is not None:
            group = self.groups.get(event.group_id)
            members = (*(group.proposal_ids if group else ()), event.proposal_id)
            self.groups[event.group_id] = Group(
                id=event.group_id, proposed_by=proposer, proposal_ids=members
            )

    def _resolved(self, event: ProposalResolved) -> None:
        status = "accepted" if event.decision == "accept" else "rejected"
        proposal = self.proposals[event.proposal_id]
        self.proposals[proposal.id] = proposal.model_copy(update={"status": status})
        if event.group_id is not None:
            group = self.groups[event.group_id]
            self.groups[group.id] = group.model_copy(update={"status": status})
        if event.changes is not None and event.version is not None:
            key = revision_key(event.artifact_id, event.version)
            self.revisions[key] = self.revisions[key].model_copy(update={"edited": True})


def replay(envelopes: Iterable[Envelope]) -> Replayed:
    """The state that a whole log amounts to."""
    state = Replayed()
    for envelope in envelopes:
        state.take(envelope)
    return state


def _data_after(before: Stored | None, event: Any) -> tuple[dict[str, Any], Any]:
    if isinstance(event, ArtifactCreated):
        return event.data, None
    if before is None or before.version + 1 != event.version:
        raise ValueError(f"version {event.version} of an artifact does not follow its last one")
    if isinstance(event, ArtifactArchived):
        return before.data, None
    return apply_patch(before.data, event.patch, limits=UNLIMITED), event.patch


def _run_after(run: Run | None, event: Any) -> Run:
    if isinstance(event, RunStarted):
        traces = (event.trace_id,) if event.trace_id else ()
        if run is None:
            return Run(id=event.run_id, thread_id=event.thread_id, trace_ids=traces)
        traces = (*run.trace_ids, *traces)
        return Run(id=run.id, thread_id=run.thread_id, trace_ids=traces)
    if run is None:
        raise ValueError("a run goes on that never started")
    match event:
        case RunPaused():
            changed: dict[str, Any] = {
                "status": "paused", "pending": event.requests, "answers": (),
            }  # fmt: skip
        case DeferredAnswered():
            answer = Answer(
                tool_call_id=event.tool_call_id, answer=event.answer, approved=event.approved
            )
            changed = {"answers": (*run.answers, answer)}
        case _:
            changed = {"status": event.status, "pending": (), "answers": ()}
    return run.model_copy(update=changed)
