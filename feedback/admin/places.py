"""The filter that all lists here have."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest

from artifacts.surfaces.admin_reach import reach_of

CHOICES = 50


class WorkspaceFilter(SimpleListFilter):
    """By workspace, for those who have several."""

    title = parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        found = reach_of(request).workspaces[:CHOICES]
        return [(row.public_id, row.name) for row in found]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(workspace__public_id=value)
