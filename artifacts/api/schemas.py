"""The shapes this surface adds to the wire's own: bodies, query parameters and pages."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from ..core.artifact import Versioned
from ..core.commands import (
    AnyCommand,
    Command,
    CreateArtifact,
    EditArtifact,
    GiveFeedback,
    ProposeChange,
    PutArtifact,
    ResolveGroup,
    RespondToProposal,
    RevertArtifact,
    StopRun,
)
from ..core.events import Envelope
from ..core.outcomes import Applied, Outcome, Proposed
from ..core.protocol import CommandResult
from ..core.state import Proposal
from ..core.values import Id, Value
from ..selectors import StoredRevision
from ..surfaces.openapi import body_model, page_model
from ..surfaces.pagination import PageQuery
from ..surfaces.reach import WorkspaceInfo

Seq = Annotated[int, Field(ge=0, le=2**63 - 1)]


class RestCommand(Value):
    """A command frame; its id may also come as `Idempotency-Key`, or be left out."""

    type: Literal["command"] = "command"
    command_id: Id | None = None
    command: Annotated[AnyCommand | StopRun, Field(discriminator="type")]


class RestCommandResult(CommandResult):
    """A command's result, with the id it was sent under, if any."""

    command_id: Id | None = None  # type: ignore[assignment]


class CommandBatch(Value):
    """Commands to be done all or not at all, as one change set."""

    command_id: Id | None = None
    commands: Annotated[tuple[Command, ...], Field(min_length=1)]


class BatchResult(Value):
    """One outcome for each command of a batch."""

    outcomes: tuple[Outcome, ...]
    change_set_id: Id | None = None
    last_seq: int


class ArtifactQuery(PageQuery):
    """Which artifacts; archived ones only when asked for."""

    kind: Id | None = None
    archived: bool = False


class ProposalQuery(PageQuery):
    """Which proposals."""

    status: Literal["pending", "accepted", "rejected"] | None = None


class RevisionQuery(PageQuery):
    """Which revisions: those after a version."""

    after: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None  # type: ignore[assignment]


class EventQuery(Value):
    """A window of the log: between two seqs, of these threads, from its start or its end."""

    after_seq: Seq = 0
    before_seq: Seq | None = None
    thread_id: tuple[Id, ...] = ()
    limit: Annotated[int, Field(ge=1)] | None = None
    last: Annotated[int, Field(ge=1)] | None = None


class ArtifactInfo(Versioned[dict[str, Any]]):
    """An artifact at its current version."""


class ProposalInfo(Proposal):
    """A proposal with the hash by which `expect.proposal_sha256` names what was seen."""

    proposal_sha256: str

    @classmethod
    def of(cls, proposal: Proposal) -> ProposalInfo:
        return cls(**dict(proposal), proposal_sha256=proposal.sha256)


CreateArtifactBody = body_model(CreateArtifact, name="CreateArtifactBody")
EditArtifactBody = body_model(EditArtifact, "artifact_id", "base_version", name="EditArtifactBody")
PutArtifactBody = body_model(PutArtifact, "artifact_id", name="PutArtifactBody")
RevertArtifactBody = body_model(RevertArtifact, "artifact_id", name="RevertArtifactBody")
ProposeChangeBody = body_model(ProposeChange, name="ProposeChangeBody")
RespondToProposalBody = body_model(RespondToProposal, "proposal_id", name="RespondToProposalBody")
ResolveGroupBody = body_model(ResolveGroup, "group_id", name="ResolveGroupBody")
GiveFeedbackBody = body_model(GiveFeedback, name="GiveFeedbackBody")

WorkspacePage = page_model(WorkspaceInfo, name="WorkspacePage")
ArtifactPage = page_model(ArtifactInfo, name="ArtifactPage")
RevisionPage = page_model(StoredRevision, name="RevisionPage")
ProposalPage = page_model(ProposalInfo, name="ProposalPage")
EventPage = page_model(Envelope, name="EventPage")


class Changed(RootModel[Annotated[Applied | Proposed, Field(discriminator="type")]]):
    """What a change came to: written, or suggested where the writer may only suggest."""
