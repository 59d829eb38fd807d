"""Commands as they are on the socket too: one frame in, its result out; and whole batches."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from ..core.errors import ValidationFailed
from ..core.outcomes import AnyOutcome
from ..core.values import is_id
from ..surfaces.commands import carry_out, result_of
from ..surfaces.openapi import IDEMPOTENCY_KEY, operation
from ..surfaces.problems import headers_of, status_of
from ..surfaces.rest import WorkspaceView, body_sha256, idempotency_key, read_in
from .schemas import BatchResult, CommandBatch, RestCommand, RestCommandResult


class CommandsView(WorkspaceView):
    """Any command. What becomes of it is told as a `command_result`, with the status that fits."""

    @operation(
        "send_command",
        body=RestCommand,
        ok=dict.fromkeys((200, 400, 403, 404, 409, 422, 503), RestCommandResult),
        parameters=(IDEMPOTENCY_KEY,),
    )
    def post(self, request: Request, workspace_id: str) -> Response:
        body, refusal = result_of(lambda: self._commit(request))
        if refusal is not None:
            return _result(request, body, status=status_of(refusal), headers=headers_of(refusal))
        return _result(request, body)

    def _commit(self, request: Request) -> AnyOutcome:
        frame = read_in(RestCommand, request)
        key = idempotency_key(request)
        return carry_out(
            self.workspace,
            frame.command,
            command_id=_command_id(key, frame.command_id),
            body_sha256=None if key is None else body_sha256(request),
        )


class BatchView(WorkspaceView):
    """Up to a hundred commands in one transaction; the first that fails is named by `index`."""

    @operation(
        "send_batch", body=CommandBatch, ok={200: BatchResult}, parameters=(IDEMPOTENCY_KEY,)
    )
    def post(self, request: Request, workspace_id: str) -> Response:
        batch = read_in(CommandBatch, request)
        key = idempotency_key(request)
        done = self.workspace.commit_all(
            batch.commands,
            command_id=_command_id(key, batch.command_id),
            body_sha256=None if key is None else body_sha256(request),
        )
        body = {
            "outcomes": [outcome.wire() for outcome in done.outcomes],
            "change_set_id": done.change_set_id,
            "last_seq": done.last_seq,
        }
        return Response({name: value for name, value in body.items() if value is not None})


def _command_id(key: str | None, sent: str | None) -> str | None:
    if key is not None and sent not in (None, key):
        raise ValidationFailed.at(["command_id"], "is another one than the Idempotency-Key")
    return key or sent


def _result(request: Request, body: dict[str, object], **more: Any) -> Response:
    """The frame, with the id that was sent; one that is no id is not said back."""
    sent = request.headers.get("Idempotency-Key")
    if sent is None and isinstance(request.data, dict):
        sent = request.data.get("command_id")
    named = {"command_id": sent} if is_id(sent) else {}
    return Response({"type": "command_result", **named, **body}, **more)
