"""What rules look at and what they give back: entities by family, needs, and the result.

A family is one kind of entity. `State` maps each family's ids to what was found, `None` where an
id was looked up and is absent; `Needs` names the ids still to be looked up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal

from pydantic_core import to_json

from .actors import Actor
from .artifact import Versioned
from .commands import Change, ThreadMode
from .events import AnyKnownEvent, DeferredRequest
from .outcomes import AnyOutcome
from .patches import Patch
from .values import Id, Text, Value

Stored = Versioned[Any]


class Revision(Value):
    """One immutable version of an artifact; `patch` is None where no data changed."""

    artifact_id: Id
    version: int
    kind: Id
    data: dict[str, Any]
    patch: Patch | None = None
    actor: Actor
    proposal_id: Id | None = None
    archived: bool = False
    edited: bool = False
    trace_id: str | None = None


class Proposal(Value):
    """A suggested change. `result` is the data it would have given when it was made."""

    id: Id
    change: Change
    proposed_by: Actor
    rationale: Text | None = None
    status: Literal["pending", "accepted", "rejected"] = "pending"
    thread_id: Id | None = None
    run_id: Id | None = None
    group_id: Id | None = None
    kind: Id
    base_version: int
    result: dict[str, Any] | None = None

    @property
    def is_resolved(self) -> bool:
        return self.status != "pending"

    @property
    def sha256(self) -> str:
        """Identifies what a reviewer saw."""
        return hashlib.sha256(to_json(self.change, exclude_none=True, by_alias=True)).hexdigest()


class Group(Value):
    """Proposals that are decided together, all by one proposer."""

    id: Id
    proposed_by: Actor
    proposal_ids: tuple[Id, ...]
    status: Literal["pending", "accepted", "rejected"] = "pending"


class Thread(Value):
    """A chat: its title, its mode, and the artifacts it is about."""

    id: Id
    title: Text
    mode: ThreadMode = "edit"
    focus: tuple[Id, ...] = ()
    agent: Id | None = None


class Answer(Value):
    """What was answered to one request of a paused run."""

    tool_call_id: Id
    answer: Any | None = None
    approved: bool | None = None


class Run(Value):
    """One agent answer, which may pause and resume; each attempt has its own trace."""

    id: Id
    thread_id: Id
    status: Literal["running", "paused", "completed", "stopped", "failed"] = "running"
    pending: tuple[DeferredRequest, ...] = ()
    answers: tuple[Answer, ...] = ()
    trace_ids: tuple[str, ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.status not in ("running", "paused")

    @property
    def is_answered(self) -> bool:
        """Whether it waits for nothing more and may resume."""
        return self.status == "paused" and len(self.answers) >= len(self.pending)


@dataclass(frozen=True, slots=True)
class Contract:
    """What a collection asks of the values at its addresses.

    `problems` says what is wrong with the data of a value, one entry each as in
    `ValidationFailed`; `kind` is None for a collection that has no addresses.
    """

    collection: str
    kind: str | None
    problems: Callable[[dict[str, Any]], Sequence[Mapping[str, Any]]]


def revision_key(artifact_id: str, version: int) -> str:
    """The id of a revision within its family."""
    return f"{artifact_id}@{version}"


def proposals_of(participant: str) -> str:
    """The key under which a proposer's open proposals are counted."""
    return f"by:{participant}"


def proposals_in(run_id: str) -> str:
    """The key under which a run's open proposals are counted."""
    return f"run:{run_id}"


@dataclass(frozen=True, slots=True)
class Needs:
    """The ids a command still has to see, by family; falsy when nothing is missing."""

    artifacts: frozenset[str] = frozenset()
    revisions: frozenset[str] = frozenset()
    proposals: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    open_proposals: frozenset[str] = frozenset()
    threads: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()
    contracts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in FAMILIES)


FAMILIES = tuple(each.name for each in fields(Needs))


