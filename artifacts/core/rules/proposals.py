"""Proposals: changes that wait for someone else's decision.

A proposal must apply when it is made. When it is accepted it is rebased onto the version then in
force, with the reviewer's own changes on top; one that no longer applies stays pending.
"""

from __future__ import annotations

from typing import Any

from artifacts.core.actors import Actor, AgentActor, is_agent, person_behind
from artifacts.core.commands import (
    ArchiveArtifact,
    ArtifactCommand,
    EditArtifact,
    Expect,
    ProposeChange,
    RespondToProposal,
)
from artifacts.core.errors import Forbidden, InvalidState, ValidationFailed, VersionConflict
from artifacts.core.events import ProposalCreated, ProposalResolved
from artifacts.core.outcomes import Proposed, Resolved
from artifacts.core.patches import Patch, change_between, same_json
from artifacts.core.state import CommitResult, Group, Proposal, State, proposals_in, proposals_of

from .artifacts import kind_of, needs_change
from .case import Case, origin_run, origin_thread, wanted
from .writing import Origin, Written, write


def needs_new_proposal(
    actor: Actor, proposal_id: str, group_id: str | None = None
) -> dict[str, set[str]]:
    """Whether the id is used, the group it joins, and how many an agent has open."""
    return wanted(proposals=proposal_id, groups=group_id, open_proposals=_counters(actor))


def _counters(actor: Actor) -> list[str]:
    """The counters that bound an agent's open proposals; nobody else's are bounded."""
    if not is_agent(actor):
        return []
    of_agent = [proposals_of(actor.participant)]
    run_id = origin_run(actor)
    return of_agent if run_id is None else [*of_agent, proposals_in(run_id)]


def propose(
    case: Case,
    change: ArtifactCommand,
    *,
    proposal_id: str,
    rationale: str | None = None,
    group_id: str | None = None,
) -> CommitResult:
    """Store a change that applies now as a pending proposal."""
    case.check_bytes("rationale", rationale, case.limits.rationale_bytes)
    if case.state.proposals.get(proposal_id) is not None:
        raise InvalidState("this proposal id is already used")
    _check_open_proposals(case)
    written = write(case, change, Origin())
    proposal = Proposal(
        id=proposal_id,
        change=change,
        proposed_by=case.actor,
        rationale=rationale,
        thread_id=origin_thread(case.actor, change.thread_id),
        run_id=origin_run(case.actor),
        group_id=group_id,
        kind=written.artifact.kind,
        base_version=written.artifact.version - 1,
        result=None if isinstance(change, ArchiveArtifact) else written.artifact.data,
    )
    return CommitResult(
        outcome=Proposed(proposal_id=proposal_id),
        events=(_created(proposal),),
        proposals=(proposal,),
        groups=_joined(case, proposal),
    )


def propose_change(case: Case, command: ProposeChange) -> CommitResult:
    """Propose on purpose, whatever the write policy."""
    case.check_origin(command.change.thread_id)
    kind_of(case, command.change)
    return propose(
        case,
        command.change,
        proposal_id=command.proposal_id,
        rationale=command.rationale,
        group_id=command.group_id,
    )


def needs_respond(command: RespondToProposal, state: State) -> dict[str, set[str]]:
    """The proposal first; an accepted one then needs its artifact."""
    needs = wanted(proposals=command.proposal_id)
    proposal = state.proposals.get(command.proposal_id)
    if proposal is None or proposal.is_resolved or proposal.group_id is not None:
        return needs
    if command.remainder == "keep":
        needs["proposals"].add(command.remainder_proposal_id)
    return needs | needs_change(proposal.change, state, is_rebased=True)


def respond_to_proposal(case: Case, command: RespondToProposal) -> CommitResult:
    """Settle a pending proposal that stands alone."""
    proposal = case.proposal(command.proposal_id)
    case.check_bytes("reason", command.reason, case.limits.reason_bytes)
    check_pending(proposal)
    if proposal.group_id is not None:
        raise InvalidState(f"this proposal is decided with its group {proposal.group_id!r}")
    check_may_resolve(case.actor, proposal.proposed_by)
    check_expected(case, proposal, command.expect)
    if command.decision == "reject":
        _check_plain_rejection(command)
        return reject(proposal, reason=command.reason)
    if command.remainder is not None and command.changes is None:
        raise ValidationFailed.at(["remainder"], "needs changes that leave something over")
    accepted, written = accept(case, proposal, changes=command.changes, reason=command.reason)
    if command.remainder != "keep":
        return accepted
    return _with_remainder(case, accepted, proposal, written, command.remainder_proposal_id)


def accept(
    case: Case, proposal: Proposal, *, changes: Patch | None, reason: str | None
) -> tuple[CommitResult, Written]:
    """Write a proposal's change on the version now in force."""
    origin = Origin(
        proposal_id=proposal.id,
        thread_id=proposal.thread_id,
        is_rebased=True,
        changes=changes,
    )
    written = write(case, proposal.change, origin)
    version = written.artifact.version
    result = CommitResult(
        outcome=Resolved(proposal_id=proposal.id, decision="accept", version=version),
        events=(
            written.event,
            _resolved(proposal, "accept", changes=changes, reason=reason, version=version),
        ),
        artifacts=(written.artifact,),
        revisions=(written.revision,),
        proposals=(proposal.model_copy(update={"status": "accepted"}),),
    )
    return result, written


