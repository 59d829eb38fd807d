"""Reads of threads, runs, messages and history; never a write.

What takes a `Workspace` looks with its caller's eyes: a role that may not read is `forbidden`, and
a thread that the host hides does not exist. Lists come oldest first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.models import F, Model, Q, QuerySet
from pydantic import TypeAdapter

from artifacts import core
from artifacts.core.events import WORKSPACE_WIDE
from artifacts.core.values import is_id
from artifacts.models import Event
from artifacts.workspace import Workspace
from threads import models

M = TypeVar("M", bound=Model)

_pending: TypeAdapter[tuple[core.DeferredRequest, ...]] = TypeAdapter(
    tuple[core.DeferredRequest, ...]
)
_answers: TypeAdapter[tuple[core.Answer, ...]] = TypeAdapter(tuple[core.Answer, ...])


def thread_of(row: models.Thread) -> core.Thread:
    return core.Thread(
        id=row.public_id,
        title=row.title,
        mode=row.mode,
        focus=tuple(json.loads(row.focus)),
        agent=row.agent,
    )


def run_of(row: models.Run) -> core.Run:
    return core.Run(
        id=row.public_id,
        thread_id=row.thread.public_id,
        status=row.status,
        pending=_pending.validate_json(row.pending),
        answers=_answers.validate_json(row.answers),
        trace_ids=tuple(json.loads(row.trace_ids)),
    )


def threads(
    workspace: Workspace, *, after: str | None = None, limit: int = 100
) -> list[core.Thread]:
    """A page of threads, oldest first, after the one with this id."""
    return [_shown(workspace, row) for row in _page(_threads(workspace), after, limit)]


def thread(workspace: Workspace, thread_id: str) -> core.Thread:
    return _shown(workspace, thread_row(workspace, thread_id))


def thread_row(workspace: Workspace, thread_id: str) -> models.Thread:
    """The row behind a thread, or `not_found`."""
    row = _threads(workspace).filter(public_id=thread_id).first() if is_id(thread_id) else None
    if row is None:
        raise core.NotFound("thread", thread_id)
    return row


def runs(
    workspace: Workspace,
    *,
    thread_id: str | None = None,
    active: bool = False,
    after: str | None = None,
    limit: int = 100,
) -> list[core.Run]:
    """A page of runs, oldest first; `active` ones are running or paused."""
    rows = _runs(workspace)
    if thread_id is not None:
        rows = rows.filter(thread__public_id=thread_id)
    if active:
        rows = rows.filter(status__in=models.Run.ACTIVE)
    return [run_of(row) for row in _page(rows, after, limit)]


def run(workspace: Workspace, run_id: str) -> core.Run:
    row = _runs(workspace).filter(public_id=run_id).first() if is_id(run_id) else None
    if row is None:
        raise core.NotFound("run", run_id)
    return run_of(row)


def active_runs(workspace_pk: int) -> list[tuple[str, str]]:
    """The runs of a workspace that have not ended, each with its thread; for trusted code."""
    rows = models.Run.objects.filter(workspace_id=workspace_pk, status__in=models.Run.ACTIVE)
    return list(rows.order_by("pk").values_list("public_id", "thread__public_id"))


def started_by(workspace: Workspace, run: core.Run) -> core.Actor | None:
    """The actor that a run was started as: its agent, on behalf of whoever it answers."""
    started = Event.objects.filter(
        workspace_id=workspace.pk, thread_id=run.thread_id, run_id=run.id, type="run_started"
    )
    text = started.order_by("seq").values_list("text", flat=True).first()
    return None if text is None else core.Envelope.model_validate_json(text).actor


def messages(
    workspace: Workspace,
    thread_id: str,
    *,
    after_seq: int = 0,
    before_seq: int | None = None,
    limit: int | None = None,
    last: int | None = None,
) -> list[core.Envelope]:
    """What was said in a thread, notices included, read from the log."""
    row = thread_row(workspace, thread_id)
    events = _in_thread(row).filter(type="message_posted", seq__gt=after_seq)
    if before_seq is not None:
        events = events.filter(seq__lt=before_seq)
    if last is not None:
        return _envelopes(events.order_by("-seq")[:last])[::-1]
    return _envelopes(events.order_by("seq")[:limit])


def unread_batch(row: models.Thread, *, limit: int) -> list[core.Envelope]:
    """What the next turn takes: the oldest messages that no finished turn took, all by one author.

    Notices are for people alone and are passed over.
    """
    own_agent = core.AgentActor(thread_id=row.public_id).participant
    events = (
        _in_thread(row)
        .filter(type="message_posted", seq__gt=row.taken_seq)
        .exclude(actor_key=own_agent)
        .order_by("seq")
    )
    batch: list[core.Envelope] = []
    for text in events.values_list("text", flat=True).iterator(chunk_size=100):
        envelope = core.Envelope.model_validate_json(text)
        if not isinstance(envelope.event, core.MessagePosted) or envelope.event.kind == "notice":
            continue
        if batch and envelope.actor.participant != batch[0].actor.participant:
            break
        batch.append(envelope)
        if len(batch) == limit:
            break
    return batch


def created_in(row: models.Thread) -> frozenset[str]:
    """The artifacts that were created in a thread."""
    created = _in_thread(row).filter(type="artifact_created")
    return frozenset(id for id in created.values_list("artifact_id", flat=True) if id)


def noted(
    row: models.Thread, *, follows: frozenset[str], after_seq: int, up_to_seq: int
) -> list[core.Envelope]:
    """The part of the log that change notes for a thread's agent are made of."""
    events = Event.objects.filter(
        Q(artifact_id__in=follows) | Q(thread_id=row.public_id),
        workspace_id=row.workspace_id,
        seq__gt=after_seq,
        seq__lte=up_to_seq,
        # What everybody is told of is what can become a note, besides notices.
        type__in=sorted(WORKSPACE_WIDE),
    )
    return _envelopes(events.order_by("seq"))


