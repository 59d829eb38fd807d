"""The log as server-sent events, for clients without a WebSocket.

The same follower, the same auth and the same redaction as the socket. An event's id is its seq, so
a browser that reconnects resumes by itself, with the `Last-Event-ID` it sends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET
from pydantic import Field, ValidationError
from pydantic_core import to_json

from artifacts import conf
from artifacts.core.artifact import validation_failed
from artifacts.core.errors import ArtifactrError, ValidationFailed
from artifacts.core.values import Id, Value
from artifacts.pool import in_pool
from artifacts.surfaces.problems import CONTENT_TYPE, headers_of, problem, status_of
from threads.surfaces.claims import Claim, Credential, opened
from threads.surfaces.events import event_chunk
from threads.surfaces.hub import hub
from threads.surfaces.outbox import Outbox
from threads.surfaces.subscription import Greeting, Start, Subscription

RETRY_MS = 2_000
HEARTBEAT_SECONDS = 15.0
HEARTBEAT = ": still here\n\n"
BROKEN = 1011

Seq = Annotated[int, Field(ge=0)]


class StreamQuery(Value):
    """Where the stream begins, and the threads it follows."""

    after_seq: Seq = 0
    thread_id: tuple[Id, ...] | None = None


@require_GET
async def event_stream(request: HttpRequest, workspace_id: str) -> HttpResponseBase:
    """Replay what comes after a seq, then stay."""
    try:
        start = _start(request)
        claim = await in_pool(_opened, request, workspace_id)
        reader = Reader(claim, start)
        first = await anext(chunks := reader.chunks())
    except ArtifactrError as error:
        return _problem(error)
    return StreamingHttpResponse(
        _after(first, chunks),
        content_type="text/event-stream",
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


def _opened(request: HttpRequest, workspace_id: str) -> Claim:
    session = getattr(request, "session", None)
    credential = Credential(
        source=request,
        authorization=request.headers.get("Authorization"),
        user=getattr(request, "user", None),
        session_key=None if session is None else session.session_key,
    )
    return opened(credential, workspace_id)


def _problem(error: ArtifactrError) -> HttpResponse:
    status = HTTPStatus(status_of(error))
    body = problem(status, code=error.code, detail=error.message, **error.data)
    return HttpResponse(
        to_json(body), status=status, content_type=CONTENT_TYPE, headers=headers_of(error)
    )


async def _after(first: str, chunks: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for chunk in chunks:
        yield chunk


class Reader:
    """One open stream. It ends when access ends or its reader is too slow; the next one resumes."""

    def __init__(self, claim: Claim, start: Start) -> None:
        self.claim, self._start = claim, start
        self._outbox = Outbox()
        self._subscription = Subscription(
            hub(), claim, self._outbox, event_chunk, watches_runs=False
        )

    def keep(self, claim: Claim) -> None:
        self.claim = claim
        self._subscription.keep(claim)

    def end(self, code: int) -> None:
        self._outbox.close(code)

    async def chunks(self) -> AsyncIterator[str]:
        async with hub().connected(self):
            following = asyncio.create_task(self._follow())
            try:
                yield f"retry: {RETRY_MS}\n\n"
                while (chunk := await self._next()) is not None:
                    yield chunk
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)

    async def _next(self) -> str | None:
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                return await self._outbox.get()
        except TimeoutError:
            return HEARTBEAT

    async def _follow(self) -> None:
        try:
            await self._subscription.run(self._start, greet=self._greet, arrived=self._arrived)
        finally:
            self._outbox.close(BROKEN)

    def _greet(self, greeting: Greeting) -> None:
        if greeting.reset:
            self._outbox.offer("event: reset\ndata: {}\n\n")

    def _arrived(self, seq: int) -> None:
        self._outbox.offer(f'event: replay_complete\ndata: {{"up_to_seq":{seq}}}\n\n')
