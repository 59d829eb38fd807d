"""What higher apps plug into the write path, filled in their `AppConfig.ready()`.

Families say how entities of one kind are loaded and saved; participants write in the commit's
transaction after the save; reactions run after COMMIT; verifiers are asked by `verify_log`. Typed
here, run by the store. What stops a run is asked by the surfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django.db.backends.base.base import BaseDatabaseWrapper

from .core.actors import Actor
from .core.commands import AnyCommand
from .core.errors import ConfigurationError
from .core.events import AnyFact
from .core.outcomes import AnyOutcome
from .core.state import FAMILIES, CommitResult

Item = AnyCommand | AnyFact


class Transaction(Protocol):
    """The open transaction, with its workspace locked."""

    workspace_pk: int
    workspace_id: str
    tenant_id: str
    actor: Actor
    now: datetime
    head_seq: int

    @property
    def connection(self) -> BaseDatabaseWrapper: ...

    def execute(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with `%s` placeholders and give its rows."""
        ...

    def execute_all(
        self, statements: Sequence[tuple[str, Sequence[Any]]]
    ) -> list[list[tuple[Any, ...]]]:
        """Run statements in order, in one round trip where the driver can; the rows of each."""
        ...


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event as it stands in the log; `text` is its envelope on the wire."""

    seq: int
    id: str
    type: str
    thread_id: str | None
    run_id: str | None
    artifact_id: str | None
    mentions: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Committed:
    """What one transaction wrote. `seq`s run from `first_seq` to `last_seq`; none if it logged
    nothing, and then `first_seq` is above `last_seq`."""

    workspace_id: str
    workspace_pk: int
    tenant_id: str
    actor: Actor
    items: tuple[Item, ...]
    result: CommitResult
    outcomes: tuple[AnyOutcome, ...]
    envelopes: tuple[StoredEvent, ...]
    first_seq: int
    last_seq: int
    change_set_id: str | None


Statement = tuple[str, Sequence[Any]]
Load = Callable[[Transaction, frozenset[str]], Mapping[str, Any]]
Save = Callable[[Transaction, Sequence[Any], CommitResult], None]
Ids = Callable[[int], Iterable[str]]
Participant = Callable[[Transaction, Committed], None]
Reaction = Callable[[Committed], None]
Verifier = Callable[[int], Iterable[str]]


class Stop(Protocol):
    """Asks a run of an open workspace to stop, once under its command id."""

    def __call__(
        self,
        workspace: Any,
        run_id: str,
        *,
        command_id: str | None = None,
        body_sha256: str | None = None,
    ) -> AnyOutcome: ...


@dataclass(frozen=True, slots=True)
class OneStatement:
    """A load that is one statement, so that it may share its round trip with the lock."""

    asking: Callable[[Transaction, frozenset[str]], Statement]
    found: Callable[[list[tuple[Any, ...]]], Mapping[str, Any]]

    def __call__(self, tx: Transaction, ids: frozenset[str]) -> Mapping[str, Any]:
        return self.found(tx.execute(*self.asking(tx, ids)))


@dataclass(frozen=True, slots=True)
class Family:
    """How entities of one kind are found and written, inside the transaction."""

    load: Load
    save: Save
    ids: Ids | None = None


# Kept by the store itself.
BUILT_IN = frozenset({"artifacts", "revisions", "proposals", "groups", "open_proposals"})
# Kept by whichever app registers them.
REGISTRABLE = tuple(name for name in FAMILIES if name not in BUILT_IN)

_families: dict[str, Family] = {}
_participants: dict[str, Participant] = {}
_reactions: dict[str, Reaction] = {}
_verifiers: dict[str, Verifier] = {}
_stops: dict[str, Stop] = {}


def register_family(name: str, load: Load, save: Save, ids: Ids | None = None) -> None:
    """Say how a family of core is kept; without it every id of the family is absent.

    `ids` gives all ids that are kept for the workspace of a key, so that `verify_log` also meets
    those that no event tells of.
    """
    if name not in REGISTRABLE:
        raise ConfigurationError(f"{name!r} is no family that an app may register")
    if name in _families:
        raise ConfigurationError(f"family {name!r} is already registered")
    _families[name] = Family(load, save, ids)


def register_participant(participant: Participant) -> None:
    """Run `participant` in every commit's transaction, after the save; it may refuse by raising."""
    _add(_participants, participant, "participant")


def register_reaction(reaction: Reaction) -> None:
    """Run `reaction` after every COMMIT; what it raises is logged and stops nothing."""
    _add(_reactions, reaction, "reaction")


def register_verifier(verifier: Verifier) -> None:
    """Ask `verifier` what is wrong with an app's own rows, by the key of their workspace, one line
    for each problem. It only reads, and sees the moment that all of `verify_log` sees."""
    _add(_verifiers, verifier, "verifier")


def register_stop(stop: Stop) -> None:
    """Say how a run is asked to stop: that goes past the log, which tells how the run ended."""
    if _stops:
        raise ConfigurationError("how a run is stopped is already registered")
    _stops["run"] = stop


def family(name: str) -> Family | None:
    return _families.get(name)


def participants() -> tuple[Participant, ...]:
    return tuple(_participants.values())


def reactions() -> tuple[Reaction, ...]:
    return tuple(_reactions.values())


def verifiers() -> tuple[Verifier, ...]:
    return tuple(_verifiers.values())


def stop() -> Stop | None:
    return _stops.get("run")


@contextmanager
def isolated() -> Iterator[None]:
    """For tests: what is registered inside the block is forgotten after it."""
    registries: tuple[dict[str, Any], ...] = (
        _families, _participants, _reactions, _verifiers, _stops,
    )  # fmt: skip
    before = [dict(registry) for registry in registries]
    try:
        yield
    finally:
        for registry, entries in zip(registries, before, strict=True):
            registry.clear()
            registry.update(entries)


def _add(registry: dict[str, Any], function: Callable[..., Any], what: str) -> None:
    name = f"{function.__module__}.{function.__qualname__}"
    if name in registry:
        raise ConfigurationError(f"{what} {name} is already registered")
    registry[name] = function
