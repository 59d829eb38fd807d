"""Threads and what is said in them. Writes are sugar over the commands."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from artifacts.core.commands import CreateThread, PostMessage, SetFocus, SetThreadMode
from artifacts.core.outcomes import Recorded
from artifacts.core.state import Thread
from artifacts.surfaces.openapi import IDEMPOTENCY_KEY, operation
from artifacts.surfaces.pagination import PageQuery, page
from artifacts.surfaces.rest import WorkspaceView, query_of, read_in, said
from threads import selectors
from threads.api import schemas


class ThreadListView(WorkspaceView):
    @operation("list_threads", query=PageQuery, ok={200: schemas.ThreadPage})
    def get(self, request: Request, workspace_id: str) -> Response:
        """List threads."""
        query = query_of(PageQuery, request)
        found = selectors.threads(self.workspace, after=query.after, limit=query.size + 1)
        return Response(page(request, found, size=query.size, cursor=lambda each: each.id))

    @operation(
        "create_thread",
        body=schemas.CreateThreadBody,
        ok={201: schemas.ThreadCreatedAnswer},
        parameters=(IDEMPOTENCY_KEY,),
    )
    def post(self, request: Request, workspace_id: str) -> Response:
        """Open a thread."""
        outcome = self.commit(read_in(CreateThread, request))
        return said(outcome, status=201, members=self.logged(outcome, "thread_id"))


class ThreadView(WorkspaceView):
    @operation("get_thread", ok={200: Thread})
    def get(self, request: Request, workspace_id: str, thread_id: str) -> Response:
        """Read a thread."""
        return Response(selectors.thread(self.workspace, thread_id).wire())


class MessageListView(WorkspaceView):
    @operation("list_messages", query=schemas.MessageQuery, ok={200: schemas.MessagePage})
    def get(self, request: Request, workspace_id: str, thread_id: str) -> Response:
        """List what was said, as envelopes of the log."""
        query = query_of(schemas.MessageQuery, request)
        found = selectors.messages(
            self.workspace, thread_id, after_seq=query.after or 0, limit=query.size + 1
        )
        return Response(page(request, found, size=query.size, cursor=lambda each: each.seq))

    @operation(
        "post_message",
        body=schemas.PostMessageBody,
        ok={201: schemas.MessagePostedAnswer},
        parameters=(IDEMPOTENCY_KEY,),
    )
    def post(self, request: Request, workspace_id: str, thread_id: str) -> Response:
        """Say something; a message that is no notice asks the thread's agent."""
        outcome = self.commit(read_in(PostMessage, request, thread_id=thread_id))
        return said(outcome, status=201, members=self.logged(outcome, "thread_id", "message_id"))


class FocusView(WorkspaceView):
    @operation(
        "set_focus", body=schemas.SetFocusBody, ok={200: Recorded}, parameters=(IDEMPOTENCY_KEY,)
    )
    def put(self, request: Request, workspace_id: str, thread_id: str) -> Response:
        """Name the artifacts the thread is about."""
        return said(self.commit(read_in(SetFocus, request, thread_id=thread_id)))


class ModeView(WorkspaceView):
    @operation(
        "set_thread_mode",
        body=schemas.SetThreadModeBody,
        ok={200: Recorded},
        parameters=(IDEMPOTENCY_KEY,),
    )
    def put(self, request: Request, workspace_id: str, thread_id: str) -> Response:
        """Say whether the thread's agent writes or suggests."""
        return said(self.commit(read_in(SetThreadMode, request, thread_id=thread_id)))
