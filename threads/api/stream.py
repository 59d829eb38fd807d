"""The log as server-sent events, for clients without a WebSocket.

The same follower, the same auth and the same redaction as the socket. An event's id is its seq, so
a browser that reconnects resumes by itself, with the `Last-Event-ID` it sends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from pydantic import Field, ValidationError
from pydantic_core import to_json
from rest_framework.request import Request
from rest_framework.response import Response

from artifacts import conf
from artifacts.core.artifact import validation_failed
from artifacts.core.errors import ArtifactrError, ValidationFailed
from artifacts.core.values import Id, Value
from artifacts.pool import in_pool
from artifacts.surfaces import problems
from artifacts.surfaces.openapi import described_by, operation
from artifacts.surfaces.problems import headers_of, problem, status_of
from artifacts.surfaces.rest import WorkspaceView
from threads.surfaces.admissions import Admission, Credential, connection_span, opened
from threads.surfaces.closing import BROKEN
from threads.surfaces.events import event_chunk
from threads.surfaces.hub import hub
from threads.surfaces.outbox import Outbox
from threads.surfaces.subscription import Greeting, Start, Subscription

CONTENT_TYPE = "text/event-stream"
RETRY_MS = 2_000
HEARTBEAT_SECONDS = 15.0
HEARTBEAT = ": still here\n\n"
MESSAGES = """\
Messages of the event stream format. One without an `event` is an envelope of the log, with its seq
as `id`. `reset`: forget what you have, everything comes again. `replay_complete`: what was missed
has been sent, up to `up_to_seq`; what follows is new."""
LAST_EVENT_ID = OpenApiParameter(
    "Last-Event-ID",
    {"type": "integer", "minimum": 0},
    OpenApiParameter.HEADER,
    description="The seq to resume after; a browser that reconnects sends it. It wins.",
)

Seq = Annotated[int, Field(ge=0)]


class StreamQuery(Value):
    """Where the stream begins, and the threads it follows."""

    after_seq: Seq = 0
    thread_id: tuple[Id, ...] | None = None


class EventStreamView(WorkspaceView):
    """What the schema says of the stream, which DRF itself cannot serve."""

    @operation(
        "stream_events",
        query=StreamQuery,
        ok={(200, CONTENT_TYPE): OpenApiResponse(OpenApiTypes.STR, MESSAGES)},
        parameters=(LAST_EVENT_ID,),
    )
    def get(self, request: Request, workspace_id: str) -> Response:
        """Follow the log as server-sent events: replay what comes after a seq, then stay."""
        raise NotImplementedError


@described_by(EventStreamView)
@csrf_exempt  # nothing is changed here, and no credential is a 401, whatever the method
async def event_stream(request: HttpRequest, workspace_id: str) -> HttpResponseBase:
    """Replay what comes after a seq, then stay."""
    try:
        admission = await in_pool(_opened, request, workspace_id)
        if request.method != "GET":
            return _not_allowed(request)
        start = _start(request)
        reader = Reader(admission, start)
        first = await anext(chunks := reader.chunks())
    except ArtifactrError as error:
        return _problem(error)
    return StreamingHttpResponse(
        _after(first, chunks),
        content_type=CONTENT_TYPE,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _start(request: HttpRequest) -> Start:
    values: dict[str, Any] = {}
    for name, given in request.GET.lists():
        values[name] = given if name == "thread_id" else given[-1]
    if last := request.headers.get("Last-Event-ID"):
        values["after_seq"] = last
    try:
        query = StreamQuery.model_validate(values)
    except ValidationError as error:
        raise validation_failed(error, "query") from None
    most = conf.settings().FOLLOWED_THREADS
    if query.thread_id is not None and len(query.thread_id) > most:
        raise ValidationFailed.at(["query", "thread_id"], f"names more than {most} threads")
    threads = None if query.thread_id is None else frozenset(query.thread_id)
    return Start(after_seq=query.after_seq, threads=threads)


def _opened(request: HttpRequest, workspace_id: str) -> Admission:
    session = getattr(request, "session", None)
    credential = Credential(
        source=request,
        authorization=request.headers.get("Authorization"),
        user=getattr(request, "user", None),
        session_key=None if session is None else session.session_key,
    )
    return opened(credential, workspace_id)


def _problem(error: ArtifactrError) -> HttpResponse:
    return _said(
        status_of(error), headers_of(error), code=error.code, detail=error.message, **error.data
    )


def _not_allowed(request: HttpRequest) -> HttpResponse:
    detail = f"Method {request.method!r} not allowed: a stream is read with GET."
    return _said(405, {"Allow": "GET"}, code="method_not_allowed", detail=detail)


def _said(status: int, headers: dict[str, str], **members: Any) -> HttpResponse:
    body = to_json(problem(status, **members))
    return HttpResponse(body, status=status, content_type=problems.CONTENT_TYPE, headers=headers)


async def _after(first: str, chunks: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for chunk in chunks:
        yield chunk


class Reader:
    """One open stream. It ends when access ends or its reader is too slow; the next one resumes."""

    def __init__(self, admission: Admission, start: Start) -> None:
        self.admission, self._start = admission, start
        self._outbox = Outbox()
        self._subscription = Subscription(
            hub(), admission, self._outbox, event_chunk, watches_runs=False
        )

    def keep(self, admission: Admission) -> None:
        self.admission = admission
        self._subscription.keep(admission)

    def end(self, code: int) -> None:
        self._outbox.close(code)

    async def chunks(self) -> AsyncIterator[str]:
        async with hub().connected(self):
            following = asyncio.create_task(self._follow())
            try:
                yield f"retry: {RETRY_MS}\n\n"
                while chunk := await self._next():
                    yield chunk
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)

    async def _next(self) -> str:
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                return "".join(await self._outbox.get())
        except TimeoutError:
            return HEARTBEAT

    async def _follow(self) -> None:
        with connection_span(self.admission, "sse"):
            try:
                await self._subscription.run(self._start, greet=self._greet, arrived=self._arrived)
            finally:
                self._outbox.close(BROKEN)

    def _greet(self, greeting: Greeting) -> None:
        if greeting.reset:
            self._outbox.offer("event: reset\ndata: {}\n\n")

    def _arrived(self, seq: int) -> None:
        self._outbox.offer(f'event: replay_complete\ndata: {{"up_to_seq":{seq}}}\n\n')
