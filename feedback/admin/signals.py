"""Learning signals at the desk: which came and when, what each is about, evidence made of it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from pydantic_core import from_json

from artifacts.core.errors import ArtifactrError, InvalidState, ValidationFailed
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.event_lines import who
from artifacts.surfaces.object_pages import WorkspaceAdmin, as_http, page_of
from artifacts.surfaces.problems import status_of
from artifacts.workspace import Workspace
from feedback.models import ArtifactUse
from feedback.services.routing import route_signal
from learning.models import LearningSignal, RecordLink
from learning.selectors.records import RecordInfo, find_record

from .bulk import evidence_collections, kind_in_words, route_many
from .chart import chart_of
from .filters import (
    KindFilter,
    LabelFilter,
    RecipeFilter,
    ScoreFilter,
    SourceFilter,
)
from .forms import RouteForm
from .heads import heads_now
from .places import WorkspaceFilter

SHOWN = 80
EVIDENCE = 50


@admin.register(LearningSignal)
class LearningSignalAdmin(WorkspaceAdmin):
    by_id = "signal"
    read_action = "read_records"
    page_template = "artifactr_feedback/signal.html"
    change_list_template = "artifactr_feedback/signals.html"
    list_display = ["what", "source", "score", "about", "moment", "workspace"]
    list_display_links = ["what"]
    list_filter = [
        WorkspaceFilter,
        KindFilter,
        SourceFilter,
        RecipeFilter,
        LabelFilter,
        ScoreFilter,
    ]
    list_select_related = ["workspace"]
    search_fields = ["=public_id", "=entity"]
    search_help_text = "Id, or the entity whose backlog it is on"
    ordering = ["-pk"]
    actions = ["route_selected"]

    def has_route_permission(self, request: HttpRequest) -> bool:
        return reach_of(request).may("route_signal")

    @admin.action(description="Route into evidence", permissions=["route"])
    def route_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        return route_many(self, request, queryset)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.route_view))
        route = path("<path:object_id>/route/", view, name="artifactr_signal_route")
        return [route, *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        shown = getattr(response, "context_data", None) or {}
        if "cl" in shown:
            shown["chart"] = chart_of(shown["cl"].queryset)
        return response

    @admin.display(description="signal", ordering="type")
    def what(self, row: Any) -> SafeString:
        if not row.salt:
            return format_html(
                '<span class="artifactr-badge">{}</span> {}', kind_in_words(row), "erased"
            )
        signal, evidence = _part(row, "signal"), _part(row, "evidence")
        said = next((text for text in evidence.values() if text), "")
        label = signal.get("label")
        return format_html(
            '<span class="artifactr-badge">{}</span>{} <span class="artifactr-under">{}</span>',
            kind_in_words(row),
            format_html(" {}", label) if label else "",
            f"{said[:SHOWN]}…" if len(said) > SHOWN else said,
        )

    @admin.display(description="source")
    def source(self, row: Any) -> str:
        return str(_part(row, "signal").get("source", "")).replace("_", " ")

    @admin.display(description="score")
    def score(self, row: Any) -> str:
        score = _part(row, "signal").get("score")
        return "" if score is None else f"{score:g}"

    @admin.display(description="at", ordering="seq")
    def moment(self, row: Any) -> SafeString:
        return format_html(
            '<time datetime="{}" title="{}">{}</time>',
            row.at.isoformat(),
            row.at,
            date_format(timezone.localtime(row.at), "j M H:i"),
        )

    @admin.display(description="about")
    def about(self, row: Any) -> SafeString:
        if not row.salt:
            return format_html("{}", "not known any more")
        use = _part(row, "artifact_use")
        target = use.get("learning_target")
        recipe = use.get("artifact")
        return format_html(
            '{}<span class="artifactr-under">{}</span>',
            target["entity"] if target else "no subject",
            f"{recipe['name']}@{recipe['version']}" if recipe else "",
        )

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return self._shown(request, row, self._form(request, row))

    @as_http()
    def route_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make evidence of a signal, or say on its page why that is refused."""
        row = self.row_or_404(request, object_id)
        workspace = reach_of(request).open(row.workspace.public_id)
        workspace.require("route_signal", row.public_id)
        form = self._form(request, row, request.POST)
        problem: ArtifactrError | None = None
        if form is None:
            problem = InvalidState("what this signal said was erased")
        elif form.is_valid() and form.route is not None:
            try:
                routed = route_signal(workspace, row.public_id, form.route)
            except ArtifactrError as refused:
                problem = refused
                if isinstance(refused, ValidationFailed):
                    form.refuse(refused)
            else:
                said = "was evidence already" if routed.duplicate else "is evidence now"
                messages.success(request, f"This signal {said}: {routed.record_id}")
                return HttpResponseRedirect(self.url_of(row))
        status = status_of(problem) if problem else 422
        context = self._shown(request, row, form)
        return self.page(
            request, row, self.page_template, status=status, problem=problem, **context
        )

    def _shown(self, request: HttpRequest, row: Any, form: RouteForm | None) -> dict[str, Any]:
        place, hidden = row.workspace, reach_of(request).hidden(row.workspace)
        record = find_record(row.workspace_id, row.public_id, hidden)
        use = record.content.get("artifact_use", {})
        kept = ArtifactUse.objects.filter(workspace=place, public_id=use.get("id")).exists()
        target = use.get("learning_target")
        links = RecordLink.objects.filter(source_id=row.pk).order_by("-pk")
        evidence = links.values_list("record__public_id", "record__collection", "record__entity")
        return {
            "title": record.text.split("\n", 1)[0][:SHOWN] or record.id,
            "record": record,
            "by": who(record.actor),
            "use": use,
            "use_url": page_of("use", place.public_id, use.get("id")) if kept else None,
            "target": target,
            "heads": heads_now(place, target, hidden),
            "snapshot_url": page_of("record", place.public_id, use.get("snapshot_id")),
            "signal": record.content.get("signal", {}),
            "said": _said(record),
            "refs": record.content.get("execution_refs", []),
            "record_url": page_of("record", place.public_id, record.id),
            "evidence": [
                {
                    "id": id,
                    "of": f"{collection}, {entity}",
                    "url": page_of("record", place.public_id, id),
                }
                for id, collection, entity in evidence[:EVIDENCE]
            ],
            "form": form,
            "route_url": reverse("admin:artifactr_signal_route", args=[row.pk]),
        }

    def _form(self, request: HttpRequest, row: Any, posted: Any = None) -> RouteForm | None:
        """The form for those who may route; None for the others, and for an erased signal."""
        workspace = reach_of(request).open(row.workspace.public_id)
        if not _may_route(workspace) or not row.salt:
            return None
        target = _part(row, "artifact_use").get("learning_target")
        initial = {"type": row.type, "entity": target["entity"] if target else "", "content": "{}"}
        return RouteForm(posted, collections=evidence_collections([workspace.pk]), initial=initial)


def _may_route(workspace: Workspace) -> bool:
    return workspace.access is None or workspace.access.allows("route_signal")


def _part(row: Any, name: str) -> dict[str, Any]:
    """A part of a signal's content; an erased one has none."""
    content = row.__dict__.setdefault("_content", from_json(row.content or "{}"))
    part: dict[str, Any] = content.get(name) or {}
    return part


def _said(record: RecordInfo) -> list[tuple[str, str]]:
    """The evidence under the names that its text gives it."""
    names = {"comment": "Comment", "expected": "Expected", "actual_excerpt": "What came"}
    evidence = record.content.get("evidence", {})
    return [(shown, evidence[name]) for name, shown in names.items() if name in evidence]
