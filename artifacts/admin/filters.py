"""Filters of the lists; their choices come from rows the reader may see and name no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import F, Min, QuerySet
from django.http import HttpRequest

from artifacts.core.actors import actor_adapter, display_name
from artifacts.core.events import EVENT_TYPES
from artifacts.surfaces.admin_reach import reach_of

CHOICES = 50


class WorkspaceFilter(SimpleListFilter):
    """By workspace, for those who have several."""

    title = "workspace"
    parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        found = reach_of(request).workspaces[:CHOICES]
        return [(row.public_id, row.name) for row in found]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(workspace__public_id=value)


class ColumnFilter(SimpleListFilter):
    """By the values that a column has."""

    column = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        rows = model_admin.get_queryset(request).order_by(self.column)
        found = rows.values_list(self.column, flat=True).distinct()[:CHOICES]
        return [(value, value) for value in found if value]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(**{self.column: value})


class KindFilter(ColumnFilter):
    title = parameter_name = column = "kind"


class ProposerFilter(ColumnFilter):
    title = "proposer"
    parameter_name = column = "proposer_key"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Each participant under a name it has used, told apart by id where names are equal."""
        rows = model_admin.get_queryset(request).order_by(self.column)
        found = rows.values_list(self.column).annotate(named=Min("proposed_by"))[:CHOICES]
        named = [
            (key, display_name(actor_adapter.validate_json(actor)), *key.partition(":")[::2])
            for key, actor in found
        ]
        often = Counter((name, kind) for _, name, kind, _ in named)
        return [
            (key, f"{name} ({kind})" if often[name, kind] == 1 else f"{name} ({kind} {id})")
            for key, name, kind, id in named
        ]


class StaleFilter(SimpleListFilter):
    """By whether the artifact has moved on since a pending proposal was made."""

    title = "base"
    parameter_name = "stale"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "on the current version"), ("yes", "stale")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        pending = queryset.filter(status="pending")
        match self.value():
            case "yes":
                return pending.exclude(head_version=F("base_version"))
            case "no":
                return pending.filter(head_version=F("base_version"))
        return queryset


class EventTypeFilter(SimpleListFilter):
    """By type of event; asking the log which types it has would read all of it."""

    title = parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name.replace("_", " ")) for name in sorted(EVENT_TYPES)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(type=value)


class ActorFilter(SimpleListFilter):
    """By what sort of participant did it."""

    title = "actor"
    parameter_name = "actor"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("user", "people"),
            ("agent", "agents of threads"),
            ("external_agent", "external agents"),
            ("system", "system"),
            ("evaluator", "evaluators"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(actor_key__startswith=f"{value}:")


class ThreadFilter(SimpleListFilter):
    """By a thread's id, typed or pasted: there are too many to list."""

    title = "thread"
    parameter_name = "thread_id"
    template = "artifactr/seek_filter.html"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("", "")]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """The one field, and the other filters it must keep."""
        kept = {name: v for name, v in changelist.params.items() if name != self.parameter_name}
        yield {"value": self.value() or "", "name": self.parameter_name, "kept": kept}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(thread_id=value) if value else queryset
