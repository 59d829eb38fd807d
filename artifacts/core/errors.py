"""What can go wrong: a rule said no, try again, or the host must fix something.

A class's docstring is its default message. No HTTP here: each surface keeps its own table from
`code` to status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class ArtifactrError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    is_abstract: ClassVar[bool] = True

    def __init__(self, message: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        super().__init__(self.message)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.is_abstract = "code" not in cls.__dict__

    @property
    def data(self) -> dict[str, Any]:
        """The typed details of this error, JSON-ready."""
        return {}

    def payload(self) -> dict[str, Any]:
        """What a client receives, on every surface."""
        return {"type": self.code, "message": self.message, **self.data}


class Rejection(ArtifactrError):
    """The command was refused."""

    # Which item of a batch this is about; None outside of one.
    index: int | None = None


class VersionConflict(Rejection):
    """The artifact has changed since the version this command is based on."""

    code = "version_conflict"

    def __init__(
        self,
        message: str | None = None,
        *,
        artifact_id: str,
        base: int,
        head: int,
        changes: Sequence[Mapping[str, Any]] = (),
        moved: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(
            message
            or f"artifact {artifact_id!r} is at version {head}, the command is based on {base}"
        )
        self.artifact_id, self.base, self.head = artifact_id, base, head
        self.changes = tuple(changes)
        self.moved = tuple(moved)

    @property
    def data(self) -> dict[str, Any]:
        """`changes` are the revisions since `base`; `moved` names every moved head of a group."""
        details: dict[str, Any] = {
            "artifact_id": self.artifact_id,
            "base": self.base,
            "head": self.head,
        }
        if self.changes:
            details["changes"] = [dict(change) for change in self.changes]
        if self.moved:
            details["moved"] = [dict(head) for head in self.moved]
        return details


class InvalidState(Rejection):
    """The entity is not in a state that allows this."""

    code = "invalid_state"


class ValidationFailed(Rejection):
    """The input does not have the required form."""

    code = "validation_failed"

    def __init__(
        self, message: str | None = None, *, errors: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(message)
        self.errors = [dict(error) for error in errors]

    @property
    def data(self) -> dict[str, Any]:
        """One entry per problem: `loc` (path), `msg`, `type`; never the input itself."""
        return {"errors": self.errors}

    @classmethod
    def at(cls, loc: Sequence[str | int], msg: str, kind: str = "value_error") -> ValidationFailed:
        """A single problem at one place."""
        where = ".".join(str(part) for part in loc)
        error = {"loc": list(loc), "msg": msg, "type": kind}
        return cls(f"{where}: {msg}" if where else msg, errors=[error])


class PatchFailed(Rejection):
    """The patch does not apply."""

    code = "patch_failed"


class NotFound(Rejection):
    """There is no such entity here."""

    code = "not_found"

    def __init__(self, entity: str, id: str) -> None:
        super().__init__(f"there is no {entity} with this id here")
        self.entity, self.id = entity, id

    @property
    def data(self) -> dict[str, Any]:
        """Which family was asked for, under which id."""
        return {"entity": self.entity, "id": self.id}


class Forbidden(Rejection):
    """This actor may not do that."""

    code = "forbidden"


class UnsupportedProtocol(Rejection):
    """This protocol is not spoken here."""

    code = "unsupported_protocol"


class Unavailable(ArtifactrError):
    """Busy right now; try again."""

    code = "unavailable"

    def __init__(self, message: str | None = None, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @property
    def data(self) -> dict[str, Any]:
        """`retry_after` is in seconds."""
        return {"retry_after": self.retry_after}


class ConfigurationError(ArtifactrError):
    """The host's settings or registrations are wrong."""

    code = "configuration_error"
