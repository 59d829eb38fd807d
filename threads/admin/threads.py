"""Threads: each as the conversation it is, with its runs beside it."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from artifacts.models import Event
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.object_pages import WorkspaceAdmin, page_of
from threads.models import Thread
from threads.selectors import active_run, run_of

from .answering import RunDesk
from .told import told

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
            **self._going_on(request, row),
            **told(request, row.workspace, events),
        }

    def _going_on(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """The run that has not ended, to answer and to stop from here."""
        run = active_run(row)
        if run is None:
            return {}
        workspace = reach_of(request).open(row.workspace.public_id)
        return {"run_row": run, "desk": RunDesk(workspace, run_of(run))}
