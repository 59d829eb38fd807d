"""The log of a workspace, as it is stored: nothing is parsed on the way out."""

from __future__ import annotations

from django.http import HttpResponse
from pydantic_core import from_json, to_json
from rest_framework.request import Request

from ..core.errors import ValidationFailed
from ..surfaces.openapi import operation
from ..surfaces.pagination import next_url, page_size
from ..surfaces.rest import WorkspaceView, query_of
from .schemas import EventPage, EventQuery


class EventListView(WorkspaceView):
    @operation("list_events", query=EventQuery, ok={200: EventPage})
    def get(self, request: Request, workspace_id: str) -> HttpResponse:
        """Read a window of the log, oldest first."""
        query = query_of(EventQuery, request)
        if query.limit is not None and query.last is not None:
            raise ValidationFailed.at(["query", "last"], "does not go with limit")
        size = page_size(query.limit) if query.last is None else page_size(query.last, field="last")
        texts = self.workspace.read_text(
            after_seq=query.after_seq,
            before_seq=query.before_seq,
            threads=frozenset(query.thread_id) or None,
            limit=None if query.last else size + 1,
            last=size if query.last else None,
        )
        following = None
        if len(texts) > size:
            texts = texts[:size]
            following = next_url(request, from_json(texts[-1])["seq"], name="after_seq")
        body = b'{"results":[%b],"next":%b}' % (",".join(texts).encode(), to_json(following))
        return HttpResponse(body, content_type="application/json")
