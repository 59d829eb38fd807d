"""What a page of the admin tells the script that keeps it up to date: where it stands in the log.

The scripts are a higher app's, which has the socket; without one, pages stay as they were loaded.
The seq is read before what the page shows, so whatever happens in between is told again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import F
from django.forms import Media
from django.http import HttpRequest
from pydantic_core import to_json

from .admin_reach import reach_of

# Logs that one list follows: a person has only so many sockets, and other pages open.
FOLLOWED = 5

_added: list[Media] = []


def add_media(media: Media) -> None:
    """Have every page of a workspace's rows load a higher app's scripts and styles."""
    _added.append(media)


def added_media() -> Media:
    return sum(_added, Media())


def live_list(request: HttpRequest, page: str) -> str:
    """For a list over workspaces: those it may show, the ones last written to first."""
    found = reach_of(request).workspaces
    if chosen := request.GET.get("workspace"):
        found = found.filter(public_id=chosen)
    latest = found.order_by(F("last_event_at").desc(nulls_last=True), "pk")
    places = list(latest.values_list("public_id", "head_seq")[: FOLLOWED + 1])
    return live_page(page, places[:FOLLOWED], is_partial=len(places) > FOLLOWED)


def live_page(page: str, places: Iterable[tuple[str, int]], **shown: Any) -> str:
    """The JSON that the script of this page reads."""
    return to_json({"page": page, "places": dict(places), **shown}).decode()
