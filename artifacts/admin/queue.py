"""The review queue: every proposal a person may see, what waits first, oldest first; before them,
what agents ask of people."""

from __future__ import annotations

import re
from typing import Any

from django.contrib import admin
from django.db.models import Case, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Left, Length
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.views.decorators.http import require_http_methods, require_safe

from artifacts.core.actors import actor_adapter
from artifacts.core.commands import change_adapter
from artifacts.models import Artifact, Proposal
from artifacts.surfaces.event_lines import change_line, who
from artifacts.surfaces.object_pages import WorkspaceAdmin, as_http, page_of
from artifacts.surfaces.review_sources import waiting_for

from .decision_page import decide_group, decide_proposal, whole_text
from .filters import KindFilter, ProposerFilter, StaleFilter, WorkspaceFilter
from .glimpse import data_start, glimpse

# Of a longer change a row says only what it is; its page shows all of it.
CHANGE_CHARS = 4_096
# The ids are for the script that follows the log.
STATUS = '<span class="artifactr-badge is-{0}" data-workspace="{1}" data-proposal="{2}">{0}</span>'
STALE = '<span class="artifactr-badge is-stale" title="made on version {}, now at {}">stale</span>'
decides = require_http_methods(["GET", "HEAD", "POST"])
TYPE = re.compile(r'"type":\s*"(\w+)"')


@admin.register(Proposal)
class ProposalAdmin(WorkspaceAdmin):
    """Rows lead to the decision page."""

    by_id = "proposal"
    read_action = "read_proposals"
    live_as = "queue"
    change_list_template = "artifactr/queue.html"
    reach_fields = {"artifact": "artifact_id", "thread": "thread_id"}
    list_display = ["what", "by", "age", "state", "origin"]
    list_display_links = ["what"]
    list_filter = ["status", StaleFilter, WorkspaceFilter, KindFilter, ProposerFilter]
    list_select_related = ["workspace"]
    search_fields = ["public_id", "artifact_id", "thread_id", "run_id", "group_id"]
    search_help_text = "Id of a proposal, artifact, thread, run or group"
    ordering = [
        Case(When(status=Proposal.Status.PENDING, then=0), default=1).asc(),
        Case(When(status=Proposal.Status.PENDING, then=F("pk")), default=F("pk") * Value(-1)).asc(),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Proposal]:
        head = Artifact.objects.filter(
            workspace=OuterRef("workspace"), public_id=OuterRef("artifact_id")
        )
        return (
            super()
            .get_queryset(request)
            .defer("change", "result")
            .annotate(
                head_version=Coalesce(Subquery(head.values("version")), 0),
                change_start=Left("change", CHANGE_CHARS),
                change_chars=Length("change"),
                data_start=data_start("workspace", "artifact_id"),
            )
        )

    def url_of(self, row: Any) -> str:
        return reverse("admin:artifactr_proposal_decide", args=[row.pk])

    def get_urls(self) -> list[URLPattern]:
        pages: list[tuple[str, Any, str]] = [
            ("<path:object_id>/decide/", decides(self.decide_view), "decide"),
            ("<path:object_id>/decide-group/", decides(self.decide_group_view), "decide_group"),
            ("<path:object_id>/whole/<str:side>/", require_safe(self.whole_view), "whole"),
        ]
        return [
            *(
                path(route, self.admin_site.admin_view(view), name=f"artifactr_proposal_{name}")
                for route, view, name in pages
            ),
            *super().get_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        shown = {"title": "Review queue", "waiting": waiting_for(request)}
        return super().changelist_view(request, {**shown, **(extra_context or {})})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return HttpResponseRedirect(self.url_of(self.row_or_404(request, object_id)))

    @as_http()
    def decide_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return decide_proposal(self, request, self.row_or_404(request, object_id))

    @as_http()
    def decide_group_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return decide_group(self, request, self.row_or_404(request, object_id))

    @as_http()
    def whole_view(self, request: HttpRequest, object_id: str, side: str) -> HttpResponse:
        return whole_text(request, self.row_or_404(request, object_id), side)

    @admin.display(description="change", ordering="artifact_id")
    def what(self, row: Any) -> SafeString:
        return format_html(
            '{} <span class="artifactr-badge">{}</span><span class="artifactr-under">{}</span>',
            glimpse(row.data_start or row.change_start) or row.artifact_id,
            row.kind,
            _line(row),
        )

    @admin.display(description="proposed by", ordering="proposer_key")
    def by(self, row: Any) -> str:
        return who(actor_adapter.validate_json(row.proposed_by))

    @admin.display(description="from", ordering="thread_id")
    def origin(self, row: Any) -> SafeString:
        parts = (_place(row, "thread", row.thread_id), _place(row, "run", row.run_id))
        places = format_html_join(" · ", "{}", ((each,) for each in parts if each))
        return format_html('{}<span class="artifactr-under">{}</span>', row.workspace.name, places)

    @admin.display(description="age", ordering="created_at")
    def age(self, row: Any) -> SafeString:
        return format_html(
            '<time datetime="{}" title="{}">{}</time>',
            row.created_at.isoformat(),
            row.created_at,
            timesince(row.created_at, depth=1),
        )

    @admin.display(description="status", ordering="status")
    def state(self, row: Any) -> SafeString:
        told = [format_html(STATUS, row.status, row.workspace.public_id, row.public_id)]
        if row.status == Proposal.Status.PENDING and row.head_version != row.base_version:
            told.append(format_html(STALE, row.base_version, row.head_version))
        if row.group_id is not None:
            url = reverse("admin:artifactr_proposal_decide_group", args=[row.pk])
            told.append(format_html('<a href="{}" title="{}">group</a>', url, row.group_id))
        return format_html_join(" ", "{}", ((each,) for each in told))


def _place(row: Any, model: str, public_id: str | None) -> SafeString | str:
    """Where a proposal was made, by a short link; by its id where there is nothing to open."""
    if public_id is None:
        return ""
    href = page_of(model, row.workspace.public_id, public_id)
    if href is None:
        return public_id
    return format_html('<a href="{}" title="{}">{}</a>', href, public_id, model)


def _line(row: Any) -> str:
    if row.change_chars <= CHANGE_CHARS:
        return change_line(change_adapter.validate_json(row.change_start))
    found = TYPE.search(row.change_start)
    name = found.group(1).replace("_", " ") if found else "change"
    return f"{name} ({row.change_chars:,} characters)"
