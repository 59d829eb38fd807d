"""Every error as an RFC 9457 problem: the one table from code to HTTP status.

Other apps register the statuses of their own codes in `AppConfig.ready()`. A test walks all error
classes and fails for one that has no entry here. What is none of them is a bug and stays a
traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import DatabaseError, InterfaceError
from django.http import Http404
from django.http.multipartparser import MultiPartParserError
from rest_framework import exceptions
from rest_framework.response import Response

from ..core.errors import (
    ArtifactrError,
    ConfigurationError,
    Rejection,
    Unavailable,
    VersionConflict,
)
from ..workspace import is_passing
from .authentication import CHALLENGE

AWAY = "the database is busy or away; try again"
CONTENT_TYPE = "application/problem+json"
# The phrases of RFC 9110, which Python knows by these names only from 3.13 on.
PHRASES = {413: "Content Too Large", 422: "Unprocessable Content"}

STATUS: dict[str, int] = {
    "unsupported_protocol": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "version_conflict": 409,
    "invalid_state": 409,
    "command_running": 409,
    "body_too_large": 413,
    "validation_failed": 422,
    "patch_failed": 422,
    "precondition_required": 428,
    "configuration_error": 500,
    "unavailable": 503,
}
# What DRF itself refuses, by the code it is told as.
FRAMEWORK: dict[type[exceptions.APIException], str] = {
    exceptions.ParseError: "validation_failed",
    exceptions.NotAuthenticated: "unauthorized",
    exceptions.AuthenticationFailed: "unauthorized",
    exceptions.PermissionDenied: "forbidden",
    exceptions.NotFound: "not_found",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.Throttled: "throttled",
}


class BodyTooLarge(ArtifactrError):
    """The body is larger than this site accepts."""

    code = "body_too_large"


class PreconditionRequired(ArtifactrError):
    """This needs an If-Match header with the version it is based on."""

    code = "precondition_required"


class StaleIfMatch(Exception):
    """The version in `If-Match` is not the current one: the conflict, told as 412 (RFC 9110)."""

    def __init__(self, conflict: VersionConflict) -> None:
        super().__init__(conflict.message)
        self.conflict = conflict


def register_statuses(statuses: Mapping[str, int]) -> None:
    """Say the HTTP status of each error code of an app; no code has two."""
    for code, status in statuses.items():
        if code in STATUS:
            raise ConfigurationError(f"the status of {code!r} is already registered")
        if not 400 <= status <= 599:
            raise ConfigurationError(f"{status} is no status of an error ({code!r})")
    STATUS.update(statuses)


def status_of(error: ArtifactrError) -> int:
    """The HTTP status of one of our errors."""
    return STATUS[error.code]


def phrase_of(status: int) -> str:
    """The phrase of an HTTP status, the same whatever Python runs."""
    return PHRASES.get(status) or HTTPStatus(status).phrase


def problem(status: int, *, code: str, detail: str, **members: Any) -> dict[str, Any]:
    """The members of a problem; its title is the status's own phrase, as for `about:blank`."""
    title = phrase_of(status)
    return {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        **members,
    }


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler; None lets a bug through as the traceback that it is."""
    match error:
        case StaleIfMatch(conflict=conflict):
            return _ours(conflict, status=412)
        case DatabaseError() | InterfaceError() if is_passing(error):
            return problem_response(Unavailable(AWAY), context)
        case ArtifactrError() if status_of(error) != 500:
            return _ours(error, status=status_of(error))
        case exceptions.APIException():
            return _frameworks(error)
        case Http404():
            return _frameworks(exceptions.NotFound())
        case PermissionDenied():
            return _frameworks(exceptions.PermissionDenied())
        case SuspiciousOperation() | MultiPartParserError():
            return _frameworks(exceptions.ParseError("The request cannot be read."))
    return None


def headers_of(error: ArtifactrError) -> dict[str, str]:
    """What goes into a response's header besides."""
    if isinstance(error, Unavailable):
        return {"Retry-After": str(error.retry_after)}
    return {"WWW-Authenticate": CHALLENGE} if error.code == "unauthorized" else {}


def _ours(error: ArtifactrError, *, status: int) -> Response:
    members = dict(error.data)
    if isinstance(error, Rejection) and error.index is not None:
        members["index"] = error.index
    body = problem(status, code=error.code, detail=error.message, **members)
    return Response(body, status=status, headers=headers_of(error), content_type=CONTENT_TYPE)


def _frameworks(error: exceptions.APIException) -> Response:
    code = FRAMEWORK.get(type(error), "error")
    headers = {"WWW-Authenticate": CHALLENGE} if code == "unauthorized" else {}
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    body = problem(error.status_code, code=code, detail=str(error.detail))
    return Response(body, status=error.status_code, headers=headers, content_type=CONTENT_TYPE)
