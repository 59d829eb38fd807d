"""A stretch of the log as a conversation: what was said, and what happened in between."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.urls import reverse

from artifacts.core.actors import is_agent
from artifacts.core.events import Envelope, MessagePosted
from artifacts.core.visibility import visible_text
from artifacts.models import Event
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.event_lines import event_line, who
from artifacts.surfaces.object_pages import page_of

# Events told on one page.
SHOWN = 200


def told(request: HttpRequest, workspace: Any, events: QuerySet[Event]) -> dict[str, Any]:
    """The newest of these events in order, or those before `?before=`."""
    reach = reach_of(request)
    seen = reach.narrow(
        events,
        action="read_events",
        artifact="artifact_id",
        thread="thread_id",
        mentions="mentions",
    )
    if before := request.GET.get("before"):
        if not (before.isascii() and before.isdigit() and len(before) < 19):
            raise Http404
        seen = seen.filter(seq__lt=int(before))
    found = list(seen.defer("salt", "digest", "chain").order_by("-seq")[: SHOWN + 1])
    hidden = reach.hidden(workspace)
    texts = (
        (row, visible_text(row.text, named=row.mentions, event_type=row.type, hidden=hidden))
        for row in reversed(found[:SHOWN])
    )
    lines = [_line(row, text, workspace.public_id) for row, text in texts if text]
    return {"lines": lines, "earlier": found[SHOWN - 1].seq if len(found) > SHOWN else None}


def _line(row: Event, text: str, place: str) -> dict[str, Any]:
    envelope = Envelope.model_validate_json(text)
    event = envelope.event
    message = event if isinstance(event, MessagePosted) else None
    return {
        "seq": row.seq,
        "at": row.at,
        "type": row.type,
        "who": who(envelope.actor),
        "is_agent": is_agent(envelope.actor),
        "is_notice": message is not None and message.kind == "notice",
        "message": message.content if message else None,
        "line": event_line(event),
        "url": reverse("admin:artifactr_event_by_seq", args=[place, row.seq]),
        "proposal_url": page_of("proposal", place, getattr(event, "proposal_id", None)),
    }
