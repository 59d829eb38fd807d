"""What happened, in the past tense, and the envelope in which an event stands in the log.

Events of types this version does not know validate as `UnknownEvent` and are written back
unchanged. Applications add events of their own through `AppEvent` alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter, model_serializer

from .actors import Actor
from .artifact import Address
from .commands import Change, Decision, MessageKind, Target, ThreadMode
from .patches import Patch
from .values import FilledText, Id, Text, Value


class ThreadCreated(Value):
    type: Literal["thread_created"] = "thread_created"
    thread_id: Id
    title: Text
    agent: Id | None = None


class ThreadModeChanged(Value):
    type: Literal["thread_mode_changed"] = "thread_mode_changed"
    thread_id: Id
    mode: ThreadMode


class FocusChanged(Value):
    type: Literal["focus_changed"] = "focus_changed"
    thread_id: Id
    artifact_ids: tuple[Id, ...]


class MessagePosted(Value):
    type: Literal["message_posted"] = "message_posted"
    thread_id: Id
    message_id: Id
    content: Text
    kind: MessageKind = "message"
    run_id: Id | None = None


class ArtifactCreated(Value):
    type: Literal["artifact_created"] = "artifact_created"
    artifact_id: Id
    kind: Id
    version: int = 1
    data: dict[str, Any]
    address: Address | None = None
    proposal_id: Id | None = None
    thread_id: Id | None = None
    run_id: Id | None = None


class ArtifactChanged(Value):
    """A new version in force; the artifact is not archived afterwards, whatever it was before."""

    type: Literal["artifact_changed"] = "artifact_changed"
    artifact_id: Id
    kind: Id
    version: int
    patch: Patch
    summary: Text
    address: Address | None = None
    reverted_to: int | None = None
    proposal_id: Id | None = None
    thread_id: Id | None = None
    run_id: Id | None = None


class ArtifactArchived(Value):
    type: Literal["artifact_archived"] = "artifact_archived"
    artifact_id: Id
    kind: Id
    version: int
    proposal_id: Id | None = None
    thread_id: Id | None = None
    run_id: Id | None = None


ArtifactEvent = ArtifactCreated | ArtifactChanged | ArtifactArchived


class ProposalCreated(Value):
    type: Literal["proposal_created"] = "proposal_created"
    proposal_id: Id
    artifact_id: Id
    kind: Id
    change: Change
    rationale: Text | None = None
    group_id: Id | None = None
    proposed_by: Actor | None = None
    thread_id: Id | None = None
    run_id: Id | None = None


class ProposalResolved(Value):
    type: Literal["proposal_resolved"] = "proposal_resolved"
    proposal_id: Id
    decision: Decision
    proposed_by: Actor
    artifact_id: Id
    changes: Patch | None = None
    reason: Text | None = None
    version: int | None = None
    group_id: Id | None = None
    thread_id: Id | None = None
    run_id: Id | None = None


class RunStarted(Value):
    type: Literal["run_started"] = "run_started"
    run_id: Id
    thread_id: Id
    trigger: Literal["message", "resume", "api"] = "message"
    trace_id: Text | None = None
    message_ids: tuple[Id, ...] = ()
    retry_of: Id | None = None


class ToolCalled(Value):
    type: Literal["tool_called"] = "tool_called"
    run_id: Id
    thread_id: Id
    tool_call_id: Id
    tool_name: Text
    args_summary: Text = ""


class ToolReturned(Value):
    type: Literal["tool_returned"] = "tool_returned"
    run_id: Id
    thread_id: Id
    tool_call_id: Id
    tool_name: Text
    status: Literal["ok", "error", "retry"] = "ok"
    summary: Text = ""


class DeferredRequest(Value):
    """Something a paused run waits for; `metadata` is what its tool says about it."""

    tool_call_id: Id
    tool_name: Text
    kind: Literal["question", "approval"]
    args: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] | None = None


class RunPaused(Value):
    type: Literal["run_paused"] = "run_paused"
    run_id: Id
    thread_id: Id
    requests: tuple[DeferredRequest, ...]
    usage: dict[str, Any] | None = None


class DeferredAnswered(Value):
    type: Literal["deferred_answered"] = "deferred_answered"
    run_id: Id
    thread_id: Id
    tool_call_id: Id
    answer: Any | None = None
    approved: bool | None = None


class RunEnded(Value):
    type: Literal["run_ended"] = "run_ended"
    run_id: Id
    thread_id: Id
    status: Literal["completed", "stopped", "failed"]
    usage: dict[str, Any] | None = None
    error: Text | None = None
    reason: Text | None = None


class FeedbackGiven(Value):
    type: Literal["feedback_given"] = "feedback_given"
    feedback_type: Id
    target: Target
    value: dict[str, Any]
    thread_id: Id | None = None
    run_id: Id | None = None


class AppEvent(Value):
    """An application's own event: a name that is no known event's type, and JSON data."""

    type: Literal["app_event"] = "app_event"
    name: FilledText
    data: dict[str, Any] = Field(default_factory=dict)
    thread_id: Id | None = None
    run_id: Id | None = None


AnyKnownEvent = (
    ThreadCreated
    | ThreadModeChanged
    | FocusChanged
    | MessagePosted
    | ArtifactCreated
    | ArtifactChanged
    | ArtifactArchived
    | ProposalCreated
    | ProposalResolved
    | RunStarted
    | ToolCalled
    | ToolReturned
    | RunPaused
    | DeferredAnswered
    | RunEnded
    | FeedbackGiven
    | AppEvent
)
KnownEvent = Annotated[AnyKnownEvent, Field(discriminator="type")]
EVENT_TYPES = frozenset(cls.model_fields["type"].default for cls in get_args(AnyKnownEvent))


class UnknownEvent(Value):
    """An event of a newer protocol: kept with every member it came with."""

    model_config = ConfigDict(frozen=True, extra="allow")

    # The schema says so too, or every known event would be an unknown one as well.
    type: Annotated[Text, Field(json_schema_extra={"not": {"enum": sorted(EVENT_TYPES)}})]

    @model_serializer(mode="plain")
    def _as_it_came(self) -> dict[str, Any]:
        # Members that are null too: the log is written without the None of known events.
        return {"type": self.type, **(self.model_extra or {})}


RunFact = RunStarted | ToolCalled | ToolReturned | RunPaused | RunEnded
AnyFact = RunFact | AppEvent
Fact = Annotated[AnyFact, Field(discriminator="type")]
fact_adapter: TypeAdapter[AnyFact] = TypeAdapter(Fact)


def _known_or_not(value: Any) -> str:
    name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "known" if name in EVENT_TYPES else "unknown"


Event = Annotated[
    Annotated[KnownEvent, Tag("known")] | Annotated[UnknownEvent, Tag("unknown")],
    Discriminator(_known_or_not),
]
event_adapter: TypeAdapter[AnyKnownEvent | UnknownEvent] = TypeAdapter(Event)


class Envelope(Value):
    """An event at its place in a workspace's log. `ts` is server UTC, never going back."""

    seq: int
    id: Id
    ts: datetime
    workspace_id: Id
    thread_id: Id | None = None
    run_id: Id | None = None
    actor: Actor
    traceparent: str | None = None
    change_set_id: Id | None = None
    event: Event


# Events of these types reach every reader of a workspace; the others follow their thread.
WORKSPACE_WIDE = frozenset(
    {
        "artifact_created",
        "artifact_changed",
        "artifact_archived",
        "proposal_created",
        "proposal_resolved",
    }
)


def is_delivered_to(event_type: str, thread_id: str | None, threads: frozenset[str] | None) -> bool:
    """Whether a reader of these threads (None: all) gets an event; one rule for every read."""
    return (
        threads is None or event_type in WORKSPACE_WIDE or thread_id is None or thread_id in threads
    )
