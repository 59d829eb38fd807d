"""What waits for people beside proposals: higher apps tell it, the review queue shows it.

A source is asked with the request of the queue's page and answers with what that reader may see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Something that goes on once a person has answered it at `url`."""

    id: str
    workspace_id: str
    kind: str
    line: str
    place: str
    since: datetime
    url: str


Source = Callable[[HttpRequest], Sequence[Waiting]]

_sources: list[Source] = []


def register_review_source(source: Source) -> None:
    """Have the queue show what this source tells."""
    _sources.append(source)


def waiting_for(request: HttpRequest) -> list[Waiting]:
    """What waits for the reader of this page, the oldest first."""
    found = [each for source in _sources for each in source(request)]
    return sorted(found, key=lambda each: each.since)
