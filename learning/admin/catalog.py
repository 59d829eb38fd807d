"""Definitions to read: which version is in force, its hash, and what another version says."""

from __future__ import annotations

import re
from typing import Any

import yaml
from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from pydantic_core import from_json

from artifacts.core.actors import actor_adapter
from artifacts.surfaces.diffs import text_diff
from artifacts.surfaces.event_lines import who
from artifacts.surfaces.object_pages import WorkspaceAdmin
from learning.models import ActiveDefinition, Definition

HASH_SHOWN = 12


class InForceFilter(admin.SimpleListFilter):
    """By whether a version is the one in force."""

    title = parameter_name = "active"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "in force"), ("no", "not in force")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(is_active=value == "yes")


@admin.register(Definition)
class DefinitionAdmin(WorkspaceAdmin):
    read_action = "read_catalog"
    page_template = "artifactr_learning/definition.html"
    list_display = ["what", "type", "version", "is_in_force", "hash", "at", "workspace"]
    list_display_links = ["what"]
    list_filter = ["type", InForceFilter]
    list_select_related = ["workspace"]
    search_fields = ["name", "sha256"]
    search_help_text = "Name or hash"
    ordering = ["type", "name", "-version"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Definition]:
        rows: QuerySet[Definition] = super().get_queryset(request)
        in_force = Exists(ActiveDefinition.objects.filter(definition=OuterRef("pk")))
        return rows.annotate(is_active=in_force)

    @admin.display(description="definition", ordering="name")
    def what(self, row: Any) -> SafeString:
        return format_html("<strong>{}</strong>", row.name)

    @admin.display(description="in force", boolean=True)
    def is_in_force(self, row: Any) -> bool:
        return bool(row.is_active)

    @admin.display(description="hash", ordering="sha256")
    def hash(self, row: Any) -> SafeString:
        return format_html('<code title="{}">{}</code>', row.sha256, row.sha256[:HASH_SHOWN])

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        versions = list(
            self.get_queryset(request)
            .filter(workspace=row.workspace_id, type=row.type, name=row.name)
            .defer("body")
            .order_by("-version")
        )
        other = _number(request)
        return {
            "title": f"{row.type} {row.name}@{row.version}",
            "text": _as_text(row.body),
            "by": who(actor_adapter.validate_json(row.actor)),
            "versions": [
                {"row": each, "url": self.url_of(each), "is_shown": each.pk == row.pk}
                for each in versions
            ],
            "other": other,
            "compared": self._compared(request, row, other) if other else None,
        }

    def _compared(self, request: HttpRequest, row: Any, other: int) -> Any:
        older = self.get_queryset(request).filter(
            workspace=row.workspace_id, type=row.type, name=row.name, version=other
        ).first()  # fmt: skip
        if older is None:
            raise Http404
        return text_diff(_as_text(older.body), _as_text(row.body))


class _Written(yaml.SafeDumper):
    """Texts of several lines stand as they read."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = "|" if "\n" in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Written.add_representer(str, _Written.represent_str)


def _as_text(body: str) -> str:
    """A definition as one would write it."""
    text: str = yaml.dump(
        from_json(body), Dumper=_Written, sort_keys=True, allow_unicode=True, width=100
    )
    return text


def _number(request: HttpRequest) -> int | None:
    text = request.GET.get("from", "")
    if text and not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise Http404
    return int(text) if text else None
