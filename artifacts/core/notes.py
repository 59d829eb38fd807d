"""Change notes: what others did since a viewer last looked, short and attributed.

Notes cover the artifacts a viewer follows, those created in the viewer's thread, and decisions on
the viewer's own proposals; the viewer's own changes give none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from pydantic_core import to_json

from .actors import Actor, AgentActor, display_name
from .events import (
    ArtifactArchived,
    ArtifactChanged,
    ArtifactCreated,
    ArtifactEvent,
    Envelope,
    MessagePosted,
    ProposalCreated,
    ProposalResolved,
)
from .patches import Op, Patch
from .values import Value

# What one note says of a row of changes, and all notes together, before they are cut.
SUMMARIES = 5
EDITS = 20
TEXT_CHARS = 500


class ChangeNote(Value):
    """One thing to tell. Several changes of one artifact are one note, first version to last."""

    kind: Literal["changed", "created", "archived", "proposed", "decided", "notice"]
    who: tuple[str, ...]
    artifact_id: str | None = None
    artifact_kind: str | None = None
    from_version: int | None = None
    to_version: int | None = None
    summaries: tuple[str, ...] = ()
    proposal_id: str | None = None
    decision: Literal["accept", "reject"] | None = None
    changes: Patch | None = None
    text: str | None = None


def change_notes(
    envelopes: Iterable[Envelope],
    *,
    viewer: Actor,
    follows: Collection[str],
    notices: bool = False,
) -> list[ChangeNote]:
    """The notes a slice of the log gives to `viewer`, who follows these artifact ids."""
    read = list(envelopes)
    thread_id = viewer.thread_id if isinstance(viewer, AgentActor) else None
    notes = _Notes(thread_id, followed=set(follows), own=_own_proposals(read, viewer))
    for envelope in read:
        notes.follow(envelope)
        if envelope.actor.participant != viewer.participant:
            notes.take(envelope, notices=notices)
    return notes.taken


def _own_proposals(read: list[Envelope], viewer: Actor) -> set[str]:
    return {
        each.event.proposal_id
        for each in read
        if isinstance(each.event, ProposalResolved)
        and each.event.proposed_by.participant == viewer.participant
    }


class _Notes:
    """Notes in the making, in log order, with one note for each artifact that changed."""

    def __init__(self, thread_id: str | None, *, followed: set[str], own: set[str]) -> None:
        self.thread_id, self.followed, self.own = thread_id, followed, own
        self.taken: list[ChangeNote] = []
        self._at: dict[str, int] = {}

    def follow(self, envelope: Envelope) -> None:
        """What is created in the viewer's thread, by the viewer too, is followed from then on."""
        event = envelope.event
        if self.thread_id is None or not isinstance(event, ArtifactCreated):
            return
        if event.thread_id == self.thread_id:
            self.followed.add(event.artifact_id)

    def take(self, envelope: Envelope, *, notices: bool) -> None:
        event = envelope.event
        match event:
            case ArtifactCreated() | ArtifactChanged() | ArtifactArchived():
                self._take_change(envelope, event)
            case ProposalCreated() if event.artifact_id in self.followed:
                self.taken.append(_of_proposal(envelope, event))
            case ProposalResolved() if event.proposal_id in self.own:
                self.taken.append(_of_decision(envelope, event))
            case MessagePosted(kind="notice") if notices and event.thread_id == self.thread_id:
                who = (display_name(envelope.actor),)
                self.taken.append(ChangeNote(kind="notice", who=who, text=event.content))
            case _:
                return

    def _take_change(self, envelope: Envelope, event: ArtifactEvent) -> None:
        id = event.artifact_id
        # The viewer's own accepted proposal is told as a decision, not as somebody's change.
        if id not in self.followed or event.proposal_id in self.own:
            return
        note = _of_artifact(envelope, event)
        if id in self._at:
            self.taken[self._at[id]] = _joined(self.taken[self._at[id]], note)
        else:
            self._at[id] = len(self.taken)
            self.taken.append(note)


