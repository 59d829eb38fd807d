"""Uses: bind a recipe, read and list them, and say what came of one."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from artifacts.core.errors import NotFound
from artifacts.surfaces.openapi import IDEMPOTENCY_KEY, operation
from artifacts.surfaces.pagination import page
from artifacts.surfaces.rest import WorkspaceView, idempotency_key, query_of, read_in
from feedback.services import signals, uses
from feedback.services.signals import Submission, Submitted
from feedback.services.uses import UseInfo
from learning.core.errors import ArtifactNotFound, RequestSchema
from learning.services.records import as_request_schema
from learning.services.render import render_artifact

from . import schemas


class LearningView(WorkspaceView):
    """A view whose ids are refused in the words of this half's clients."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        try:
            super().initial(request, *args, **kwargs)
        except NotFound as absent:
            if absent.entity == "use":
                raise RequestSchema.at(["use_id"], "must be use_ and 32 hex digits") from None
            if absent.entity == "name":
                raise ArtifactNotFound from None
            raise


class BindView(LearningView):
    @operation(
        "bind_artifact",
        body=schemas.BindBody,
        ok={201: schemas.Bound},
        parameters=(IDEMPOTENCY_KEY,),
        errors=(409, 410),
    )
    def post(self, request: Request, workspace_id: str, name: str) -> Response:
        """Render a recipe and bind that render as a use; a repeated key gives the first use."""
        self.workspace.require("bind", name)
        with as_request_schema():
            key = idempotency_key(request)
            body = read_in(schemas.BindBody, request)
        bound = uses.bind(
            self.workspace, name, body.parameters, snapshot=body.snapshot, idempotency_key=key
        )
        return Response(bound.wire(), status=201)


class RenderView(LearningView):
    @operation("render_artifact", body=schemas.RenderBody, ok={200: schemas.RenderAnswer})
    def post(self, request: Request, workspace_id: str, name: str) -> Response:
        """Render a recipe for looking at: nothing is kept, and no use comes of it."""
        self.workspace.require("read_records", name)
        with as_request_schema():
            body = read_in(schemas.RenderBody, request)
        made = render_artifact(self.workspace, name, body.parameters)
        return Response(
            {
                "content": made.render.content,
                "render_sha256": made.render.render_sha256,
                "tokens": made.render.tokens,
                "truncated": made.render.truncated,
                "learning_target": made.learning_target,
                "manifest": made.render.manifest(),
            }
        )


class UseListView(LearningView):
    @operation("list_artifact_uses", query=schemas.UseQuery, ok={200: schemas.UsePage})
    def get(self, request: Request, workspace_id: str) -> Response:
        """List uses."""
        with as_request_schema():
            query = query_of(schemas.UseQuery, request)
            size = query.size
            name, version = query.name_and_version
            found = uses.uses(
                self.workspace,
                recipe=name,
                version=version,
                head=query.head,
                after=query.after,
                limit=size + 1,
            )
        return Response(page(request, found, size=size, cursor=lambda each: each.id))


class UseView(LearningView):
    @operation("get_artifact_use", ok={200: UseInfo})
    def get(self, request: Request, workspace_id: str, use_id: str) -> Response:
        """Read a use: what was rendered, on what, and until when it takes feedback."""
        return Response(uses.use(self.workspace, use_id).wire())


class UseSignalListView(LearningView):
    @operation("list_use_signals", query=schemas.PageQuery, ok={200: schemas.SignalPage})
    def get(self, request: Request, workspace_id: str, use_id: str) -> Response:
        """List the learning signals that were given on a use."""
        with as_request_schema():
            query = query_of(schemas.PageQuery, request)
            size = query.size
            found = uses.signals(self.workspace, use_id, after=query.after, limit=size + 1)
        return Response(page(request, found, size=size, cursor=lambda each: each.id))


class UseFeedbackView(LearningView):
    @operation(
        "give_use_feedback",
        body=Submission,
        ok={200: Submitted, 201: Submitted},
        errors=(410,),
    )
    def post(self, request: Request, workspace_id: str, use_id: str) -> Response:
        """Say what came of a use; 200 where the same was said before under its dedupe key."""
        use = signals.open_use(self.workspace, use_id)
        with as_request_schema():
            submission = read_in(Submission, request)
        submitted = signals.submit_on(self.workspace, use, submission)
        return Response(submitted.wire(), status=200 if submitted.duplicate else 201)
