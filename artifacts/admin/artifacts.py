"""Artifacts to read: what is in force, every version, and the difference between any two."""

from __future__ import annotations

import re
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from artifacts.core.actors import actor_adapter
from artifacts.core.patches import summarize_patch
from artifacts.models import Artifact, Proposal
from artifacts.selectors import StoredRevision
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.data_view import data_view
from artifacts.surfaces.event_lines import who
from artifacts.surfaces.object_pages import WorkspaceAdmin, page_of
from artifacts.workspace import Workspace

from .displays import change_display
from .filters import KindFilter, WorkspaceFilter
from .glimpse import data_start, glimpse

# Versions told on one page.
SHOWN = 50


@admin.register(Artifact)
class ArtifactAdmin(WorkspaceAdmin):
    by_id = "artifact"
    read_action = "read_artifacts"
    reach_fields = {"artifact": "public_id"}
    page_template = "artifactr/artifact.html"
    list_display = ["what", "kind", "version", "state", "by", "updated_at", "workspace"]
    list_display_links = ["what"]
    list_filter = [WorkspaceFilter, KindFilter, "archived"]
    list_select_related = ["workspace"]
    search_fields = ["public_id", "collection", "entity", "key"]
    search_help_text = "Id, collection, entity or key"
    ordering = ["-updated_at", "-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Artifact]:
        rows: QuerySet[Artifact] = super().get_queryset(request)
        return rows.annotate(data_start=data_start("workspace", "public_id"))

    @admin.display(description="artifact", ordering="public_id")
    def what(self, row: Any) -> SafeString:
        return format_html(
            '<strong>{}</strong> <span class="artifactr-quiet">{}</span>',
            glimpse(row.data_start) or "/".join(_address(row)) or "untitled",
            row.public_id,
        )

    @admin.display(description="state", ordering="archived")
    def state(self, row: Any) -> str:
        badge = '<span class="artifactr-badge">{}</span>'
        return format_html(badge, "archived") if row.archived else ""

    @admin.display(description="last written by")
    def by(self, row: Any) -> str:
        return who(actor_adapter.validate_json(row.updated_by))

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        workspace = reach_of(request).open(row.workspace.public_id)
        shown = workspace.revision(row.public_id, _number(request, "version") or row.version)
        before = _number(request, "before") or row.version + 1
        versions = _versions(workspace, row, before=before)
        old = _number(request, "from") or max(shown.version - 1, 1)
        new = _number(request, "to") or shown.version
        is_compared = "from" in request.GET
        return {
            "title": glimpse(row.data_start) or row.public_id,
            "address": _address(row),
            "by": who(shown.actor),
            "shown": shown,
            "node": data_view(shown.data),
            "versions": versions,
            "earlier": versions[-1]["number"] if versions[-1]["number"] > 1 else None,
            "old": old,
            "new": new,
            "compared": change_display(
                row.kind,
                workspace.revision(row.public_id, old).data,
                workspace.revision(row.public_id, new).data,
            )
            if is_compared
            else None,
            "proposals_url": reverse("admin:artifactr_proposal_changelist") + f"?q={row.public_id}",
            "pending": Proposal.objects.filter(
                workspace=row.workspace_id, artifact_id=row.public_id, status="pending"
            ).count(),
        }


def _address(row: Artifact) -> list[str]:
    return [part for part in (row.collection, row.entity, row.key) if part]


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    if not text:
        return None
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise Http404
    return int(text)


def _versions(workspace: Workspace, row: Artifact, *, before: int) -> list[dict[str, Any]]:
    """A page of versions, newest first."""
    last = min(before - 1, row.version)
    found = workspace.revisions(row.public_id, after=max(last - SHOWN, 0), limit=SHOWN)
    told = [_told(workspace.id, each) for each in found if each.version <= last]
    if not told:
        raise Http404
    return told[::-1]


def _told(workspace_id: str, revision: StoredRevision) -> dict[str, Any]:
    if revision.archived:
        line = "archived"
    else:
        line = summarize_patch(revision.patch) if revision.patch else "created"
    return {
        "number": revision.version,
        "by": who(revision.actor),
        "at": revision.at,
        "line": line,
        "edited": revision.edited,
        "proposal_id": revision.proposal_id,
        "proposal_url": page_of("proposal", workspace_id, revision.proposal_id),
        "change_set_url": page_of("changeset", workspace_id, revision.change_set_id),
    }
