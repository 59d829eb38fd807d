"""What a decision would do, worked out by the rules themselves on what is stored now.

Nothing here decides or writes: it is what the page shows before somebody does. What really happens
is worked out again by the write path, which also sees whatever changed in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from artifacts import conf, core
from artifacts.core.errors import Forbidden, NotFound, Rejection, ValidationFailed
from artifacts.core.state import Proposal, State
from artifacts.workspace import Workspace

# Not the reader: whoever may not decide still sees what the decision is about.
VIEWER = core.SystemActor(name="preview")

Decision = core.RespondToProposal | core.ResolveGroup


@dataclass(frozen=True, slots=True)
class Step:
    """One proposal of a decision: what is there, and what accepting makes of it.

    `before` is None where there is nothing yet, `after` where the change archives. `head_version`
    is the version in force, 0 for none; of a decided proposal the one it was written upon.
    """

    proposal: Proposal
    head_version: int
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    is_rebased: bool = True
    is_edited: bool = False

    @property
    def is_stale(self) -> bool:
        return not self.proposal.is_resolved and self.head_version != self.proposal.base_version

    @property
    def expect(self) -> core.Expect:
        return core.Expect(proposal_sha256=self.proposal.sha256, head_version=self.head_version)


@dataclass(frozen=True, slots=True)
class Preview:
    """The steps of a decision, and the rejection that accepting would meet, if any."""

    steps: tuple[Step, ...]
    refusal: Rejection | None = None
    is_own: bool = False

    @property
    def reasons(self) -> list[str]:
        """What is wrong place by place, where the refusal's own sentence does not say it."""
        errors = self.refusal.errors if isinstance(self.refusal, ValidationFailed) else ()
        said = self.refusal.message if self.refusal else ""
        found = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in errors)
        return [each for each in found if each not in said]


def preview(workspace: Workspace, command: Decision, proposals: list[Proposal]) -> Preview:
    """What accepting would write on the versions in force; where it fails, what was proposed."""
    for proposal in proposals:
        workspace.require("read_artifacts", proposal.change.artifact_id)
    state, result = workspace.tried(command, actor=VIEWER)
    if isinstance(result, Rejection):
        # The rows were read one after another, perhaps around somebody's decision: look again.
        state, result = workspace.tried(command, actor=VIEWER)
    is_own = _is_refused_to(workspace.actor, command, state)
    if isinstance(result, Rejection):
        steps = tuple(_as_proposed(workspace, each) for each in proposals)
        return Preview(steps, result, is_own)
    return Preview(tuple(_steps(state, result, proposals)), None, is_own)


def settled(
    workspace: Workspace, proposals: list[Proposal], versions: Mapping[str, int | None]
) -> Preview:
    """What was written where a proposal was accepted, what was proposed where it was not."""
    return Preview(
        tuple(
            _as_written(workspace, each, version)
            if (version := versions.get(each.id))
            else _as_proposed(workspace, each)
            for each in proposals
        )
    )


def _loaded(workspace: Workspace, family: str, id: str) -> Any:
    try:
        match family:
            case "artifacts":
                return workspace.artifact(id)
            case "revisions":
                artifact_id, _, version = id.rpartition("@")
                return workspace.revision(artifact_id, int(version))
    except NotFound:
        pass
    return None


def _is_refused_to(actor: core.Actor, command: Decision, state: State) -> bool:
    """Whether the rules keep this person from deciding it, as their own."""
    try:
        core.commit(command, state, actor=actor, limits=conf.limits())
    except Forbidden:
        return True
    except Rejection:
        return False
    return False


def _steps(state: State, result: core.CommitResult, proposals: list[Proposal]) -> Iterator[Step]:
    written = {each.proposal_id: each for each in result.revisions}
    stored = {id: head for id, head in state.artifacts.items() if head is not None}
    heads = dict(stored)
    for proposal in proposals:
        id = proposal.change.artifact_id
        revision = written[proposal.id]
        yield Step(
            proposal=proposal,
            head_version=stored[id].version if id in stored else 0,
            before=heads[id].data if id in heads else None,
            after=None if revision.archived else revision.data,
        )
        after = next(each for each in result.artifacts if each.id == revision.artifact_id)
        # A later proposal of a group may be on the same artifact.
        heads[after.id] = after.model_copy(
            update={"version": revision.version, "data": revision.data}
        )


def _as_proposed(workspace: Workspace, proposal: Proposal) -> Step:
    base = _loaded(
        workspace,
        "revisions",
        core.revision_key(proposal.change.artifact_id, proposal.base_version),
    )
    head = _loaded(workspace, "artifacts", proposal.change.artifact_id)
    return Step(
        proposal=proposal,
        head_version=head.version if head else 0,
        before=base.data if base else None,
        after=proposal.result,
        is_rebased=False,
    )


def _as_written(workspace: Workspace, proposal: Proposal, version: int) -> Step:
    before, written = (
        _loaded(workspace, "revisions", core.revision_key(proposal.change.artifact_id, each))
        for each in (version - 1, version)
    )
    is_archived = written is None or written.archived
    return Step(
        proposal=proposal,
        head_version=version - 1,
        before=before.data if before else None,
        after=None if is_archived else written.data,
        is_edited=written is not None and written.edited,
    )
