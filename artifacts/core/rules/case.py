"""What every rule is given: the state, the actor, and the bounds in force; with the checks that
several rules share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from artifacts.core.actors import Actor, AgentActor
from artifacts.core.errors import Forbidden, NotFound, ValidationFailed
from artifacts.core.limits import Limits
from artifacts.core.state import Group, Proposal, Run, State, Stored, Thread

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Case:
    """One command in front of the rules. `kinds` and `agents` are None where all are allowed."""

    state: State
    actor: Actor
    limits: Limits
    kinds: frozenset[str] | None = None
    agents: frozenset[str] | None = None

    def artifact(self, id: str) -> Stored:
        return _found("artifact", id, self.state.artifacts.get(id))

    def proposal(self, id: str) -> Proposal:
        return _found("proposal", id, self.state.proposals.get(id))

    def group(self, id: str) -> Group:
        return _found("group", id, self.state.groups.get(id))

    def thread(self, id: str) -> Thread:
        return _found("thread", id, self.state.threads.get(id))

    def run(self, id: str) -> Run:
        return _found("run", id, self.state.runs.get(id))

    def run_of(self, id: str, thread_id: str | None) -> Run:
        run = self.run(id)
        if run.thread_id != thread_id:
            raise NotFound("run", id)
        return run

    def check_thread(self, id: str | None) -> None:
        """A thread that is named must exist."""
        if id is not None:
            self.thread(id)

    def check_own_thread(self, id: str | None) -> None:
        """A thread's agent speaks, looks and writes in its own thread only."""
        if id is not None and isinstance(self.actor, AgentActor) and self.actor.thread_id != id:
            raise Forbidden("an agent acts in its own thread only")

    def check_origin(self, named: str | None) -> None:
        """The thread a change belongs to exists, and is the agent's own."""
        self.check_own_thread(named)
        self.check_thread(origin_thread(self.actor, named))

    def check_chars(self, field: str, text: str | None, limit: int) -> None:
        if text is not None and len(text) > limit:
            raise ValidationFailed.at([field], f"at most {limit} characters", "too_long")

    def check_bytes(self, field: str, text: str | None, limit: int) -> None:
        if text is not None and len(text) * 4 > limit and len(text.encode()) > limit:
            raise ValidationFailed.at([field], f"at most {limit} bytes of UTF-8", "too_long")


def _found(family: str, id: str, entity: E | None) -> E:
    if entity is None:
        raise NotFound(family, id)
    return entity


def origin_thread(actor: Actor, named: str | None) -> str | None:
    """The thread a change belongs to: the one it names, else the one its agent works in."""
    return named if named is not None or not isinstance(actor, AgentActor) else actor.thread_id


def origin_run(actor: Actor) -> str | None:
    """The run a change belongs to."""
    return actor.run_id if isinstance(actor, AgentActor) else None


def wanted(**families: Any) -> dict[str, set[str]]:
    """Ids by family, without those that are None."""
    return {
        family: {id for id in ((ids,) if ids is None or isinstance(ids, str) else ids) if id}
        for family, ids in families.items()
    }
