"""Asking a run to stop: a durable mark, whichever process the run is in."""

from __future__ import annotations

from artifacts import clock, telemetry
from artifacts.core import NotFound, Recorded, UserActor
from artifacts.core.actors import Actor, AgentActor, ExternalAgentActor
from artifacts.core.outcomes import AnyOutcome
from artifacts.workspace import Workspace
from threads import selectors
from threads.store.stops import mark_stop


def request_stop(
    workspace: Workspace,
    run_id: str,
    *,
    command_id: str | None = None,
    body_sha256: str | None = None,
) -> AnyOutcome:
    """Mark a run; one that is unknown or has ended is `not_found`.

    An editor stops runs that answer themselves, a reviewer every run. It waits for no command that
    is being carried out, since that may be the very thing to stop.
    """
    about = telemetry.about(workspace, run_id=run_id)
    with telemetry.span("artifactr.command", {**about, "artifactr.command.type": "stop_run"}):
        workspace.require("stop_run", run_id)
        return workspace.once(
            lambda: _stop(workspace, run_id), command_id=command_id, body_sha256=body_sha256
        )


def _stop(workspace: Workspace, run_id: str) -> Recorded:
    run = selectors.run(workspace, run_id)
    if not _is_own(workspace, selectors.started_by(workspace, run)):
        workspace.require("stop_any_run", run_id)
    if not mark_stop(workspace.pk, run_id, at=clock.now()):
        raise NotFound("run", run_id)
    return Recorded(run_id=run_id)


def _is_own(workspace: Workspace, agent: Actor | None) -> bool:
    """Whether a run answers this caller, or the person whose agent it is."""
    person = agent.on_behalf_of if isinstance(agent, AgentActor) else None
    if person is None:
        return False
    actor = workspace.actor
    if isinstance(actor, ExternalAgentActor):
        actor = actor.on_behalf_of or actor
    return isinstance(actor, UserActor) and actor.participant == person.participant
