"""How views describe themselves in the OpenAPI schema: the wire's own pydantic models, no copies.

Schemas are those of what is accepted: what may be left out of a request is also left out of a
response when it holds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drf_spectacular.contrib.pydantic import PydanticExtension
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from pydantic import BaseModel, ConfigDict, create_model
from pydantic.json_schema import model_json_schema

from ..core.values import Value
from .problems import CONTENT_TYPE, phrase_of

REF = "#/components/schemas/{model}"
# Any request may meet these; `errors` of an operation come on top.
ALWAYS = (400, 401, 403, 404, 406, 422, 429, 503)
WITH_BODY = (409, 413, 415)
IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string", "pattern": '^"[1-9][0-9]{0,8}"$'},
    OpenApiParameter.HEADER,
    required=True,
    description="The version this is based on, as the ETag of the artifact gives it.",
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-.0-~]+$"},
    OpenApiParameter.HEADER,
    description="The command's id: a repeat gets the first answer, another body is refused.",
)
ETAG = OpenApiParameter(
    "ETag", str, OpenApiParameter.HEADER, description="The version.", response=[200, 201]
)


class Problem(BaseModel):
    """An error, with the details of its code beside the members of RFC 9457."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str


class WireModel(PydanticExtension):
    """Pydantic's own schema of a model, and of each model inside it as a component."""

    priority = 1

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        schema = _any_of(model_json_schema(self.target, ref_template=REF, mode="validation"))
        for name, inner in schema.pop("$defs", {}).items():
            auto_schema.registry.register_on_missing(
                ResolvedComponent(
                    name=name, type=ResolvedComponent.SCHEMA, object=name, schema=inner
                )
            )
        return schema


def _any_of(schema: Any) -> Any:
    """Without a discriminator more than one may fit: any known event could be an unknown one."""
    if isinstance(schema, list):
        return [_any_of(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    is_open = "oneOf" in schema and "discriminator" not in schema
    return {
        "anyOf" if is_open and name == "oneOf" else name: _any_of(each)
        for name, each in schema.items()
    }


class PrincipalSchemes(OpenApiAuthenticationExtension):
    """Either an API key or a session."""

    target_class = "artifacts.surfaces.authentication.PrincipalAuthentication"
    name = ["apiKey", "session"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        key = {"type": "http", "scheme": "bearer", "bearerFormat": "ak_<id>.<secret>"}
        return [key, {"type": "apiKey", "in": "cookie", "name": "sessionid"}]


def operation(
    operation_id: str,
    *,
    ok: Mapping[Any, Any],
    body: type[BaseModel] | None = None,
    query: type[BaseModel] | None = None,
    parameters: tuple[OpenApiParameter, ...] = (),
    errors: tuple[int, ...] = (),
) -> Callable[[Any], Any]:
    """Describe a view's method: what it takes, what it answers, and what can go wrong.

    `ok` has the model of each status; of a status and content type, where it is no JSON.
    """
    codes = sorted({*ALWAYS, *(WITH_BODY if body else ()), *errors})
    return extend_schema(
        request={"application/json": body} if body else None,
        responses={**ok, **{(code, CONTENT_TYPE): _problem(code) for code in codes}},
        parameters=[*parameters, *(parameters_of(query) if query else ())],
        operation_id=operation_id,
    )


def described_by(view: type[Any]) -> Callable[[Any], Any]:
    """Let a class of DRF describe a plain view that DRF cannot serve, such as a stream.

    The schema knows views by the class behind their function; requests never reach it.
    """

    def mark(function: Any) -> Any:
        function.cls, function.initkwargs = view, {}
        return function

    return mark


def _problem(code: int) -> OpenApiResponse:
    return OpenApiResponse(Problem, phrase_of(code))


def parameters_of(model: type[BaseModel]) -> list[OpenApiParameter]:
    """The query parameters that a model reads."""
    schema = model_json_schema(model, ref_template=REF)
    return [
        OpenApiParameter(name, _not_null(each), description=each.get("description", ""))
        for name, each in schema["properties"].items()
    ]


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is not given is absent; there is no way to send null."""
    kept = {k: v for k, v in schema.items() if k not in ("default", "title", "description")}
    options = [each for each in kept.pop("anyOf", []) if each != {"type": "null"}]
    return {**kept, **options[0]} if options else kept


def body_model(command: type[BaseModel], *given: str, name: str) -> type[BaseModel]:
    """The part of a command that stands in the body; the rest is given by route and headers."""
    fields: dict[str, Any] = {
        field: (info.annotation, info)
        for field, info in command.model_fields.items()
        if field not in given
    }
    return create_model(name, __base__=Value, __doc__=command.__doc__, **fields)


def page_model(entry: type[BaseModel], *, name: str) -> type[BaseModel]:
    """A page of a list."""
    fields: dict[str, Any] = {"results": (list[entry], ...), "next": (str | None, ...)}  # type: ignore[valid-type]
    return create_model(name, __base__=Value, __doc__=page_model.__doc__, **fields)
