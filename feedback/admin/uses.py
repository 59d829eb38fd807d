"""Uses at the desk: what was rendered on which values, what came of it; and a recipe to look at."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods

from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.object_pages import WorkspaceAdmin, as_http, page_of
from feedback import selectors
from feedback.models import ArtifactUse
from feedback.services import uses
from learning.core.errors import ArtifactNotFound

from .filters import ExpiredFilter, UseRecipeFilter
from .heads import heads_now
from .places import WorkspaceFilter
from .preview import Preview

SIGNALS = 50


@admin.register(ArtifactUse)
class ArtifactUseAdmin(WorkspaceAdmin):
    by_id = "use"
    read_action = "read_uses"
    page_template = "artifactr_feedback/use.html"
    list_display = ["what", "recipe", "state", "created_at", "workspace"]
    list_display_links = ["what"]
    list_filter = [WorkspaceFilter, UseRecipeFilter, ExpiredFilter]
    list_select_related = ["workspace"]
    search_fields = ["=public_id", "=render_sha256", "=snapshot_id", "=target__heads__record_id"]
    search_help_text = "Id, render hash, or the record of a snapshot or of a value it ran on"
    ordering = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ArtifactUse]:
        rows: QuerySet[ArtifactUse] = super().get_queryset(request)
        return rows.select_related("target", "workspace__tenant")

    def get_urls(self) -> list[URLPattern]:
        view = require_http_methods(["GET", "HEAD", "POST"])(self.preview_view)
        preview = path(
            "preview/<str:workspace_id>/<str:name>/",
            self.admin_site.admin_view(view),
            name="artifactr_recipe_preview",
        )
        return [preview, *super().get_urls()]

    @admin.display(description="use", ordering="public_id")
    def what(self, row: Any) -> SafeString:
        return format_html("<code>{}</code>", row.public_id)

    @admin.display(description="artifact", ordering="recipe_name")
    def recipe(self, row: Any) -> str:
        return f"{row.recipe_name}@{row.recipe_version}"

    @admin.display(description="state")
    def state(self, row: Any) -> SafeString:
        told = [("", "snapshot")] if row.snapshot_id else []
        told += [(" is-stale", "truncated")] if row.truncated else []
        told += [(" is-stale", "expired")] if selectors.is_over(selectors.ends_at(row)) else []
        return format_html_join(" ", '<span class="artifactr-badge{}">{}</span>', told)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        place, info = row.workspace, selectors.use_info(row)
        workspace = reach_of(request).open(place.public_id)
        found = uses.signals(workspace, row.public_id, limit=SIGNALS + 1)
        return {
            "title": f"{row.recipe_name}@{row.recipe_version}",
            "use": info,
            "heads": heads_now(place, info.learning_target, workspace.hidden),
            "snapshot_url": page_of("record", place.public_id, row.snapshot_id),
            "signals": [
                {"row": each, "url": page_of("signal", place.public_id, each.id)}
                for each in found[:SIGNALS]
            ],
            "has_more": len(found) > SIGNALS,
        }

    @as_http()
    def preview_view(self, request: HttpRequest, workspace_id: str, name: str) -> HttpResponse:
        """Render the recipe in force with parameters of the reader's; nothing is kept of it.

        They are posted, so that no log of addresses holds them.
        """
        if not self.has_view_permission(request):
            raise Http404
        workspace = reach_of(request).open(workspace_id)
        workspace.require("read_records", name)
        try:
            preview = Preview(workspace, name, request.POST if request.method == "POST" else None)
        except ArtifactNotFound:
            raise Http404 from None
        return self.page(
            request,
            preview.recipe,
            "artifactr_feedback/preview.html",
            status=preview.status,
            title=f"Preview of {preview.recipe.ref}",
            preview=preview,
            workspace_id=workspace_id,
        )
