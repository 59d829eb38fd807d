"""Asking a run to stop: a durable mark, whichever process the run is in."""

from __future__ import annotations

from artifacts import clock
from artifacts.core import NotFound, Recorded, UserActor
from artifacts.core.actors import Actor, AgentActor, ExternalAgentActor
from artifacts.workspace import Workspace
from threads import selectors
from threads.store.stops import mark_stop


def request_stop(workspace: Workspace, run_id: str) -> Recorded:
    """Mark a run; one that is unknown or has ended is `not_found`.

    An editor stops runs that answer themselves, a reviewer every run.
    """
    workspace.require("stop_run", run_id)
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
