"""What becomes of a command, in the words of the wire: the same on the socket and over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.errors import ArtifactrError, Rejection, Unavailable
from ..core.outcomes import AnyOutcome


def result_of(
    carry_out: Callable[[], AnyOutcome],
) -> tuple[dict[str, Any], ArtifactrError | None]:
    """The members of a `command_result` beside its id, and the refusal, should it be one."""
    try:
        outcome = carry_out()
    except (Rejection, Unavailable) as error:
        return {"ok": False, "rejection": error.payload()}, error
    return {"ok": True, "outcome": outcome.wire()}, None
