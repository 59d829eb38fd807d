"""What may be asked, in the imperative. Unknown members are refused; ids left out are generated.

A command carries the id of everything it may create, the proposal it might become included, so
deciding it needs no randomness.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, model_validator

from .artifact import Address
from .ids import address_id, new_id
from .patches import Patch
from .values import FilledText, Id, Text, Value

Version = Annotated[int, Field(ge=1, strict=True)]
BaseVersion = Annotated[int, Field(ge=0, strict=True)]
ThreadMode = Literal["edit", "suggest"]
MessageKind = Literal["message", "notice"]
Decision = Literal["accept", "reject"]


def _generated(prefix: str) -> Any:
    return Field(default_factory=partial(new_id, prefix))


class Addressed(Value):
    """What commands on addressed artifacts share: the id follows from the address."""

    @model_validator(mode="before")
    @classmethod
    def _id_from_address(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("artifact_id") is not None:
            return data
        address = data.get("address")
        parts = address.model_dump() if isinstance(address, Address) else address
        if not isinstance(parts, dict):
            return data
        collection, entity, key = (parts.get(name) for name in ("collection", "entity", "key"))
        if not (isinstance(collection, str) and isinstance(entity, str) and isinstance(key, str)):
            return data
        try:
            return {**data, "artifact_id": address_id(collection, entity, key)}
        except UnicodeEncodeError:  # a lone surrogate: the address's own validation says so
            return data


class CreateArtifact(Addressed):
    """Create an artifact at version 1."""

    type: Literal["create_artifact"] = "create_artifact"
    artifact_id: Id = _generated("art")
    kind: Id
    data: dict[str, Any] = Field(default_factory=dict)
    address: Address | None = None
    thread_id: Id | None = None
    proposal_id: Id = _generated("prp")


class EditArtifact(Value):
    """Change an artifact by a patch on the version it was read at."""

    type: Literal["edit_artifact"] = "edit_artifact"
    artifact_id: Id
    base_version: Version
    patch: Patch
    summary: Text | None = None
    thread_id: Id | None = None
    proposal_id: Id = _generated("prp")


class ArchiveArtifact(Value):
    """Make an artifact read-only; its history stays."""

    type: Literal["archive_artifact"] = "archive_artifact"
    artifact_id: Id
    base_version: Version
    thread_id: Id | None = None
    proposal_id: Id = _generated("prp")


def _id_or_address(schema: dict[str, Any]) -> None:
    schema["required"].remove("artifact_id")
    schema["anyOf"] = [{"required": ["artifact_id"]}, {"required": ["address"]}]


class PutArtifact(Addressed):
    """Write the whole value at an id or address; base version 0 says that there is none yet."""

    model_config = ConfigDict(json_schema_extra=_id_or_address)

    type: Literal["put_artifact"] = "put_artifact"
    artifact_id: Id
    kind: Id
    data: dict[str, Any]
    base_version: BaseVersion
    address: Address | None = None
    thread_id: Id | None = None
    proposal_id: Id = _generated("prp")


class RevertArtifact(Value):
    """Write an older version's data as a new version; also brings an archived artifact back."""

    type: Literal["revert_artifact"] = "revert_artifact"
    artifact_id: Id
    base_version: Version
    to_version: Version
    thread_id: Id | None = None
    proposal_id: Id = _generated("prp")


ArtifactCommand = CreateArtifact | EditArtifact | ArchiveArtifact | PutArtifact | RevertArtifact
Change = Annotated[ArtifactCommand, Field(discriminator="type")]


class ProposeChange(Value):
    """Store a change for somebody else's decision."""

    type: Literal["propose_change"] = "propose_change"
    proposal_id: Id = _generated("prp")
    change: Change
    rationale: Text | None = None
    group_id: Id | None = None


class Expect(Value):
    """What was on the reviewer's screen; deciding something else is refused."""

    proposal_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    head_version: BaseVersion | None = None


