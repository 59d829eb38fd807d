"""Why nothing was rendered or bound, by the codes clients know; and the status of each on REST."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifacts.core.errors import Rejection, ValidationFailed


class ArtifactParameter(ValidationFailed):
    """A parameter of the artifact is missing, of another type, or not declared."""

    code = "artifact_parameter"


class ArtifactBlock(Rejection):
    """A required block of the artifact has nothing to show."""

    code = "artifact_block"

    def __init__(self, message: str | None = None, *, block: str) -> None:
        super().__init__(message)
        self.block = block

    @property
    def data(self) -> dict[str, Any]:
        return {"block": self.block}


class ArtifactSnapshot(Rejection):
    """This artifact declares no place for snapshots."""

    code = "artifact_snapshot"


@dataclass(frozen=True, slots=True)
class ParameterProblem:
    """One thing that is wrong with the parameters."""

    name: str
    message: str
    kind: str


def refused(problems: Sequence[ParameterProblem]) -> ArtifactParameter:
    """All problems of the parameters as one refusal."""
    first, more = problems[0], len(problems) - 1
    errors = [
        {"loc": ["parameters", each.name], "msg": each.message, "type": each.kind}
        for each in problems
    ]
    message = f"parameters.{first.name}: {first.message}"
    return ArtifactParameter(f"{message} (and {more} more)" if more else message, errors=errors)


# For the one table of the REST surface.
STATUS: dict[str, int] = {
    ArtifactParameter.code: 422,
    ArtifactBlock.code: 422,
    ArtifactSnapshot.code: 422,
}
