"""What the learning half refuses, by the codes its clients know; and the status of each on REST."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from artifacts.core.errors import Rejection, ValidationFailed

from .problems import Problem

MOST_PROBLEMS = 500


class ArtifactNotFound(Rejection):
    """There is no such artifact in this workspace's catalog."""

    code = "artifact_not_found"


class RequestSchema(ValidationFailed):
    """The request does not have the form that was declared for it."""

    code = "request_schema"

    def __init__(
        self, message: str | None = None, *, errors: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(message, errors=errors)

    @classmethod
    def of(cls, failed: ValidationFailed, *prefix: str | int) -> RequestSchema:
        """The same problems under this code, each at its place in the request."""
        errors = [{**each, "loc": [*prefix, *each["loc"]]} for each in failed.errors]
        where = ".".join(str(part) for part in prefix)
        return cls(f"{where}.{failed.message}" if where else failed.message, errors=errors)


class DedupeConflict(Rejection):
    """This dedupe key already names another payload."""

    code = "dedupe_conflict"

    def __init__(self, message: str | None = None, *, dedupe_key: str) -> None:
        super().__init__(message)
        self.dedupe_key = dedupe_key

    @property
    def data(self) -> dict[str, Any]:
        return {"dedupe_key": self.dedupe_key}


class CatalogInvalid(Rejection):
    """The catalog is not as it must be."""

    code = "catalog_invalid"

    def __init__(self, problems: Sequence[Problem]) -> None:
        first, more = problems[0], len(problems) - 1
        super().__init__(f"{first.line_text}{f' (and {more} more)' if more else ''}")
        self.problems = tuple(problems)

    @property
    def data(self) -> dict[str, Any]:
        """Every problem with its file, line and rule."""
        return {"problems": [each.wire() for each in self.problems[:MOST_PROBLEMS]]}


# For the one table of the REST surface.
STATUS: dict[str, int] = {
    ArtifactNotFound.code: 404,
    DedupeConflict.code: 409,
    RequestSchema.code: 422,
    CatalogInvalid.code: 422,
}