class RespondToProposal(Value):
    """Accept a proposal, with own changes on top of its result if given, or reject it.

    With `remainder="keep"`, what the reviewer's changes took away from the proposal's result
    becomes a new proposal of the same proposer.
    """

    type: Literal["respond_to_proposal"] = "respond_to_proposal"
    proposal_id: Id
    decision: Decision
    changes: Patch | None = None
    remainder: Literal["keep", "drop"] | None = None
    remainder_proposal_id: Id = _generated("prp")
    reason: Text | None = None
    expect: Expect | None = None


class ResolveGroup(Value):
    """Decide every proposal of a group at once: all or nothing."""

    type: Literal["resolve_group"] = "resolve_group"
    group_id: Id
    decision: Decision
    changes: dict[Id, Patch] | None = None
    reason: Text | None = None
    expect: dict[Id, Expect] | None = None


class CreateThread(Value):
    """Open a chat; `agent` names one of the host's agents, absent means the default one."""

    type: Literal["create_thread"] = "create_thread"
    thread_id: Id = _generated("thr")
    title: Text
    agent: Id | None = None


class PostMessage(Value):
    """Say something in a thread; a notice starts, steers and answers nothing."""

    type: Literal["post_message"] = "post_message"
    thread_id: Id
    message_id: Id = _generated("msg")
    content: FilledText
    kind: MessageKind = "message"


class SetFocus(Value):
    """Name the artifacts a thread is about."""

    type: Literal["set_focus"] = "set_focus"
    thread_id: Id
    artifact_ids: tuple[Id, ...]


class SetThreadMode(Value):
    """In `suggest` mode every change of the thread's agent becomes a proposal."""

    type: Literal["set_thread_mode"] = "set_thread_mode"
    thread_id: Id
    mode: ThreadMode


class AnswerDeferred(Value):
    """Answer one request of a paused run: a question with `answer`, an approval with `approved`."""

    type: Literal["answer_deferred"] = "answer_deferred"
    run_id: Id
    tool_call_id: Id
    answer: Any | None = None
    approved: Annotated[bool, Field(strict=True)] | None = None


class ArtifactTarget(Value):
    """Feedback on one version of an artifact."""

    kind: Literal["artifact"] = "artifact"
    artifact_id: Id
    version: Version


class ThreadTarget(Value):
    """Feedback on a thread as a whole."""

    kind: Literal["thread"] = "thread"
    thread_id: Id


class TurnTarget(Value):
    """Feedback on one run."""

    kind: Literal["turn"] = "turn"
    run_id: Id


class MessageTarget(Value):
    """Feedback on one message."""

    kind: Literal["message"] = "message"
    message_id: Id
    thread_id: Id
    run_id: Id | None = None


Target = Annotated[
    ArtifactTarget | ThreadTarget | TurnTarget | MessageTarget, Field(discriminator="kind")
]


class GiveFeedback(Value):
    """Judge an artifact version, a thread, a turn or a message by a registered feedback type."""

    type: Literal["give_feedback"] = "give_feedback"
    feedback_type: Id
    target: Target
    value: dict[str, Any]


class StopRun(Value):
    """Ask a run to stop. Carried by surfaces; the log records how the run ended."""

    type: Literal["stop_run"] = "stop_run"
    run_id: Id


class WatchRun(Value):
    """Ask for a run's live frames on this socket."""

    type: Literal["watch_run"] = "watch_run"
    run_id: Id


AnyCommand = (
    CreateArtifact
    | EditArtifact
    | ArchiveArtifact
    | PutArtifact
    | RevertArtifact
    | ProposeChange
    | RespondToProposal
    | ResolveGroup
    | CreateThread
    | PostMessage
    | SetFocus
    | SetThreadMode
    | AnswerDeferred
    | GiveFeedback
)
Command = Annotated[AnyCommand, Field(discriminator="type")]
ClientCommand = Annotated[AnyCommand | StopRun | WatchRun, Field(discriminator="type")]

command_adapter: TypeAdapter[AnyCommand] = TypeAdapter(Command)
client_command_adapter: TypeAdapter[AnyCommand | StopRun | WatchRun] = TypeAdapter(ClientCommand)
change_adapter: TypeAdapter[ArtifactCommand] = TypeAdapter(Change)
