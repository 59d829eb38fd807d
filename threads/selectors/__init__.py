"""Reads of threads, runs, messages and history; never a write.

What takes a `Workspace` looks with its caller's eyes: a role that may not read is `forbidden`, and
a thread that the host hides does not exist. Lists come oldest first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Exists, F, Model, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat

from artifacts import core
from artifacts.core.values import is_id
from artifacts.models import Event, Lease
from artifacts.workspace import Workspace, database
from threads import models
from threads.rows import THREAD_COLUMNS, as_run, as_thread
from threads.selectors.turns import (
    Remembered,
    Standing,
    created_in,
    is_taken,
    noted,
    remembered,
    segments,
    standing,
    told_by,
    unread,
)

__all__ = [
    "Remembered",
    "Standing",
    "created_in",
    "is_taken",
    "noted",
    "remembered",
    "segments",
    "standing",
    "told_by",
    "unread",
]

M = TypeVar("M", bound=Model)

THREAD = f"""
    SELECT {THREAD_COLUMNS} FROM artifactr_threads_thread t
    WHERE t.workspace_id = %s AND t.public_id = %s"""
ROW = "SELECT * FROM artifactr_threads_thread WHERE workspace_id = %s AND public_id = %s"
ACTIVE = """
    SELECT 1 FROM artifactr_threads_run WHERE thread_id = %s AND status IN ('running', 'paused')"""
LAST_REASON = """
    SELECT reason FROM artifactr_threads_run WHERE thread_id = %s ORDER BY id DESC LIMIT 1"""

THREAD_CLAIM = "thread:"  # before a thread's id in the key of its claim


def thread_of(row: models.Thread) -> core.Thread:
    return as_thread(row.public_id, row.title, row.mode, row.focus, row.agent)


def run_of(row: models.Run) -> core.Run:
    return as_run(
        row.public_id, row.thread.public_id, row.status, row.pending, row.answers, row.trace_ids
    )


def threads(
    workspace: Workspace, *, after: str | None = None, limit: int = 100
) -> list[core.Thread]:
    """A page of threads, oldest first, after the one with this id."""
    return [_shown(workspace, thread_of(row)) for row in _page(_threads(workspace), after, limit)]


def thread(workspace: Workspace, thread_id: str) -> core.Thread:
    hidden = _hidden_threads(workspace, "read_threads")
    if is_id(thread_id) and thread_id not in hidden:
        for row in database().one(THREAD, (workspace.pk, thread_id)).rows:
            return _shown(workspace, as_thread(*row))
    raise core.NotFound("thread", thread_id)


def thread_row(workspace: Workspace, thread_id: str) -> models.Thread:
    """The row behind a thread, or `not_found`."""
    hidden = _hidden_threads(workspace, "read_threads")
    if is_id(thread_id) and thread_id not in hidden:
        for row in models.Thread.objects.raw(ROW, [workspace.pk, thread_id]):
            return row
    raise core.NotFound("thread", thread_id)


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


def active_run(row: models.Thread) -> models.Run | None:
    """The one run of a thread that has not ended."""
    if not database().one(ACTIVE, (row.pk,)).rows:  # the usual case, and quick
        return None
    return row.runs.filter(status__in=models.Run.ACTIVE).select_related("thread").first()


def paused_in(workspace_pk: int, run_id: str) -> str | None:
    """The thread in which a run is paused; for trusted code."""
    runs = models.Run.objects.filter(
        workspace_id=workspace_pk, public_id=run_id, status=models.Run.Status.PAUSED
    )
    return runs.values_list("thread__public_id", flat=True).first()


def stops_asked(run_ids: Iterable[str]) -> list[tuple[int, str]]:
    """Those of these runs that somebody asked to stop, each with the key of its workspace."""
    asked = models.Run.objects.filter(
        public_id__in=list(run_ids),
        status__in=models.Run.ACTIVE,
        stop_requested_at__isnull=False,
    )
    return list(asked.values_list("workspace_id", "public_id"))


def last_abandoned(row: models.Thread) -> models.Run | None:
    """The run of a thread that began last, if its process left it."""
    if database().one(LAST_REASON, (row.pk,)).rows != [("abandoned",)]:
        return None
    return row.runs.select_related("thread").order_by("-pk").first()


def run_events(row: models.Thread, run_ids: Collection[str]) -> list[core.Envelope]:
    """What these runs of a thread did, oldest first."""
    return _envelopes(_in_thread(row).filter(run_id__in=run_ids).order_by("seq"))


def earlier_attempts(run: models.Run) -> list[str]:
    """The ids of this run and of those it takes again, last first."""
    found, earlier = [run.public_id], run.retry_of
    while earlier is not None:
        found.append(earlier)
        earlier = (
            models.Run.objects.filter(workspace_id=run.workspace_id, public_id=earlier)
            .values_list("retry_of", flat=True)
            .first()
        )
    return found


def used_approvals(row: models.Thread, run_id: str, *, paused_seq: int) -> frozenset[str]:
    """The calls approved in this pause that were let through to their tools."""
    used = models.ToolApproval.objects.filter(
        workspace_id=row.workspace_id, run_id=run_id, paused_seq=paused_seq
    )
    return frozenset(used.values_list("tool_call_id", flat=True))


def paused_at(row: models.Thread, run_id: str) -> int:
    """The place in the log where a run last paused, 0 if it never did."""
    pauses = _in_thread(row).filter(run_id=run_id, type="run_paused").order_by("-seq")
    return pauses.values_list("seq", flat=True).first() or 0


def waiting(now: datetime, *, limit: int) -> list[models.Thread]:
    """Threads of every workspace that want a turn and that nobody holds: asked and not taken, left
    behind by a process that held them, or with a paused run that shall stop."""
    active = models.Run.objects.filter(status__in=models.Run.ACTIVE)
    threads = models.Thread.objects.select_related("workspace").order_by("pk")
    # Apart, so that each is read from its own small index.
    asked = threads.filter(
        Q(not_before=None) | Q(not_before__lte=now), asked_seq__gt=F("taken_seq")
    )
    running = active.filter(status=models.Run.Status.RUNNING)
    stopping = active.filter(status=models.Run.Status.PAUSED, stop_requested_at__isnull=False)
    queries = (
        asked,
        # Who records a run without a claim looks after it without one.
        threads.filter(Exists(_claims()), pk__in=running.values("thread_id")),
        threads.filter(pk__in=stopping.values("thread_id")),
    )
    held = Exists(_claims().filter(expires_at__gt=now))
    found = {row.pk: row for rows in queries for row in rows.exclude(held)[:limit]}
    return list(found.values())


def _claims() -> QuerySet[Lease]:
    """The claim of a thread in an outer query, held or lapsed."""
    key = Concat(Value(THREAD_CLAIM), OuterRef("public_id"))
    return Lease.objects.filter(workspace_id=OuterRef("workspace_id"), key=key)


def _shown(workspace: Workspace, thread: core.Thread) -> core.Thread:
    """A thread as its reader may see it: hidden artifacts are in no focus."""
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
