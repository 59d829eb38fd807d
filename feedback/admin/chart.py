"""How many signals came on each of the last days: bars that are drawn here, for a page that runs no
script of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.formats import date_format

from artifacts import clock

DAYS = 30
# A count of more would read too much for a glance.
NEWEST = 5_000
BAR, GAP, HEIGHT = 14, 4, 60


@dataclass(frozen=True, slots=True)
class Bar:
    """One day. `x`, `y`, `width`, `height` are of the drawing; `label` says it in words."""

    x: int
    y: int
    width: int
    height: int
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The drawing, and how it is told to those who do not see it."""

    bars: list[Bar]
    width: int
    height: int
    first: str
    last: str
    most: int
    total: int
    is_partial: bool

    @property
    def summary(self) -> str:
        which = f"{self.total:,} of the newest {NEWEST:,}" if self.is_partial else f"{self.total:,}"
        return f"{which} signals in the last {DAYS} days, at most {self.most:,} a day"


def chart_of(rows: QuerySet[Any]) -> Chart:
    """The days of a list of signals; one statement, bounded whatever the list."""
    newest = rows.order_by("-pk").values("pk")[:NEWEST]
    today = timezone.localtime(clock.now()).date()
    first = today - timedelta(days=DAYS - 1)
    counted = (
        rows.model._default_manager.filter(pk__in=newest)
        .annotate(day=TruncDate("at"))
        .values_list("day", "type")
        .annotate(number=Count("pk"))
        .order_by("day", "type")
    )
    by_day: dict[date, Counter[str]] = {}
    looked_at = 0
    for day, kind, number in counted:
        looked_at += number
        if day >= first:
            by_day.setdefault(day, Counter())[kind or "other"] += number
    days = [first + timedelta(days=number) for number in range(DAYS)]
    return _drawn([(day, by_day.get(day, Counter())) for day in days], looked_at >= NEWEST)


def _drawn(days: list[tuple[date, Counter[str]]], is_partial: bool) -> Chart:
    totals = [kinds.total() for _, kinds in days]
    most = max(totals)
    bars = []
    for place, ((day, kinds), total) in enumerate(zip(days, totals, strict=True)):
        # Whatever there is, is seen.
        height = max(2, round(HEIGHT * total / most)) if total else 0
        label = f"{_day(day)}: {total}{_parts(kinds.items())}"
        bars.append(Bar(place * (BAR + GAP), HEIGHT - height, BAR, height, label))
    return Chart(
        bars=bars,
        width=len(days) * (BAR + GAP) - GAP,
        height=HEIGHT,
        first=_day(days[0][0]),
        last=_day(days[-1][0]),
        most=most,
        total=sum(totals),
        is_partial=is_partial,
    )


def _parts(kinds: Iterable[tuple[str, int]]) -> str:
    parts = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in sorted(kinds))
    return f" ({parts})" if parts else ""


def _day(day: date) -> str:
    return date_format(day, "j M")
