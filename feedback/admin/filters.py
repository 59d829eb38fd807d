"""What the lists of signals and uses are narrowed by. Choices come from what is declared, or from a
bounded look at the newest rows: a filter never reads a whole table."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, get_args

from django.contrib.admin import SimpleListFilter
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from artifacts import clock, conf
from artifacts.surfaces.admin_reach import reach_of
from feedback.core.signals import Kind, Source
from learning.models import ActiveDefinition, LearningSignal, RecordField

CHOICES = 50
NEWEST = 500
SCORES = {
    "low": ("below 0.25", Q(number__lt=0.25)),
    "fair": ("0.25 to 0.5", Q(number__gte=0.25, number__lt=0.5)),
    "good": ("0.5 to 0.75", Q(number__gte=0.5, number__lt=0.75)),
    "high": ("0.75 and more", Q(number__gte=0.75)),
}

Choices = list[tuple[str, str]]


class KindFilter(SimpleListFilter):
    """By what happened."""

    title = parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(kind, kind.replace("_", " ")) for kind in get_args(Kind)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(type=value)


class DeclaredFilter(SimpleListFilter):
    """By a declared field of the collection of signals."""

    field = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return (
            queryset if value is None else queryset.filter(Exists(fields(self.field, text=value)))
        )


class SourceFilter(DeclaredFilter):
    title = parameter_name = "source"
    field = "signal_source"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(source, source.replace("_", " ")) for source in get_args(Source)]


class LabelFilter(DeclaredFilter):
    """By label; offered are those of the newest signals that have one."""

    title = parameter_name = "label"
    field = "signal_label"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        rows = RecordField.objects.filter(collection=LearningSignal.COLLECTION, name=self.field)
        seen = reach_of(request).narrow(rows, action="read_records").order_by("-pk")
        labels = {text for text in seen.values_list("text", flat=True)[:NEWEST] if text}
        return [(label, label) for label in sorted(labels)[:CHOICES]]


class RecipeFilter(DeclaredFilter):
    """By the recipe that rendered."""

    title = "artifact"
    parameter_name = "target"
    field = "target_artifact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return recipes(request)


class ScoreFilter(SimpleListFilter):
    """By how high it was scored."""

    title = parameter_name = "score"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [*((name, shown) for name, (shown, _) in SCORES.items()), ("none", "no score")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value, scored = self.value(), fields("signal_score")
        if value == "none":
            return queryset.filter(~Exists(scored))
        if value in SCORES:
            return queryset.filter(Exists(scored.filter(SCORES[value][1])))
        return queryset


class UseRecipeFilter(SimpleListFilter):
    """By the recipe of a use."""

    title = parameter_name = "artifact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return recipes(request)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(recipe_name=value)


class ExpiredFilter(SimpleListFilter):
    """By whether a use still takes feedback."""

    title = parameter_name = "expired"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [("no", "takes feedback"), ("yes", "expired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        days, now = conf.settings().USE_RETENTION_DAYS, clock.now()
        is_over = Q(expires_at__isnull=False, expires_at__lte=now)
        if days is not None:
            is_over |= Q(created_at__lte=now - timedelta(days=days))
        match self.value():
            case "yes":
                return queryset.filter(is_over)
            case "no":
                return queryset.exclude(is_over)
        return queryset


def fields(name: str, **conditions: Any) -> QuerySet[RecordField]:
    """A declared field of the signal at hand."""
    return RecordField.objects.filter(record=OuterRef("pk"), name=name, **conditions)


def recipes(request: HttpRequest) -> Choices:
    """The names of recipes that are in force where the reader may look."""
    rows = ActiveDefinition.objects.filter(type="artifact").order_by("name")
    seen = reach_of(request).narrow(rows, action="read_catalog")
    names = seen.values_list("name", flat=True).distinct()[:CHOICES]
    return [(name, name) for name in names]
