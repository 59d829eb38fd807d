"""What a call may raise: a class for each code of the service, and two for what never answered.

A class's docstring says what its code means. `detail` is what the service said about this call,
`problem` all members of its answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class ClientError(Exception):
    """A call did not give what it was for."""


class ConnectionFailed(ClientError):
    """No answer came. Whether the call was carried out is not known, unless it can be repeated."""


class AnswerUnreadable(ClientError):
    """Something answered that is not this service, or not in its words."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class ApiError(ClientError):
    """The service refused a call, under a code that this client has no class for."""

    known: ClassVar[dict[str, type[ApiError]]] = {}

    def __init__(self, *, code: str, status: int, problem: Mapping[str, Any]) -> None:
        detail = problem.get("detail")
        self.detail = detail if isinstance(detail, str) else ""
        super().__init__(f"{status} {code}: {self.detail}")
        self.code, self.status, self.problem = code, status, problem

    def __init_subclass__(cls, *, code: str, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        ApiError.known[code] = cls

    @property
    def errors(self) -> list[Mapping[str, Any]]:
        """What is wrong with which field, where the service says so."""
        found = self.problem.get("errors")
        return found if isinstance(found, list) else []


class Unauthorized(ApiError, code="unauthorized"):
    """The API key is missing, unknown, expired or revoked."""


class Forbidden(ApiError, code="forbidden"):
    """The key's role, or the host, does not allow this."""


class NotFound(ApiError, code="not_found"):
    """There is no such thing here for this key."""


class ArtifactNotFound(ApiError, code="artifact_not_found"):
    """The workspace's catalog has no such artifact in force."""


class ArtifactUseNotFound(ApiError, code="artifact_use_not_found"):
    """There is no such use here, or it was purged."""


class InvalidState(ApiError, code="invalid_state"):
    """What is there does not allow this now."""


class VersionConflict(ApiError, code="version_conflict"):
    """The value changed since the version that this is based on."""


class CommandRunning(ApiError, code="command_running"):
    """The first call under this key is still being carried out."""


class DedupeConflict(ApiError, code="dedupe_conflict"):
    """The dedupe key already names another payload."""


class RenderChanged(ApiError, code="render_changed"):
    """The bind of this key rendered a text that its sources no longer give."""


class ArtifactUseExpired(ApiError, code="artifact_use_expired"):
    """The use takes no more feedback."""


class BodyTooLarge(ApiError, code="body_too_large"):
    """The request is larger than the site accepts."""


class ValidationFailed(ApiError, code="validation_failed"):
    """The request has a value that is not accepted."""


class RequestSchema(ValidationFailed, code="request_schema"):
    """The request does not have the declared form."""


class ArtifactParameter(ValidationFailed, code="artifact_parameter"):
    """A parameter is missing, of another type, or not declared."""


class ArtifactBlock(ApiError, code="artifact_block"):
    """A required block of the artifact has nothing to show."""


class ArtifactSnapshot(ApiError, code="artifact_snapshot"):
    """The artifact declares no place for snapshots."""


class LearningSignalsUnavailable(ApiError, code="learning_signals_unavailable"):
    """The workspace's catalog has no collection for signals."""


class Throttled(ApiError, code="throttled"):
    """Too many calls; some time later they are welcome again."""


class Unavailable(ApiError, code="unavailable"):
    """The service cannot do this at the moment; the same call may work later."""


def refusal(status: int, problem: Mapping[str, Any]) -> ApiError:
    """The error that an answer tells of."""
    code = problem.get("code")
    code = code if isinstance(code, str) else "error"
    return ApiError.known.get(code, ApiError)(code=code, status=status, problem=problem)