def segments(row: models.Thread) -> QuerySet[models.HistorySegment]:
    """The stored model history of a thread, oldest first, what is not usable included."""
    return models.HistorySegment.objects.filter(thread=row).order_by("number")


def active_run(row: models.Thread) -> models.Run | None:
    """The one run of a thread that has not ended."""
    return row.runs.filter(status__in=models.Run.ACTIVE).select_related("thread").first()


def attempts(run: models.Run) -> int:
    """How many runs have tried this one's messages, itself included."""
    count, earlier = 1, run.retry_of
    while earlier is not None:
        count += 1
        earlier = (
            models.Run.objects.filter(workspace_id=run.workspace_id, public_id=earlier)
            .values_list("retry_of", flat=True)
            .first()
        )
    return count


def waiting() -> QuerySet[models.Thread]:
    """Threads of every workspace that were asked and not taken."""
    return (
        models.Thread.objects.filter(asked_seq__gt=F("taken_seq"))
        .select_related("workspace")
        .order_by("id")
    )


def _shown(workspace: Workspace, row: models.Thread) -> core.Thread:
    """A thread as its reader may see it: hidden artifacts are in no focus."""
    thread = thread_of(row)
    focus = tuple(id for id in thread.focus if id not in workspace.hidden.artifacts)
    return thread if focus == thread.focus else thread.model_copy(update={"focus": focus})


def _threads(workspace: Workspace) -> QuerySet[models.Thread]:
    return models.Thread.objects.filter(workspace_id=workspace.pk).exclude(
        public_id__in=_hidden_threads(workspace, "read_threads")
    )


def _runs(workspace: Workspace) -> QuerySet[models.Run]:
    return (
        models.Run.objects.filter(workspace_id=workspace.pk)
        .exclude(thread__public_id__in=_hidden_threads(workspace, "read_runs"))
        .select_related("thread")
    )


def _hidden_threads(workspace: Workspace, action: str) -> frozenset[str]:
    workspace.require(action)
    return workspace.hidden.threads


def _page(rows: QuerySet[M], after: str | None, limit: int) -> Sequence[M]:
    if after is not None:
        last: Any = rows.filter(public_id=after).values_list("pk", flat=True).first()
        if last is None:
            raise core.ValidationFailed.at(["after"], "names nothing in this list")
        rows = rows.filter(pk__gt=last)
    return list(rows.order_by("pk")[:limit])


def _in_thread(row: models.Thread) -> QuerySet[Event]:
    return Event.objects.filter(workspace_id=row.workspace_id, thread_id=row.public_id)


def _envelopes(events: QuerySet[Event]) -> list[core.Envelope]:
    return [
        core.Envelope.model_validate_json(text) for text in events.values_list("text", flat=True)
    ]
