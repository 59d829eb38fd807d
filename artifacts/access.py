"""Who may do what: one table of roles, the host's `AUTHORIZE`, and what the host hides.

Every surface hands an `Access` to the door it opens, which asks `require` before anything is read
or written. A door opened without one is trusted code of this process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from . import conf
from .core.actors import Actor, EvaluatorActor, is_agent
from .core.commands import AnswerDeferred
from .core.errors import Forbidden, NotFound
from .core.state import Proposal, State
from .core.visibility import NOTHING_HIDDEN, Hidden

# From the least to the most; a role may do all that the ones before it may.
ROLES = ("viewer", "editor", "reviewer", "admin")
# Whatever role lent them theirs, agents do not decide.
HIGHEST_OF_AGENTS = "editor"
# Evaluators read and give feedback; what is no command of core, such as a stop, is refused here.
HIGHEST_OF_EVALUATORS = "viewer"
HIDDEN_SECONDS = 30
HIDDEN_KEPT = 10_000

READS = frozenset(
    {
        "read_workspace",
        "read_artifacts",
        "read_events",
        "read_proposals",
        "read_change_sets",
        "read_cursors",
        "read_threads",
        "read_catalog",
        "read_records",
        "read_uses",
        "read_runs",
        "watch_run",
    }
)

# Action → lowest role. Actions are the types of commands, the reads, and verbs that are no command.
# What is not in it, recording facts among them, nobody does through a surface.
ROLE_TABLE: dict[str, str] = {
    **dict.fromkeys(sorted(READS), "viewer"),
    "give_feedback": "viewer",
    "create_artifact": "editor",
    "edit_artifact": "editor",
    "archive_artifact": "editor",
    "put_artifact": "editor",
    "propose_change": "editor",
    "create_thread": "editor",
    "post_message": "editor",
    "set_focus": "editor",
    "set_thread_mode": "editor",
    "answer_question": "editor",
    "stop_run": "editor",
    "ingest": "editor",
    "bind": "editor",
    "respond_to_proposal": "reviewer",
    "resolve_group": "reviewer",
    "revert_artifact": "reviewer",
    "answer_approval": "reviewer",
    "stop_any_run": "reviewer",
    "route_signal": "reviewer",
    "manage_members": "admin",
    "manage_keys": "admin",
    "apply_catalog": "admin",
}


class Place(Protocol):
    """What `AUTHORIZE` and `HIDDEN` may count on in the workspace they are given."""

    @property
    def id(self) -> str: ...

    @property
    def tenant_id(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What one caller may do in one workspace; without a role that is a superuser's reading."""

    actor: Actor
    role: str | None
    reads_all: bool = False

    def allows(self, action: str) -> bool:
        """Whether the role suffices; the host is not asked."""
        lowest = ROLE_TABLE.get(action)
        if lowest is None:
            return False
        if self.reads_all and action in READS:
            return True
        return self.role is not None and self._rank() >= ROLES.index(lowest)

    def _rank(self) -> int:
        assert self.role is not None
        rank = ROLES.index(self.role)
        if isinstance(self.actor, EvaluatorActor):
            return min(rank, ROLES.index(HIGHEST_OF_EVALUATORS))
        return min(rank, ROLES.index(HIGHEST_OF_AGENTS)) if is_agent(self.actor) else rank

    def require(self, action: str, workspace: Place, target: Any = None) -> None:
        """Go on, or `forbidden`. `target` is the command, or the id of what is read."""
        action = _action(action, target)
        if not self.allows(action):
            lowest = ROLE_TABLE.get(action)
            needed = (
                f"needs the role {lowest!r} or a higher one" if lowest else "is for the host alone"
            )
            raise Forbidden(f"{action} {needed}")
        authorize = conf.function("AUTHORIZE")
        if authorize and not authorize(self.actor, workspace, action, target):
            raise Forbidden(f"{action} is not allowed here")

    def hidden(self, workspace: Place) -> Hidden:
        """What the host hides from this caller in this workspace, as of some seconds ago."""
        path = conf.settings().HIDDEN
        if path is None:
            return NOTHING_HIDDEN
        # The whole actor: clients of one name act for different people.
        key = (path, self.actor, workspace.tenant_id, workspace.id)
        now = time.monotonic()
        known = _hidden.get(key)
        if known is None or known[0] <= now:
            if len(_hidden) >= HIDDEN_KEPT:
                _hidden.clear()
            hook = conf.function("HIDDEN")
            assert hook is not None
            known = _hidden[key] = (now + HIDDEN_SECONDS, hook(self.actor, workspace))
        return known[1]

    def refuse_hidden(self, workspace: Place, state: State) -> None:
        """The `not_found` of an unknown id for whatever a command is about and may not be seen."""
        hidden = self.hidden(workspace)
        if not hidden:
            return
        for entity, id in _hidden_in(state, hidden):
            raise NotFound(entity, id)


_hidden: dict[tuple[str, Actor, str, str], tuple[float, Hidden]] = {}


def forget_hidden() -> None:
    """Ask the host anew, for a host that has just changed what it hides."""
    _hidden.clear()


def is_proposal_hidden(proposal: Proposal, hidden: Hidden) -> bool:
    """A proposal shows the artifact it changes and the thread it was made in."""
    return proposal.change.artifact_id in hidden.artifacts or proposal.thread_id in hidden.threads


def _action(action: str, target: Any) -> str:
    """Two verbs hide in one command: who may answer a question may not yet approve a tool."""
    if not isinstance(target, AnswerDeferred):
        return action
    return "answer_question" if target.approved is None else "answer_approval"


def _hidden_in(state: State, hidden: Hidden) -> Iterator[tuple[str, str]]:
    for id, artifact in state.artifacts.items():
        if artifact is not None and id in hidden.artifacts:
            yield "artifact", id
    for id, thread in state.threads.items():
        if thread is not None and id in hidden.threads:
            yield "thread", id
    for id, run in state.runs.items():
        if run is not None and run.thread_id in hidden.threads:
            yield "run", id
    for id, proposal in state.proposals.items():
        if proposal is not None and is_proposal_hidden(proposal, hidden):
            # Named by what was asked for: a group that holds a hidden proposal is hidden itself.
            yield next((("group", group) for group in state.groups), ("proposal", id))
