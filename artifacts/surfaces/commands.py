"""Carrying out a command and telling what became of it: the same on the socket and over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import extensions
from ..core.commands import AnyCommand, StopRun
from ..core.errors import ArtifactrError, NotFound, Rejection, Unavailable
from ..core.outcomes import AnyOutcome
from ..workspace import Workspace


def carry_out(
    workspace: Workspace,
    command: AnyCommand | StopRun,
    *,
    command_id: str | None = None,
    body_sha256: str | None = None,
) -> AnyOutcome:
    """Send a command through the door, once under its id; a stop goes to whoever keeps runs."""
    if not isinstance(command, StopRun):
        return workspace.commit(command, command_id=command_id, body_sha256=body_sha256)
    stop = extensions.stop()
    if stop is None:  # nobody keeps runs here
        raise NotFound("run", command.run_id)
    return stop(workspace, command.run_id, command_id=command_id, body_sha256=body_sha256)


def result_of(
    call: Callable[[], AnyOutcome],
) -> tuple[dict[str, Any], ArtifactrError | None]:
    """The members of a `command_result` beside its id, and the refusal, should it be one."""
    try:
        outcome = call()
    except (Rejection, Unavailable) as error:
        return {"ok": False, "rejection": error.payload()}, error
    return {"ok": True, "outcome": outcome.wire()}, None
