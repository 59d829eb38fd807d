"""One line for each change and each event: what a person reads in a queue, a thread or the log."""

from __future__ import annotations

from typing import Any

from ..core.actors import Actor, AgentActor, ExternalAgentActor, display_name
from ..core.commands import (
    ArchiveArtifact,
    ArtifactCommand,
    CreateArtifact,
    EditArtifact,
    PutArtifact,
    RevertArtifact,
)
from ..core.events import (
    AnyKnownEvent,
    AppEvent,
    ArtifactArchived,
    ArtifactChanged,
    ArtifactCreated,
    DeferredAnswered,
    FeedbackGiven,
    FocusChanged,
    MessagePosted,
    ProposalCreated,
    ProposalResolved,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
    ThreadModeChanged,
    ToolCalled,
    ToolReturned,
    UnknownEvent,
)
from ..core.patches import summarize_patch

LINE_CHARS = 160


def change_line(change: ArtifactCommand) -> str:
    """What a proposed change does."""
    match change:
        case CreateArtifact():
            line = f"create a {change.kind}"
        case EditArtifact():
            line = change.summary or summarize_patch(change.patch)
        case ArchiveArtifact():
            line = "archive it"
        case PutArtifact():
            line = "write the whole value" if change.base_version else f"create a {change.kind}"
        case RevertArtifact():
            line = f"go back to version {change.to_version}"
    return _one_line(line)


def who(actor: Actor) -> str:
    """A name, and for whom an agent acted."""
    name = display_name(actor)
    if isinstance(actor, AgentActor | ExternalAgentActor) and actor.on_behalf_of:
        return f"{name} for {display_name(actor.on_behalf_of)}"
    return name


def event_line(event: AnyKnownEvent | UnknownEvent) -> str:
    """What happened."""
    return _one_line(_artifact_line(event) or _thread_line(event) or _run_line(event) or "")


def _artifact_line(event: Any) -> str | None:
    match event:
        case ArtifactCreated():
            return f"created {event.kind} {event.artifact_id}"
        case ArtifactChanged():
            return f"{event.artifact_id} v{event.version}: {event.summary}"
        case ArtifactArchived():
            return f"archived {event.artifact_id}"
        case ProposalCreated():
            line = f"proposed for {event.artifact_id}: {change_line(event.change)}"
            return f"{line} ({event.rationale})" if event.rationale else line
        case ProposalResolved():
            return _resolved_line(event)
        case FeedbackGiven():
            return f"{event.feedback_type} on a {event.target.kind}"
    return None


def _resolved_line(event: ProposalResolved) -> str:
    line = f"{event.decision}ed a proposal for {event.artifact_id}"
    if event.version is not None:
        line += f", now v{event.version}"
    if event.changes is not None:
        line += ", with own edits"
    return f"{line}: {event.reason}" if event.reason else line


def _thread_line(event: Any) -> str | None:
    match event:
        case ThreadCreated():
            return f"opened “{event.title}”"
        case ThreadModeChanged():
            return f"{event.mode} mode"
        case FocusChanged():
            return f"focus on {', '.join(event.artifact_ids) or 'nothing'}"
        case MessagePosted():
            return f"{'noted' if event.kind == 'notice' else 'said'}: {event.content}"
        case AppEvent():
            return event.name
    return None


def _run_line(event: Any) -> str | None:
    match event:
        case RunStarted():
            return f"run started ({event.trigger})"
        case ToolCalled():
            return f"called {event.tool_name} {event.args_summary}"
        case ToolReturned():
            return f"{event.tool_name} {event.status} {event.summary}"
        case RunPaused():
            return f"run paused for {', '.join(each.tool_name for each in event.requests)}"
        case DeferredAnswered():
            verdict = {True: "approved", False: "refused", None: "answered"}[event.approved]
            return f"{verdict} {event.tool_call_id}"
        case RunEnded():
            why = event.error or event.reason
            return f"run {event.status}: {why}" if why else f"run {event.status}"
    return None


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LINE_CHARS else flat[: LINE_CHARS - 1] + "…"