def _empty() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class State:
    """The entities a command is decided on. Its members are never changed in place."""

    artifacts: Mapping[str, Stored | None] = field(default_factory=_empty)
    revisions: Mapping[str, Revision | None] = field(default_factory=_empty)
    proposals: Mapping[str, Proposal | None] = field(default_factory=_empty)
    groups: Mapping[str, Group | None] = field(default_factory=_empty)
    open_proposals: Mapping[str, int] = field(default_factory=_empty)
    threads: Mapping[str, Thread | None] = field(default_factory=_empty)
    runs: Mapping[str, Run | None] = field(default_factory=_empty)
    # Whether the id is used: the thread it was used in, where the host kept that.
    messages: Mapping[str, str | bool] = field(default_factory=_empty)
    # By the name of the collection; None where nothing is asked of its values.
    contracts: Mapping[str, Contract | None] = field(default_factory=_empty)

    def missing(self, wanted: Mapping[str, Iterable[str]]) -> Needs:
        """The part of `wanted` that was not looked up yet."""
        found: dict[str, frozenset[str]] = {}
        for family, ids in wanted.items():
            seen = getattr(self, family)
            if unseen := [id for id in ids if id not in seen]:
                found[family] = frozenset(unseen)
        return Needs(**found)

    def with_loaded(self, family: str, found: Mapping[str, Any]) -> State:
        """This state and what a look-up found."""
        return replace(self, **{family: {**getattr(self, family), **found}})

    def after(self, result: CommitResult) -> State:
        """This state as it is once `result` is saved, for the next command of one change set."""
        open_proposals = dict(self.open_proposals)
        for proposal in result.proposals:
            change = -1 if proposal.is_resolved else 1
            for key in counted_under(proposal):
                if key in open_proposals:
                    open_proposals[key] += change
        return replace(
            self,
            artifacts={**self.artifacts, **{each.id: each for each in result.artifacts}},
            revisions={
                **self.revisions,
                **{revision_key(each.artifact_id, each.version): each for each in result.revisions},
            },
            proposals={**self.proposals, **{each.id: each for each in result.proposals}},
            groups={**self.groups, **{each.id: each for each in result.groups}},
            open_proposals=open_proposals,
            threads={**self.threads, **{each.id: each for each in result.threads}},
            runs={**self.runs, **{each.id: each for each in result.runs}},
            messages={**self.messages, **dict.fromkeys(result.messages, True)},
        )


def counted_under(proposal: Proposal) -> tuple[str, ...]:
    """The counters of open proposals that a proposal belongs to."""
    keys = [proposals_of(proposal.proposed_by.participant)]
    if proposal.run_id is not None:
        keys.append(proposals_in(proposal.run_id))
    return tuple(keys)


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What to answer, what to log, and what to save: one tuple per family."""

    outcome: AnyOutcome
    events: tuple[AnyKnownEvent, ...] = ()
    artifacts: tuple[Stored, ...] = ()
    revisions: tuple[Revision, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    groups: tuple[Group, ...] = ()
    threads: tuple[Thread, ...] = ()
    runs: tuple[Run, ...] = ()
    messages: tuple[str, ...] = ()
    contracts: tuple[Contract, ...] = ()  # always empty: no command changes what is asked


def merged(results: Sequence[CommitResult]) -> CommitResult:
    """One result for several commands decided in a row; of an entity saved twice, the last."""
    last: dict[str, dict[str, Any]] = {}
    for family in ("artifacts", "proposals", "groups", "threads", "runs"):
        last[family] = {each.id: each for result in results for each in getattr(result, family)}
    return CommitResult(
        outcome=results[-1].outcome,
        events=tuple(event for result in results for event in result.events),
        revisions=tuple(each for result in results for each in result.revisions),
        messages=tuple(each for result in results for each in result.messages),
        **{family: tuple(entities.values()) for family, entities in last.items()},
    )
