"""Paused runs on the review queue: what agents ask of people stands beside what they propose."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest
from django.urls import reverse

from artifacts import core
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.review_sources import Waiting
from threads.models import Run
from threads.selectors import run_of

# Runs that the queue names; the list of runs has all of them.
SHOWN = 50
LINE_CHARS = 160


def waiting_requests(request: HttpRequest) -> list[Waiting]:
    """Every request without an answer that this person may see, of the workspace they filter by."""
    rows = Run.objects.filter(status=Run.Status.PAUSED).select_related("workspace", "thread")
    rows = reach_of(request).narrow(rows, action="read_runs", thread="thread__public_id")
    if chosen := request.GET.get("workspace"):
        rows = rows.filter(workspace__public_id=chosen)
    return [waiting for row in rows.order_by("pk")[:SHOWN] for waiting in _of(row)]


def _of(row: Run) -> Iterator[Waiting]:
    run = run_of(row)
    answered = {each.tool_call_id for each in run.answers}
    for each in run.pending:
        if each.tool_call_id in answered:
            continue
        yield Waiting(
            id=f"{run.id}/{each.tool_call_id}",
            workspace_id=row.workspace.public_id,
            kind=each.kind,
            line=_line(each),
            place=f"{row.thread.title} · {row.workspace.name}",
            since=row.started_at,
            url=reverse("admin:artifactr_threads_run_change", args=[row.pk]),
        )


def _line(request: core.DeferredRequest) -> str:
    asked = request.args.get("question") if request.kind == "question" else None
    text = " ".join(str(asked or f"use {request.tool_name}").split())
    return text if len(text) <= LINE_CHARS else f"{text[: LINE_CHARS - 1]}…"
