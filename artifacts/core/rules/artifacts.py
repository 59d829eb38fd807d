"""Changing artifacts: what a change needs to see, who may write it, and who must propose it."""

from __future__ import annotations

from artifacts.core.actors import AgentActor, is_agent
from artifacts.core.artifact import artifact_type
from artifacts.core.commands import (
    ArtifactCommand,
    CreateArtifact,
    PutArtifact,
    RevertArtifact,
)
from artifacts.core.outcomes import Applied
from artifacts.core.state import CommitResult, State, revision_key

from .case import Case, origin_run, origin_thread, wanted
from .writing import Origin, is_whole, write

# How many of the newest changes a version conflict carries for its client to rebase on.
CONFLICT_CHANGES = 50


def needs_change(
    change: ArtifactCommand, state: State, *, is_rebased: bool = False
) -> dict[str, set[str]]:
    """The artifact, then what depends on it: a version to go back to, the changes missed, what its
    collection asks of it."""
    needs = wanted(artifacts=change.artifact_id, revisions=(), contracts=())
    artifact = state.artifacts.get(change.artifact_id)
    address = getattr(change, "address", None) or (artifact.address if artifact else None)
    if address is not None:
        needs["contracts"].add(address.collection)
    if artifact is None:
        return needs
    if isinstance(change, RevertArtifact) and change.to_version <= artifact.version:
        needs["revisions"].add(revision_key(artifact.id, change.to_version))
    if isinstance(change, CreateArtifact) or (is_rebased and not is_whole(change)):
        return needs
    if change.base_version < artifact.version:
        missed = range(change.base_version + 1, artifact.version + 1)
        needs["revisions"] |= {revision_key(artifact.id, n) for n in missed[-CONFLICT_CHANGES:]}
    return needs


def change_directly(case: Case, command: ArtifactCommand) -> CommitResult:
    """Write a change at once."""
    thread_id = origin_thread(case.actor, command.thread_id)
    written = write(case, command, Origin(thread_id=thread_id, run_id=origin_run(case.actor)))
    return CommitResult(
        outcome=Applied(artifact_id=written.artifact.id, version=written.artifact.version),
        events=(written.event,),
        artifacts=(written.artifact,),
        revisions=(written.revision,),
    )


def must_be_proposed(case: Case, command: ArtifactCommand) -> bool:
    """Whether this actor's change waits for a decision: people and the system write directly.

    An agent proposes where the kind's write policy says so, and everywhere in a thread in
    suggest mode.
    """
    if not is_agent(case.actor):
        return False
    thread_id = origin_thread(case.actor, command.thread_id)
    modes = [thread_id, case.actor.thread_id if isinstance(case.actor, AgentActor) else None]
    if any(case.thread(id).mode == "suggest" for id in modes if id is not None):
        return True
    return artifact_type(kind_of(case, command)).write_policy == "propose"


def kind_of(case: Case, command: ArtifactCommand) -> str:
    """The kind a command is about; an artifact that is missing is `not_found`."""
    if isinstance(command, CreateArtifact | PutArtifact):
        return command.kind
    return case.artifact(command.artifact_id).kind
