"""Threads and runs to read: conversations with what happened in between, and each run's steps."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import Media, Script
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from artifacts.core.actors import is_agent
from artifacts.core.events import Envelope, MessagePosted
from artifacts.core.visibility import visible_text
from artifacts.models import Event
from artifacts.surfaces.admin_reach import Reach, reach_of
from artifacts.surfaces.event_lines import event_line, who
from artifacts.surfaces.live_pages import add_media
from artifacts.surfaces.object_pages import WorkspaceAdmin, page_of

from .models import Run, Thread
from .selectors import run_of

# The socket is this app's, so the scripts that keep pages up to date are too.
DESK = Script("threads/desk.js", type="module")
add_media(Media(css={"all": ["threads/desk.css"]}, js=[DESK]))  # type: ignore[list-item]

# Events told on one page.
SHOWN = 200
RUNS = 20


@admin.register(Thread)
class ThreadAdmin(WorkspaceAdmin):
    by_id = "thread"
    read_action = "read_threads"
    reach_fields = {"thread": "public_id"}
    page_template = "artifactr_threads/thread.html"
    list_display = ["what", "mode", "is_waiting", "created_at", "workspace"]
    list_display_links = ["what"]
    list_filter = ["mode"]
    list_select_related = ["workspace"]
    search_fields = ["title", "public_id"]
    search_help_text = "Title or id"
    ordering = ["-pk"]

    @admin.display(description="thread", ordering="title")
    def what(self, row: Any) -> SafeString:
        return format_html('{}<span class="artifactr-under">{}</span>', row.title, row.public_id)

    @admin.display(description="waits for an answer", boolean=True)
    def is_waiting(self, row: Any) -> bool:
        return bool(row.asked_seq > row.taken_seq)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        events = Event.objects.filter(workspace=row.workspace_id, thread_id=row.public_id)
        reach, place = reach_of(request), row.workspace.public_id
        hidden = reach.hidden(row.workspace)
        focus = [id for id in json.loads(row.focus) if id not in hidden.artifacts]
        return {
            "title": row.title,
            "focus": [{"id": id, "url": page_of("artifact", place, id)} for id in focus],
            "runs": row.runs.order_by("-pk")[:RUNS],
            "log_url": f"{reverse('admin:artifactr_event_changelist')}?thread_id={row.public_id}",
            **_told(request, reach, row.workspace, events),
        }


@admin.register(Run)
class RunAdmin(WorkspaceAdmin):
    by_id = "run"
    read_action = "read_runs"
    reach_fields = {"thread": "thread__public_id"}
    page_template = "artifactr_threads/run.html"
    list_display = ["public_id", "of", "state", "started_at", "ended_at", "reason", "workspace"]
    list_filter = ["status"]
    list_select_related = ["workspace", "thread"]
    search_fields = ["public_id", "thread__public_id"]
    search_help_text = "Id of a run or thread"
    ordering = ["-pk"]

    @admin.display(description="thread", ordering="thread__title")
    def of(self, row: Any) -> str:
        return row.thread.title

    @admin.display(description="status", ordering="status")
    def state(self, row: Any) -> SafeString:
        return format_html('<span class="artifactr-badge is-{0}">{0}</span>', row.status)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        events = Event.objects.filter(
            workspace=row.workspace_id, thread_id=row.thread.public_id, run_id=row.public_id
        )
        return {
            "title": f"Run {row.public_id}",
            "run": run_of(row),
            "thread_url": reverse("admin:artifactr_threads_thread_change", args=[row.thread.pk]),
            **_told(request, reach_of(request), row.workspace, events),
        }


def _told(
    request: HttpRequest, reach: Reach, workspace: Any, events: QuerySet[Event]
) -> dict[str, Any]:
    """The newest of these events in order, or those before `?before=`."""
    seen = reach.narrow(
        events,
        action="read_events",
        artifact="artifact_id",
        thread="thread_id",
        mentions="mentions",
    )
    if before := request.GET.get("before"):
        if not (before.isascii() and before.isdigit() and len(before) < 19):
            raise Http404
        seen = seen.filter(seq__lt=int(before))
    found = list(seen.defer("salt", "digest", "chain").order_by("-seq")[: SHOWN + 1])
    hidden = reach.hidden(workspace)
    texts = (
        (row, visible_text(row.text, named=row.mentions, event_type=row.type, hidden=hidden))
        for row in reversed(found[:SHOWN])
    )
    lines = [_line(row, text, workspace.public_id) for row, text in texts if text]
    return {"lines": lines, "earlier": found[SHOWN - 1].seq if len(found) > SHOWN else None}


def _line(row: Event, text: str, place: str) -> dict[str, Any]:
    envelope = Envelope.model_validate_json(text)
    event = envelope.event
    message = event if isinstance(event, MessagePosted) else None
    return {
        "seq": row.seq,
        "at": row.at,
        "type": row.type,
        "who": who(envelope.actor),
        "is_agent": is_agent(envelope.actor),
        "is_notice": message is not None and message.kind == "notice",
        "message": message.content if message else None,
        "line": event_line(event),
        "url": reverse("admin:artifactr_event_by_seq", args=[place, row.seq]),
        "proposal_url": page_of("proposal", place, getattr(event, "proposal_id", None)),
    }
