"""What all REST views are made of, in every app: strict bodies, typed queries, problems, the door.

A view reads a command in and says its outcome; rejections are said by `problems`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from .. import conf
from ..core.artifact import validation_failed
from ..core.commands import AnyCommand, StopRun
from ..core.errors import NotFound, ValidationFailed
from ..core.json_input import parse_json
from ..core.outcomes import AnyOutcome, Applied, Proposed
from ..core.values import id_adapter, is_id
from ..workspace import Workspace
from .authentication import Principal, PrincipalAuthentication, open_for
from .commands import carry_out
from .problems import BodyTooLarge, PreconditionRequired, problem_response

M = TypeVar("M", bound=BaseModel)
ETAG = re.compile(r'"([1-9][0-9]{0,8})"')


class StrictJSONParser(BaseParser):
    """JSON as core takes it; a body over the limit is refused after so many bytes."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        limits = conf.limits()
        raw = stream.read(limits.body_bytes + 1)
        if len(raw) > limits.body_bytes:
            raise BodyTooLarge(f"body: is larger than {limits.body_bytes} bytes (body_bytes)")
        return parse_json(raw, limits=limits)


class WireRenderer(BaseRenderer):
    """JSON written by pydantic, the way the log's texts are."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        return b"" if data is None else to_json(data)


class ApiView(APIView):
    """A view that is the same in every host, whatever its REST_FRAMEWORK settings say."""

    authentication_classes = [PrincipalAuthentication]
    permission_classes = []
    parser_classes = [StrictJSONParser]
    renderer_classes = [WireRenderer]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # Before anything else is found wrong with the request: no credential, no answer.
        self.perform_authentication(request)
        super().initial(request, *args, **kwargs)

    def get_exception_handler(self) -> Callable[..., Any]:
        return problem_response

    @property
    def principal(self) -> Principal:
        return cast(Principal, self.request.auth)


class WorkspaceView(ApiView):
    """A view below `workspaces/{workspace_id}/`, with its door open for the caller."""

    workspace: Workspace

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.workspace = open_for(self.principal, kwargs["workspace_id"])
        for name, id in kwargs.items():
            if isinstance(id, str) and not is_id(id):
                raise NotFound(name.removesuffix("_id"), id)

    def commit(self, command: AnyCommand | StopRun) -> AnyOutcome:
        """Send a command through the door, under the caller's key if there is one."""
        key = idempotency_key(self.request)
        digest = None if key is None else body_sha256(self.request)
        return carry_out(self.workspace, command, command_id=key, body_sha256=digest)

    def logged(self, outcome: AnyOutcome, *names: str) -> dict[str, str]:
        """Ids from the event that came of a command.

        The command at hand may have others: under a repeated key it was made anew, and the first
        one stands.
        """
        assert outcome.seq is not None
        [envelope] = self.workspace.read(after_seq=outcome.seq - 1, limit=1)
        return {name: getattr(envelope.event, name) for name in names}


def idempotency_key(request: Request) -> str | None:
    """The command id that was sent as a header."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    try:
        return id_adapter.validate_python(key)
    except ValidationError as error:
        raise validation_failed(error, "Idempotency-Key") from None


def body_sha256(request: Request) -> str:
    """What a key stands for: the request it was first sent with, however its JSON was spaced."""
    sent = [request.method, request.path, request.headers.get("If-Match"), request.data]
    return hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()


def base_version(request: Request) -> int:
    """The version that `If-Match` names; required, and exactly one strong tag."""
    tag = request.headers.get("If-Match")
    if tag is None:
        raise PreconditionRequired
    match = ETAG.fullmatch(tag.strip())
    if match is None:
        raise ValidationFailed.at(["If-Match"], 'must be one version in quotes, such as "3"')
    return int(match.group(1))


def said(
    outcome: AnyOutcome,
    *,
    status: int = 200,
    proposed: int = 202,
    members: Mapping[str, str] | None = None,
) -> Response:
    """An outcome as a response; where a change was asked for and a proposal came of it, 202."""
    headers = {"ETag": f'"{outcome.version}"'} if isinstance(outcome, Applied) else None
    code = proposed if isinstance(outcome, Proposed) else status
    return Response({**outcome.wire(), **(members or {})}, status=code, headers=headers)


def body_of(request: Request) -> Mapping[str, Any]:
    """The JSON object that was sent."""
    if not isinstance(request.data, dict):
        raise ValidationFailed.at(["body"], "must be a JSON object", "dict_type")
    return request.data


def read_in(model: type[M], request: Request, **given: Any) -> M:
    """The model of the body and of what route and headers give, which no body may name."""
    body = body_of(request)
    if twice := sorted(set(body) & set(given)):
        raise ValidationFailed.at([twice[0]], "is not a member of this body", "extra_forbidden")
    try:
        return model.model_validate({**body, **given})
    except ValidationError as error:
        raise validation_failed(error) from None


def query_of(model: type[M], request: Request) -> M:
    """The query parameters; one that is not known, or given twice, is refused."""
    values: dict[str, Any] = {}
    for name, given in request.query_params.lists():
        values[name] = given if len(given) > 1 or _is_many(model, name) else given[0]
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise validation_failed(error, "query") from None


def _is_many(model: type[BaseModel], name: str) -> bool:
    field = model.model_fields.get(name)
    return field is not None and getattr(field.annotation, "__origin__", None) is tuple
