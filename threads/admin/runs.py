"""Runs: each with its steps, what it waits for, and the button that stops it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from artifacts.models import Event
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.object_pages import WorkspaceAdmin, as_http
from threads.models import Run
from threads.selectors import run_of

from .answering import RunDesk
from .told import told


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
        return str(row.thread.title)

    @admin.display(description="status", ordering="status")
    def state(self, row: Any) -> SafeString:
        return format_html('<span class="artifactr-badge is-{0}">{0}</span>', row.status)

    def get_urls(self) -> list[URLPattern]:
        pages: list[tuple[str, Any]] = [("answer", self.answer_view), ("stop", self.stop_view)]
        return [
            *(
                path(
                    f"<path:object_id>/{name}/",
                    self.admin_site.admin_view(require_POST(view)),
                    name=f"artifactr_run_{name}",
                )
                for name, view in pages
            ),
            *super().get_urls(),
        ]

    @as_http()
    def answer_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Answer one request of a paused run."""
        row = self.row_or_404(request, object_id)
        desk = self._desk(request, row)
        outcome = desk.answer(request.POST)
        if outcome is None:
            return self._refused(request, row, desk)
        messages.success(request, f"Answered (seq {outcome.seq}).")
        return HttpResponseRedirect(self.url_of(row))

    @as_http()
    def stop_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask a run to stop."""
        row = self.row_or_404(request, object_id)
        desk = self._desk(request, row)
        if desk.stop(request.POST) is None:
            return self._refused(request, row, desk)
        messages.success(request, "The run was asked to stop.")
        return HttpResponseRedirect(self.url_of(row))

    def page_context(
        self, request: HttpRequest, row: Any, desk: RunDesk | None = None
    ) -> dict[str, Any]:
        events = Event.objects.filter(
            workspace=row.workspace_id, thread_id=row.thread.public_id, run_id=row.public_id
        )
        return {
            "title": f"Run {row.public_id}",
            "run_row": row,
            "run": run_of(row),
            "desk": desk or self._desk(request, row),
            "thread_url": reverse("admin:artifactr_threads_thread_change", args=[row.thread.pk]),
            **told(request, row.workspace, events),
        }

    def _desk(self, request: HttpRequest, row: Any) -> RunDesk:
        return RunDesk(reach_of(request).open(row.workspace.public_id), run_of(row))

    def _refused(self, request: HttpRequest, row: Any, desk: RunDesk) -> HttpResponse:
        """The page as it is now, with what stood in the way and what was typed."""
        row = self.row_or_404(request, str(row.pk))
        desk.run = run_of(row)
        context = self.page_context(request, row, desk)
        return self.page(request, row, self.page_template, status=desk.status, **context)
