"""THE DOOR: a workspace opened for one actor, and the only way to write what is in it.

    workspace = open_workspace("wsp_…", actor=UserActor(id="7"))
    plan = workspace.get(Plan, "art_…")
    outcome = workspace.commit(plan.edit(lambda draft: draft.add_task("Ship")))

Every method has an `a…` twin for coroutines, which runs it in the pool. A door opened with an
`access` asks it before anything is read; without one it is trusted code of this process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

from . import conf, selectors
from .access import Access
from .core.actors import Actor
from .core.artifact import Artifact, Versioned, validated
from .core.commands import AnyCommand
from .core.errors import InvalidState, NotFound, ValidationFailed
from .core.events import AnyFact, Envelope
from .core.outcomes import AnyOutcome
from .core.state import Group, Proposal
from .core.visibility import NOTHING_HIDDEN, Hidden
from .extensions import Item, StoredEvent
from .models import Workspace as Row
from .pool import twin
from .selectors import ChangeSetInfo, StoredRevision, Window
from .store import cursors, leases
from .store.commit import Also, Order, carry_out, carry_out_waiting, open_transaction
from .store.database import is_passing
from .store.follow import afollow, follow
from .store.leases import Fence, LeaseLost
from .store.publish import group_name, on_append, poll_seconds, reaches_others
from .store.receipts import CommandRunning, Done, Sender, purge_receipts
from .store.transaction import Desk, WriteTransaction
from .store.verify import problems_of

A = TypeVar("A", bound=Artifact)

NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class Batch:
    """What `commit_all` answers; `change_set_id` is None where no artifact was written."""

    outcomes: tuple[AnyOutcome, ...]
    change_set_id: str | None
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A workspace of one tenant, in the hands of one actor."""

    id: str
    tenant_id: str
    actor: Actor
    pk: int
    access: Access | None = None
    fence: Fence | None = None

    def fenced(self, fence: Fence) -> Workspace:
        """The same workspace, whose every write fails once this claim is lost."""
        return replace(self, fence=fence)

    def as_actor(self, actor: Actor) -> Workspace:
        """The same workspace in another actor's hands and the same role; this handle stays."""
        access = None if self.access is None else replace(self.access, actor=actor)
        return replace(self, actor=actor, access=access)

    def require(self, action: str, target: Any = None) -> None:
        """Go on, or `forbidden` for this caller."""
        if self.access is not None:
            self.access.require(action, self, target)

    @property
    def hidden(self) -> Hidden:
        """What this caller may not see."""
        return NOTHING_HIDDEN if self.access is None else self.access.hidden(self)

    # Writing

    def commit(
        self,
        command: AnyCommand,
        *,
        command_id: str | None = None,
        body_sha256: str | None = None,
        fence: Fence | None = None,
        also: Also = (),
        wait: bool = False,
    ) -> AnyOutcome:
        """Decide and carry out a command; its outcome, with the seq of the last event it wrote.

        A `command_id` that this actor used before gives that first result again. While the first
        attempt still runs elsewhere, `CommandRunning` is raised, or waited for.
        """
        return self._one(command, self._sender(command_id, body_sha256), fence, also, wait)

    def record(self, fact: AnyFact, *, fence: Fence | None = None, also: Also = ()) -> AnyOutcome:
        """Take a fact of a run, or an application event, into the log."""
        return self._one(fact, None, fence, also, wait=False)

    def commit_all(
        self,
        items: Sequence[Item],
        *,
        command_id: str | None = None,
        body_sha256: str | None = None,
        origin: str = "batch",
        fence: Fence | None = None,
        also: Also = (),
        wait: bool = False,
    ) -> Batch:
        """Carry out commands and facts as one change set, each on what those before it left.

        All or nothing: the first that is refused raises its rejection, with its `index`.
        """
        most = conf.limits().commit_all_commands
        if not 1 <= len(items) <= most:
            raise ValidationFailed.at(
                ["commands"], f"between 1 and {most} (commit_all_commands)", "too_long"
            )
        for item in items:
            self.require(item.type, item)
        sender = self._sender(command_id, body_sha256)
        order = Order(tuple(items), origin, sender, fence or self.fence, also, is_batch=True)
        done = self._done(order, wait)
        return Batch(done.outcomes, done.change_set_id, done.last_seq)

    def transaction(
        self, *, fence: Fence | None = None
    ) -> AbstractContextManager[WriteTransaction]:
        """A block for a host's own rows beside `tx.commit(command)` and `tx.record(fact)`.

        One transaction, the workspace locked from its beginning; reactions run after COMMIT.
        """
        return open_transaction(self._desk(), fence=fence or self.fence)

    def _one(
        self, item: Item, sender: Sender | None, fence: Fence | None, also: Also, wait: bool
    ) -> AnyOutcome:
        self.require(item.type, item)
        order = Order((item,), "command", sender, fence or self.fence, also)
        return self._done(order, wait).outcomes[0]

    def _done(self, order: Order, wait: bool) -> Done:
        return (carry_out_waiting if wait else carry_out)(self._desk(), order)

    def _sender(self, command_id: str | None, body_sha256: str | None) -> Sender | None:
        if command_id is None:
            return None
        _check_name("command_id", command_id, most=conf.limits().id_chars)
        return Sender(self.pk, self.actor, command_id, body_sha256 or "")

    def _desk(self) -> Desk:
        settings, access = conf.settings(), self.access
        return Desk(
            workspace_pk=self.pk,
            workspace_id=self.id,
            tenant_id=self.tenant_id,
            actor=self.actor,
            limits=conf.limits(),
            kinds=None if settings.KINDS is None else frozenset(settings.KINDS),
            agents=frozenset({"default", *settings.AGENTS}),
            require=None if access is None else lambda item: self.require(item.type, item),
            refuse_hidden=None if access is None else lambda s: access.refuse_hidden(self, s),
        )

    # Reading artifacts

    @overload
    def get(self, kind: type[A], artifact_id: str) -> Versioned[A]: ...

    @overload
    def get(self, kind: None, artifact_id: str) -> Versioned[Any]: ...

    def get(self, kind: type[A] | None, artifact_id: str) -> Versioned[Any]:
        """An artifact with its typed value; another kind under that id is `validation_failed`."""
        found = self.artifact(artifact_id)
        if kind is not None and found.kind != kind.artifact_kind:
            raise ValidationFailed.at(
                ["kind"], f"this artifact is no {kind.artifact_kind!r}", "kind_mismatch"
            )
        return found.model_copy(update={"data": validated(found.kind, found.data)})

    def artifact(self, artifact_id: str) -> Versioned[dict[str, Any]]:
        """An artifact with its JSON data."""
        self.require("read_artifacts", artifact_id)
        return selectors.artifact(self.pk, artifact_id, self.hidden)

    def artifacts(
        self,
        kind: str | None = None,
        *,
        archived: bool | None = False,
        after: str | None = None,
        limit: int = 100,
    ) -> list[Versioned[dict[str, Any]]]:
        """A page of artifacts after the one with the id `after`; `archived` None gives both."""
        self.require("read_artifacts")
        return selectors.artifacts(
            self.pk, self.hidden, kind=kind, archived=archived, after=after, limit=limit
        )

    def revision(self, artifact_id: str, version: int) -> StoredRevision:
        self.require("read_artifacts", artifact_id)
        return selectors.revision(self.pk, artifact_id, version, self.hidden)

    def revisions(
        self, artifact_id: str, *, after: int | None = None, limit: int = 100
    ) -> list[StoredRevision]:
        """A page of an artifact's versions, after version `after`."""
        self.require("read_artifacts", artifact_id)
        return selectors.revisions(self.pk, artifact_id, self.hidden, after=after, limit=limit)

    def change_set(self, change_set_id: str) -> ChangeSetInfo:
        self.require("read_change_sets", change_set_id)
        return selectors.change_set(self.pk, change_set_id, self.hidden)

    # Reading proposals

    def proposal(self, proposal_id: str) -> Proposal:
        self.require("read_proposals", proposal_id)
        return selectors.proposal(self.pk, proposal_id, self.hidden)

    def proposals(
        self,
        status: str | None = None,
        *,
        artifact_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[Proposal]:
        """A page of proposals after the one with the id `after`."""
        self.require("read_proposals")
        return selectors.proposals(
            self.pk, self.hidden, status=status, artifact_id=artifact_id, after=after, limit=limit
        )

    def group(self, group_id: str) -> Group:
        self.require("read_proposals", group_id)
        return selectors.group(self.pk, group_id, self.hidden)

    # Reading the log

    def head_seq(self) -> int:
        """The number of the last event, 0 for an empty log."""
        self.require("read_events")
        return selectors.head_seq(self.pk)

    def read(
        self,
        after_seq: int = 0,
        before_seq: int | None = None,
        threads: frozenset[str] | None = None,
        limit: int | None = None,
        last: int | None = None,
    ) -> list[Envelope]:
        """A window of the log: its first `limit` or its last `last`, for who follows `threads`."""
        texts = self.read_text(after_seq, before_seq, threads, limit, last)
        return [Envelope.model_validate_json(text) for text in texts]

    def read_text(
        self,
        after_seq: int = 0,
        before_seq: int | None = None,
        threads: frozenset[str] | None = None,
        limit: int | None = None,
        last: int | None = None,
    ) -> list[str]:
        """The same as stored, for handing on: nothing is parsed."""
        self.require("read_events")
        window = Window(after_seq, before_seq, threads, limit, last)
        return selectors.texts(self.pk, window, self.hidden)

    def events(self, window: Window) -> list[StoredEvent]:
        """The same with what reads filter on beside each text."""
        self.require("read_events")
        return selectors.events(self.pk, window, self.hidden)

    def follow(
        self,
        after_seq: int = 0,
        threads: frozenset[str] | None = None,
        poll_seconds: float | None = None,
    ) -> Iterator[Envelope]:
        """Everything after a seq, then what comes, on one iterator without end."""
        return follow(self, Window(after_seq, threads=threads), poll_seconds)

    def afollow(
        self,
        after_seq: int = 0,
        threads: frozenset[str] | None = None,
        poll_seconds: float | None = None,
    ) -> AsyncIterator[Envelope]:
        """The same for a coroutine."""
        return afollow(self, Window(after_seq, threads=threads), poll_seconds)

    def verify(self) -> list[str]:
        """What is wrong with the log or with what is stored beside it; nothing, one hopes."""
        if self.access is not None:
            raise InvalidState("a log is verified by the host's own code")
        return problems_of(self.pk, self.id)

    # Cursors and claims

    def cursor(self, name: str) -> int:
        """How far the consumer of this name has got, 0 at first."""
        self.require("read_cursors")
        return selectors.cursor(self.pk, name)

    def save_cursor(self, name: str, seq: int) -> None:
        """Move a cursor on; it never goes back, whoever saves late."""
        self.require("save_cursor")
        _check_name("name", name)
        if not 0 <= seq <= selectors.MOST:
            raise ValidationFailed.at(["seq"], "is no number of a log")
        cursors.save(self.pk, name, seq)

    def acquire_lease(self, key: str, holder: str, ttl_seconds: float) -> Fence | None:
        """Take a claim for a time, or None while somebody holds it."""
        self.require("acquire_lease")
        _check_name("key", key)
        _check_name("holder", holder)
        return leases.acquire(self.pk, key, holder, ttl_seconds)

    def renew_lease(self, fence: Fence, ttl_seconds: float) -> bool:
        """Hold on to a claim; False once it has lapsed or was taken over."""
        self.require("renew_lease")
        return leases.renew(self.pk, fence, ttl_seconds)

    def release_lease(self, fence: Fence) -> None:
        """Let go of a claim, if it is still held."""
        self.require("release_lease")
        leases.release(self.pk, fence)

    acommit, arecord, acommit_all = twin(commit), twin(record), twin(commit_all)
    aget, aartifact, aartifacts = twin(get), twin(artifact), twin(artifacts)
    arevision, arevisions, achange_set = twin(revision), twin(revisions), twin(change_set)
    aproposal, aproposals, agroup = twin(proposal), twin(proposals), twin(group)
    ahead_seq, aread = twin(head_seq), twin(read)
    aread_text, aevents = twin(read_text), twin(events)
    acursor, asave_cursor, averify = twin(cursor), twin(save_cursor), twin(verify)
    aacquire_lease, arenew_lease = twin(acquire_lease), twin(renew_lease)
    arelease_lease = twin(release_lease)


def open_workspace(
    workspace_id: str, *, actor: Actor, tenant_id: str | None = None, access: Access | None = None
) -> Workspace:
    """A workspace for `actor`; another tenant's is `not_found`, as an unknown one."""
    rows = Row.objects.filter(public_id=workspace_id)
    if tenant_id is not None:
        rows = rows.filter(tenant__public_id=tenant_id)
    found = rows.values_list("pk", "tenant__public_id").first()
    if found is None:
        raise NotFound("workspace", workspace_id)
    pk, tenant = found
    return Workspace(id=workspace_id, tenant_id=tenant, actor=actor, pk=pk, access=access)


aopen_workspace = twin(open_workspace)


def _check_name(field: str, name: str, *, most: int = NAME_CHARS) -> None:
    """Whether both databases can keep it."""
    if not 1 <= len(name) <= most or "\0" in name:
        raise ValidationFailed.at([field], f"1 to {most} characters without NUL")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValidationFailed.at([field], "must not contain lone surrogates") from None


__all__ = [
    "Batch",
    "CommandRunning",
    "Fence",
    "LeaseLost",
    "Window",
    "Workspace",
    "WriteTransaction",
    "aopen_workspace",
    "group_name",
    "is_passing",
    "on_append",
    "open_workspace",
    "poll_seconds",
    "purge_receipts",
    "reaches_others",
]
