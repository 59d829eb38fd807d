"""Runs: what an agent's turn came to, answers to what a paused one asks, and stopping one."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from artifacts.core.commands import AnswerDeferred, StopRun
from artifacts.core.outcomes import Recorded
from artifacts.core.state import Run
from artifacts.surfaces.openapi import IDEMPOTENCY_KEY, operation
from artifacts.surfaces.pagination import page
from artifacts.surfaces.rest import WorkspaceView, query_of, read_in, said
from threads import selectors
from threads.api import schemas


class RunListView(WorkspaceView):
    @operation("list_runs", query=schemas.RunQuery, ok={200: schemas.RunPage})
    def get(self, request: Request, workspace_id: str) -> Response:
        """List runs."""
        query = query_of(schemas.RunQuery, request)
        found = selectors.runs(
            self.workspace,
            thread_id=query.thread_id,
            active=query.active,
            after=query.after,
            limit=query.size + 1,
        )
        return Response(page(request, found, size=query.size, cursor=lambda each: each.id))


class RunView(WorkspaceView):
    @operation("get_run", ok={200: Run})
    def get(self, request: Request, workspace_id: str, run_id: str) -> Response:
        """Read a run."""
        return Response(selectors.run(self.workspace, run_id).wire())


class AnswerView(WorkspaceView):
    @operation(
        "answer_deferred",
        body=schemas.AnswerDeferredBody,
        ok={201: Recorded},
        parameters=(IDEMPOTENCY_KEY,),
    )
    def post(self, request: Request, workspace_id: str, run_id: str) -> Response:
        """Answer a question, or approve or refuse a tool."""
        return said(self.commit(read_in(AnswerDeferred, request, run_id=run_id)), status=201)


class StopView(WorkspaceView):
    @operation(
        "stop_run", body=schemas.StopRunBody, ok={202: Recorded}, parameters=(IDEMPOTENCY_KEY,)
    )
    def post(self, request: Request, workspace_id: str, run_id: str) -> Response:
        """Ask a run to stop; the log tells when it has."""
        return said(self.commit(read_in(StopRun, request, run_id=run_id)), status=202)
