"""Groups: proposals that are decided together, all or nothing, in one change set."""

from __future__ import annotations

from typing import Any

from artifacts.core.commands import ResolveGroup
from artifacts.core.errors import InvalidState, ValidationFailed, VersionConflict
from artifacts.core.outcomes import Resolved
from artifacts.core.state import CommitResult, Proposal, State, merged

from .artifacts import needs_change
from .case import Case, wanted
from .proposals import (
    accept,
    check_expected,
    check_may_resolve,
    check_pending,
    head_version,
    reject,
)
from .writing import is_whole


def needs_group(command: ResolveGroup, state: State) -> dict[str, set[str]]:
    """The group, then its proposals, then their artifacts."""
    needs = wanted(groups=command.group_id, proposals=(), artifacts=(), revisions=(), contracts=())
    group = state.groups.get(command.group_id)
    if group is None or group.status != "pending":
        return needs
    needs["proposals"].update(group.proposal_ids)
    for id in group.proposal_ids:
        proposal = state.proposals.get(id)
        if proposal is not None:
            for family, ids in needs_change(proposal.change, state, is_rebased=True).items():
                needs[family] |= ids
    return needs


def resolve_group(case: Case, command: ResolveGroup) -> CommitResult:
    """Decide a group; accepting it writes all of it or names every head that moved."""
    group = case.group(command.group_id)
    case.check_bytes("reason", command.reason, case.limits.reason_bytes)
    if group.status != "pending":
        raise InvalidState(f"this group is already {group.status}")
    check_may_resolve(case.actor, group.proposed_by)
    proposals = [case.proposal(id) for id in group.proposal_ids]
    _check_members(command, group.proposal_ids)
    for proposal in proposals:
        check_pending(proposal)
    if command.decision == "accept":
        _check_order(proposals)
        _check_heads(case, command, proposals)
    results = _decided(case, command, proposals)
    status = "accepted" if command.decision == "accept" else "rejected"
    closed = CommitResult(
        outcome=Resolved(group_id=group.id, decision=command.decision),
        groups=(group.model_copy(update={"status": status}),),
    )
    return merged([*results, closed])


def _decided(case: Case, command: ResolveGroup, proposals: list[Proposal]) -> list[CommitResult]:
    results: list[CommitResult] = []
    changes = command.changes or {}
    for proposal in proposals:
        expect = (command.expect or {}).get(proposal.id)
        if expect is not None:
            check_expected(case, proposal, expect.model_copy(update={"head_version": None}))
        if command.decision == "reject":
            result = reject(proposal, reason=command.reason)
        else:
            result, _ = accept(
                case, proposal, changes=changes.get(proposal.id), reason=command.reason
            )
        results.append(result)
        # A later proposal of the group may be on the same artifact.
        case = Case(case.state.after(result), case.actor, case.limits, case.kinds, case.agents)
    return results


def _check_members(command: ResolveGroup, proposal_ids: tuple[str, ...]) -> None:
    if command.decision == "reject" and command.changes is not None:
        raise ValidationFailed.at(["changes"], "belongs to an acceptance")
    for field in ("changes", "expect"):
        strangers = set(getattr(command, field) or ()) - set(proposal_ids)
        if strangers:
            raise ValidationFailed.at([field], "names proposals that are not in this group")


def _check_order(proposals: list[Proposal]) -> None:
    """A whole value would silently undo what its own group wrote before it."""
    written: set[str] = set()
    for proposal in proposals:
        artifact_id = proposal.change.artifact_id
        if is_whole(proposal.change) and artifact_id in written:
            raise InvalidState(
                f"proposal {proposal.id!r} writes a whole value over another change of its group"
            )
        written.add(artifact_id)


def _check_heads(case: Case, command: ResolveGroup, proposals: list[Proposal]) -> None:
    """Every head that moved is named: whole values since drafting, others since the screen."""
    moved: dict[str, dict[str, Any]] = {}
    for proposal in proposals:
        head = head_version(case.state, proposal)
        expect = (command.expect or {}).get(proposal.id)
        bases = [proposal.base_version] if is_whole(proposal.change) else []
        if expect is not None and expect.head_version is not None:
            bases.append(expect.head_version)
        for base in bases:
            if base != head:
                artifact_id = proposal.change.artifact_id
                moved[artifact_id] = {"artifact_id": artifact_id, "base": base, "head": head}
    if moved:
        first = next(iter(moved.values()))
        raise VersionConflict(
            f"{len(moved)} artifact(s) of this group have changed since",
            moved=list(moved.values()),
            **first,
        )
