"""The log to read: every event in order, and the change sets beside it."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Left, Length
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from artifacts.core.actors import actor_adapter
from artifacts.core.events import Envelope
from artifacts.core.visibility import visible_text
from artifacts.models import ChangeSet, Event
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.event_lines import event_line, who
from artifacts.surfaces.object_pages import WorkspaceAdmin, page_of

from .filters import ActorFilter, EventTypeFilter, ThreadFilter, WorkspaceFilter

# Of a longer envelope a row says only the columns beside it.
TEXT_CHARS = 6_000


@admin.register(Event)
class EventAdmin(WorkspaceAdmin):
    by_id = "event"
    read_action = "read_events"
    live_as = "log"
    reach_fields = {"artifact": "artifact_id", "thread": "thread_id", "mentions": "mentions"}
    page_template = "artifactr/event.html"
    list_display = ["seq", "moment", "by", "what", "workspace"]
    list_display_links = ["seq"]
    list_filter = [WorkspaceFilter, EventTypeFilter, ActorFilter, ThreadFilter]
    list_select_related = ["workspace__tenant"]
    search_fields = ["=public_id", "=artifact_id", "=thread_id", "=run_id", "=change_set_id"]
    search_help_text = "Id of an event, artifact, thread, run or change set"
    ordering = ["-pk"]
    list_per_page = 100

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        rows: QuerySet[Event] = super().get_queryset(request)
        return rows.defer("text", "salt", "digest", "chain").annotate(
            text_start=Left("text", TEXT_CHARS), text_chars=Length("text")
        )

    def get_urls(self) -> list[URLPattern]:
        by_seq = path(
            "at/<str:workspace_id>/<int:seq>/",
            self.admin_site.admin_view(self.by_seq_view),
            name="artifactr_event_by_seq",
        )
        return [by_seq, *super().get_urls()]

    def by_seq_view(self, request: HttpRequest, workspace_id: str, seq: int) -> HttpResponse:
        """The page of one place in a log."""
        found = self.get_queryset(request).filter(workspace__public_id=workspace_id)
        row = found.filter(seq=min(seq, 2**63 - 1)).first()
        if row is None:
            raise Http404
        return HttpResponseRedirect(self.url_of(row))

    @admin.display(description="actor", ordering="actor_key")
    def by(self, row: Any) -> str:
        envelope = _envelope(row)
        return who(envelope.actor) if envelope else row.actor_key

    @admin.display(description="at", ordering="at")
    def moment(self, row: Any) -> SafeString:
        return format_html(
            '<time datetime="{}" title="{}">{}</time>',
            row.at.isoformat(),
            row.at,
            date_format(row.at, "j M H:i:s"),
        )

    @admin.display(description="what happened", ordering="type")
    def what(self, row: Any) -> SafeString:
        envelope = _envelope(row)
        line = event_line(envelope.event) if envelope else f"{row.text_chars:,} characters"
        href = page_of("thread", row.workspace.public_id, row.thread_id)
        return format_html(
            '{}<span class="artifactr-under">{}{}</span>',
            line,
            row.type,
            format_html(' · <a href="{}" title="{}">thread</a>', href, row.thread_id)
            if href
            else "",
        )

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"title": "Log", **(extra_context or {})})

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        hidden = reach_of(request).hidden(row.workspace)
        text = visible_text(row.text, named=row.mentions, event_type=row.type, hidden=hidden)
        if text is None:
            raise Http404
        place = row.workspace.public_id
        envelope = Envelope.model_validate_json(text) if text else None
        return {
            "title": f"{row.seq} · {row.type}",
            "line": event_line(envelope.event) if envelope else "erased",
            "by": who(envelope.actor) if envelope else row.actor_key,
            "envelope": json.dumps(json.loads(text), indent=2, ensure_ascii=False) if text else "",
            "links": {
                "artifact": page_of("artifact", place, row.artifact_id),
                "thread": page_of("thread", place, row.thread_id),
                "run": page_of("run", place, row.run_id),
                "change_set": page_of("changeset", place, row.change_set_id),
            },
        }


def _envelope(row: Any) -> Envelope | None:
    """What a row's text says to its reader, if the row has all of it."""
    if not row.text_start or row.text_chars > TEXT_CHARS:
        return None
    hidden = row.reach.hidden(row.workspace)
    text = visible_text(row.text_start, named=row.mentions, event_type=row.type, hidden=hidden)
    return None if text is None else Envelope.model_validate_json(text)


@admin.register(ChangeSet)
class ChangeSetAdmin(WorkspaceAdmin):
    by_id = "changeset"
    read_action = "read_change_sets"
    page_template = "artifactr/change_set.html"
    list_display = ["public_id", "origin", "by", "at", "last_seq", "workspace"]
    list_filter = [WorkspaceFilter, "origin"]
    list_select_related = ["workspace"]
    search_fields = ["public_id"]
    ordering = ["-pk"]

    @admin.display(description="actor")
    def by(self, row: Any) -> str:
        return who(actor_adapter.validate_json(row.actor))

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        workspace = reach_of(request).open(row.workspace.public_id)
        # One that wrote nothing but what is hidden from this person is not found.
        found = workspace.change_set(row.public_id)
        place = row.workspace.public_id
        return {
            "by": self.by(row),
            "written": [
                {"revision": each, "url": page_of("artifact", place, each.artifact_id)}
                for each in found.revisions
            ],
        }
