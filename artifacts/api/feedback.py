"""Feedback on artifacts, threads, turns and messages: one command."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from ..core.commands import GiveFeedback
from ..core.outcomes import Recorded
from ..surfaces.openapi import IDEMPOTENCY_KEY, operation
from ..surfaces.rest import WorkspaceView, read_in, said
from .schemas import GiveFeedbackBody


class FeedbackView(WorkspaceView):
    @operation(
        "give_feedback", body=GiveFeedbackBody, ok={201: Recorded}, parameters=(IDEMPOTENCY_KEY,)
    )
    def post(self, request: Request, workspace_id: str) -> Response:
        """Judge something by a registered feedback type."""
        return said(self.commit(read_in(GiveFeedback, request)), status=201)