def reject(proposal: Proposal, *, reason: str | None) -> CommitResult:
    """Close a proposal without writing its change."""
    return CommitResult(
        outcome=Resolved(proposal_id=proposal.id, decision="reject"),
        events=(_resolved(proposal, "reject", reason=reason),),
        proposals=(proposal.model_copy(update={"status": "rejected"}),),
    )


def check_pending(proposal: Proposal) -> None:
    if proposal.is_resolved:
        raise InvalidState(f"this proposal is already {proposal.status}")


def check_may_resolve(actor: Actor, proposer: Actor) -> None:
    """Decisions are people's or the host's, and nobody's on what is their own.

    Identity looks through `on_behalf_of`, so that a person's own client cannot propose for them to
    approve; what the agent of a thread proposed for a person, that person may decide.
    """
    if is_agent(actor):
        raise Forbidden("agents do not decide proposals")
    is_own = actor.participant == proposer.participant
    if not isinstance(proposer, AgentActor):
        behind = person_behind(proposer)
        is_own = is_own or (behind is not None and behind == person_behind(actor))
    if is_own:
        raise Forbidden("a proposal is decided by someone other than its author")


def check_expected(case: Case, proposal: Proposal, expect: Expect | None) -> None:
    """Refuse to decide on something else than what was on the screen."""
    if expect is None:
        return
    if expect.proposal_sha256 is not None and expect.proposal_sha256 != proposal.sha256:
        raise InvalidState("the proposal is not the one that was shown")
    head = head_version(case.state, proposal)
    if expect.head_version is not None and expect.head_version != head:
        raise VersionConflict(
            artifact_id=proposal.change.artifact_id, base=expect.head_version, head=head
        )


def head_version(state: State, proposal: Proposal) -> int:
    """The version in force of a proposal's artifact, 0 where there is none yet."""
    artifact = state.artifacts.get(proposal.change.artifact_id)
    return artifact.version if artifact is not None else 0


def _check_plain_rejection(command: RespondToProposal) -> None:
    for field in ("changes", "remainder"):
        if getattr(command, field) is not None:
            raise ValidationFailed.at([field], "belongs to an acceptance")


def _check_open_proposals(case: Case) -> None:
    limits = (case.limits.open_proposals_per_agent, case.limits.open_proposals_per_run)
    bounds = zip(_counters(case.actor), limits, ("agent", "run"), strict=False)
    for key, limit, who in bounds:
        if case.state.open_proposals.get(key, 0) >= limit:
            raise InvalidState(f"at most {limit} open proposals per {who}; wait for decisions")


def _joined(case: Case, proposal: Proposal) -> tuple[Group, ...]:
    if proposal.group_id is None:
        return ()
    group = case.state.groups.get(proposal.group_id)
    if group is None:
        return (
            Group(
                id=proposal.group_id,
                proposed_by=proposal.proposed_by,
                proposal_ids=(proposal.id,),
            ),
        )
    if group.status != "pending":
        raise InvalidState(f"this group is already {group.status}")
    if group.proposed_by.participant != proposal.proposed_by.participant:
        raise Forbidden("only a group's own proposer adds to it")
    return (group.model_copy(update={"proposal_ids": (*group.proposal_ids, proposal.id)}),)


def _with_remainder(
    case: Case, accepted: CommitResult, proposal: Proposal, written: Written, remainder_id: str
) -> CommitResult:
    """What the reviewer's changes took away, proposed again in the first proposer's name."""
    whole = write(case, proposal.change, Origin(is_rebased=True)).artifact.data
    final = written.artifact.data
    if same_json(whole, final):
        raise ValidationFailed.at(["remainder"], "the changes leave nothing over to keep")
    if case.state.proposals.get(remainder_id) is not None:
        raise InvalidState("the remainder's proposal id is already used")
    rest = Proposal(
        id=remainder_id,
        change=EditArtifact(
            artifact_id=written.artifact.id,
            base_version=written.artifact.version,
            patch=change_between(final, whole),
            thread_id=proposal.thread_id,
            proposal_id=remainder_id,
        ),
        proposed_by=proposal.proposed_by,
        rationale=proposal.rationale,
        thread_id=proposal.thread_id,
        run_id=proposal.run_id,
        kind=proposal.kind,
        base_version=written.artifact.version,
        result=whole,
    )
    return CommitResult(
        outcome=accepted.outcome,
        events=(*accepted.events, _created(rest, named=True)),
        artifacts=accepted.artifacts,
        revisions=accepted.revisions,
        proposals=(*accepted.proposals, rest),
    )


def _created(proposal: Proposal, *, named: bool = False) -> ProposalCreated:
    """`named` tells the proposer where the envelope's actor is somebody else."""
    return ProposalCreated(
        proposal_id=proposal.id,
        artifact_id=proposal.change.artifact_id,
        kind=proposal.kind,
        change=proposal.change,
        rationale=proposal.rationale,
        group_id=proposal.group_id,
        proposed_by=proposal.proposed_by if named else None,
        thread_id=proposal.thread_id,
        run_id=proposal.run_id,
    )


def _resolved(
    proposal: Proposal,
    decision: Any,
    *,
    changes: Patch | None = None,
    reason: str | None = None,
    version: int | None = None,
) -> ProposalResolved:
    return ProposalResolved(
        proposal_id=proposal.id,
        decision=decision,
        proposed_by=proposal.proposed_by,
        artifact_id=proposal.change.artifact_id,
        changes=changes,
        reason=reason,
        version=version,
        group_id=proposal.group_id,
        thread_id=proposal.thread_id,
    )
