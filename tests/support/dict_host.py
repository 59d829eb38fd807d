"""A host whose storage is one dictionary per family: the loop of `needs`, load, commit, save.

It shows that core can be driven by anything, and is the oracle that other storages are compared
with. It has no clock and no locks: one caller at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from artifacts.core import (
    DEFAULT_LIMITS,
    Actor,
    CommitResult,
    Envelope,
    Limits,
    Needs,
    State,
    commit,
    needs,
    record,
    revision_key,
)
from artifacts.core.commands import AnyCommand
from artifacts.core.events import AnyFact
from artifacts.core.state import FAMILIES, counted_under

ENTITIES = ("artifacts", "proposals", "groups", "threads", "runs")
NO_TIME = datetime(2020, 1, 1, tzinfo=UTC)


class DictHost:
    """One workspace in memory; `rounds` are the needs of the last command, in order."""

    def __init__(
        self,
        *,
        limits: Limits = DEFAULT_LIMITS,
        kinds: frozenset[str] | None = None,
        agents: frozenset[str] | None = None,
        **entities: Iterable[Any],
    ) -> None:
        self.limits, self.kinds, self.agents = limits, kinds, agents
        self.families: dict[str, dict[str, Any]] = {family: {} for family in FAMILIES}
        self.log: list[Envelope] = []
        self.rounds: list[Needs] = []
        self._keep({**dict.fromkeys((*ENTITIES, "revisions", "messages"), ()), **entities})

    def commit(self, command: AnyCommand, *, actor: Actor) -> CommitResult:
        def decide(state: State) -> CommitResult:
            return commit(
                command,
                state,
                actor=actor,
                limits=self.limits,
                kinds=self.kinds,
                agents=self.agents,
            )

        return self._saved(command, actor, decide)

    def record(self, fact: AnyFact, *, actor: Actor) -> CommitResult:
        return self._saved(
            fact, actor, lambda state: record(fact, state, actor=actor, limits=self.limits)
        )

    def loaded(self, item: AnyCommand | AnyFact, *, actor: Actor) -> State:
        """The state that `item` is decided on, looked up in as many rounds as it takes."""
        state, self.rounds = State(), []
        while missing := needs(item, actor=actor, state=state, limits=self.limits):
            self.rounds.append(missing)
            for family in FAMILIES:
                if ids := getattr(missing, family):
                    state = state.with_loaded(family, {id: self._found(family, id) for id in ids})
        return state

    def _saved(
        self,
        item: AnyCommand | AnyFact,
        actor: Actor,
        decide: Callable[[State], CommitResult],
    ) -> CommitResult:
        result = decide(self.loaded(item, actor=actor))
        self._keep({name: getattr(result, name) for name in (*ENTITIES, "revisions", "messages")})
        for event in result.events:
            seq = len(self.log) + 1
            self.log.append(
                Envelope(
                    seq=seq,
                    id=f"evt_{seq}",
                    ts=NO_TIME,
                    workspace_id="ws",
                    thread_id=getattr(event, "thread_id", None),
                    run_id=getattr(event, "run_id", None),
                    actor=actor,
                    event=event,
                )
            )
        return result

    def _found(self, family: str, id: str) -> Any:
        if family == "open_proposals":
            return sum(
                id in counted_under(each)
                for each in self.families["proposals"].values()
                if not each.is_resolved
            )
        return self.families[family].get(id, False if family == "messages" else None)

    def _keep(self, entities: dict[str, Iterable[Any]]) -> None:
        for family in ENTITIES:
            self.families[family].update({each.id: each for each in entities[family]})
        self.families["revisions"].update(
            {revision_key(each.artifact_id, each.version): each for each in entities["revisions"]}
        )
        self.families["messages"].update(dict.fromkeys(entities["messages"], True))
