"""Records to read: what they say, what they were derived from, what was derived from them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.data_view import data_view
from artifacts.surfaces.event_lines import who
from artifacts.surfaces.object_pages import WorkspaceAdmin, page_of
from learning.models import ActiveDefinition, Record
from learning.selectors.records import find_record

SHOWN = 80
CHOICES = 50
DERIVATIVES = 50


class CollectionFilter(admin.SimpleListFilter):
    """By the collections that are in force where the reader may look."""

    title = parameter_name = "collection"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in model_admin.collections(request)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(collection=value)


@admin.register(Record)
class RecordAdmin(WorkspaceAdmin):
    by_id = "record"
    read_action = "read_records"
    reach_fields = {"artifact": "artifact_id"}
    page_template = "artifactr_learning/record.html"
    list_display = ["what", "collection", "entity", "type", "seq", "at", "workspace"]
    list_display_links = ["what"]
    list_filter = [CollectionFilter]
    list_select_related = ["workspace", "revision"]
    search_fields = ["public_id", "entity", "=type", "=key"]
    search_help_text = "Id, entity, type or key"
    ordering = ["-pk"]
    show_full_result_count = False

    def collections(self, request: HttpRequest) -> list[str]:
        """Names to filter by; asking the records which they have would read all of them."""
        rows = ActiveDefinition.objects.filter(type="collection").order_by("name")
        seen = reach_of(request).narrow(rows, action="read_catalog")
        return list(seen.values_list("name", flat=True).distinct()[:CHOICES])

    @admin.display(description="record", ordering="public_id")
    def what(self, row: Any) -> SafeString:
        text = row.text or row.key or ""
        shown = f"{text[:SHOWN]}…" if len(text) > SHOWN else text
        if not row.salt or (row.revision is not None and not row.revision.salt):
            shown = f"{row.key} (erased)" if row.key else "erased"
        return format_html(
            '{}<span class="artifactr-under">{}</span>', shown or "no text", row.public_id
        )

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        place = row.workspace.public_id
        hidden = reach_of(request).hidden(row.workspace)
        record = find_record(row.workspace_id, row.public_id, hidden)
        derivatives = self.get_queryset(request).filter(sources__source=row).order_by("-pk")
        return {
            "title": record.text.split("\n", 1)[0][:SHOWN] or record.id,
            "record": record,
            "by": who(record.actor),
            "node": data_view(record.content),
            "fields": sorted(record.fields.items()),
            "artifact_url": page_of("artifact", place, record.artifact_id),
            "sources": [
                {"id": id, "url": page_of("record", place, id) if id.startswith("rec_") else None}
                for id in record.derived_from
            ],
            "derivatives": [
                {"id": each.public_id, "url": self.url_of(each)}
                for each in derivatives[:DERIVATIVES]
            ],
        }
