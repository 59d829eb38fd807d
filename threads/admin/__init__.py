"""Threads and runs in the admin: to read, and to answer and stop what an agent is at."""

from django.forms import Media, Script

from artifacts.surfaces.live_pages import add_media
from artifacts.surfaces.review_sources import register_review_source

from .runs import RunAdmin
from .threads import ThreadAdmin
from .waiting import waiting_requests

__all__ = ["RunAdmin", "ThreadAdmin"]

# The socket is this app's, so the scripts that keep pages up to date are too.
DESK = Script("threads/desk.js", type="module")
add_media(Media(css={"all": ["threads/desk.css"]}, js=[DESK]))  # type: ignore[list-item]
register_review_source(waiting_requests)
