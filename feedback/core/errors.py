"""What feedback on uses refuses, by the codes its clients know; and the status of each on REST."""

from __future__ import annotations

from typing import Any

from artifacts.core.errors import Rejection


class ArtifactUseNotFound(Rejection):
    """There is no artifact use with this id here."""

    code = "artifact_use_not_found"

    def __init__(self, message: str | None = None, *, use_id: str) -> None:
        super().__init__(message)
        self.use_id = use_id

    @property
    def data(self) -> dict[str, Any]:
        return {"id": self.use_id}


class ArtifactUseExpired(Rejection):
    """This artifact use takes no more feedback."""

    code = "artifact_use_expired"


class LearningSignalsUnavailable(Rejection):
    """This workspace's catalog has no collection learning_signals."""

    code = "learning_signals_unavailable"


class RenderChanged(Rejection):
    """The use of this Idempotency-Key rendered a text that cannot be made again: its sources have
    changed since. That use stands and takes feedback; bind with a new key to get a text."""

    code = "render_changed"

    def __init__(self, message: str | None = None, *, use_id: str) -> None:
        super().__init__(message or " ".join((type(self).__doc__ or "").split()))
        self.use_id = use_id

    @property
    def data(self) -> dict[str, Any]:
        return {"id": self.use_id}


# For the one table of the REST surface.
STATUS: dict[str, int] = {
    ArtifactUseNotFound.code: 404,
    RenderChanged.code: 409,
    ArtifactUseExpired.code: 410,
    LearningSignalsUnavailable.code: 422,
}