def render_notes(notes: Iterable[ChangeNote]) -> str:
    """The notes as lines of text, one each; what people wrote cannot open or close a tag."""
    return "\n".join(_line(note) for note in notes)


def _of_artifact(envelope: Envelope, event: ArtifactEvent) -> ChangeNote:
    kinds: dict[str, Literal["changed", "created", "archived"]] = {
        "artifact_created": "created",
        "artifact_changed": "changed",
        "artifact_archived": "archived",
    }
    return ChangeNote(
        kind=kinds[event.type],
        who=(display_name(envelope.actor),),
        artifact_id=event.artifact_id,
        artifact_kind=event.kind,
        from_version=event.version - 1,
        to_version=event.version,
        summaries=(event.summary,) if isinstance(event, ArtifactChanged) else (),
    )


def _joined(first: ChangeNote, then: ChangeNote) -> ChangeNote:
    kind = first.kind if first.kind == "created" and then.kind == "changed" else then.kind
    return first.model_copy(
        update={
            "kind": kind,
            "who": tuple(dict.fromkeys((*first.who, *then.who))),
            "to_version": then.to_version,
            "summaries": (*first.summaries, *then.summaries),
        }
    )


def _of_proposal(envelope: Envelope, event: ProposalCreated) -> ChangeNote:
    text = event.rationale
    if event.proposed_by is not None:  # a reviewer kept what an acceptance left over
        text = f"what was left of the proposal of {display_name(event.proposed_by)}"
    return ChangeNote(
        kind="proposed",
        who=(display_name(envelope.actor),),
        artifact_id=event.artifact_id,
        artifact_kind=event.kind,
        proposal_id=event.proposal_id,
        text=text,
    )


def _of_decision(envelope: Envelope, event: ProposalResolved) -> ChangeNote:
    return ChangeNote(
        kind="decided",
        who=(display_name(envelope.actor),),
        artifact_id=event.artifact_id,
        proposal_id=event.proposal_id,
        decision=event.decision,
        to_version=event.version,
        changes=event.changes,
        text=event.reason,
    )


def _line(note: ChangeNote) -> str:
    who = " and ".join(note.who)
    match note.kind:
        case "notice":
            line = f"{who} noted: {note.text}"
        case "proposed":
            line = f"{who} proposed a change to {note.artifact_id} ({note.proposal_id})"
            line += f": {note.text}" if note.text else ""
        case "decided":
            line = _decided(note, who)
        case "created":
            line = f"{who} created {note.artifact_id} ({note.artifact_kind}, v{note.to_version})"
        case _:
            versions = f"v{note.from_version} → v{note.to_version}"
            line = f"{who} {note.kind} {note.artifact_id} ({note.artifact_kind}, {versions})"
            line += f": {_summaries(note)}" if note.summaries else ""
    return "- " + _plain(line)


def _decided(note: ChangeNote, who: str) -> str:
    verb = "accepted" if note.decision == "accept" else "rejected"
    line = f"{who} {verb} your proposal {note.proposal_id} on {note.artifact_id}"
    if note.to_version is not None:
        line += f", which is now at v{note.to_version}"
    if note.changes is not None:
        line += f", with own edits: {_edits(note.changes)}"
    return line + (f"; reason: {note.text}" if note.text else "")


def _edits(changes: Patch) -> str:
    if changes.kind == "text_edits":
        return "; ".join(f"{each.old!r} became {each.new!r}" for each in changes.edits)
    return "; ".join(_operation(op) for op in changes.ops[:EDITS])


def _operation(op: Op) -> str:
    where = op.path or "all of it"
    if op.op in ("add", "replace"):
        return f"{where} is now {to_json(op.value).decode()}"
    return f"{where}: {op.op}"


def _summaries(note: ChangeNote) -> str:
    rest = len(note.summaries) - SUMMARIES
    shown = "; ".join(note.summaries[-SUMMARIES:])
    return f"{shown} (and {rest} earlier changes)" if rest > 0 else shown


def _plain(line: str) -> str:
    flat = " ".join(line.split())
    cut = flat if len(flat) <= TEXT_CHARS else flat[:TEXT_CHARS] + " …"
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
