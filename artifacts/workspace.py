"""THE DOOR: a workspace opened for one actor, and the only way to write what is in it.

    workspace = open_workspace("wsp_…", actor=UserActor(id="7"))
    plan = workspace.get(Plan, "art_…")
    outcome = workspace.commit(plan.edit(lambda draft: draft.add_task("Ship")))

Every method has an `a…` twin for coroutines, which runs it in the pool. A door opened with an
`access` asks it before anything is read; without one it is trusted code of this process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from . import conf, selectors, telemetry
from .access import Access
from .core.actors import Actor
from .core.commands import AnyCommand
from .core.errors import InvalidState, NotFound, Rejection, ValidationFailed
from .core.events import AnyFact, Envelope
from .core.outcomes import AnyOutcome
from .core.state import CommitResult, State
from .core.values import is_id
from .extensions import Item
from .pool import twin
from .reads import Reads
from .selectors import Window
from .store import cursors, leases
from .store.alone import write_alone
from .store.commit import (
    Also,
    Order,
    carry_out,
    carry_out_aside,
    carry_out_waiting,
    open_transaction,
)
from .store.database import Database, as_moment, database, is_passing
from .store.follow import afollow, follow
from .store.leases import Fence, LeaseLost
from .store.publish import group_name, on_append, poll_seconds, reaches_others
from .store.receipts import CommandRunning, Done, Sender, purge_receipts
from .store.transaction import Terms, WriteTransaction
from .store.trial import tried
from .store.verify import problems_of

NAME_CHARS = 200
OPEN = """
    SELECT w.id, t.public_id FROM artifactr_workspace w
    JOIN artifactr_tenant t ON t.id = w.tenant_id WHERE w.public_id = %s"""


@dataclass(frozen=True, slots=True)
class Batch:
    """What `commit_all` answers; `change_set_id` is None where no artifact was written."""

    outcomes: tuple[AnyOutcome, ...]
    change_set_id: str | None
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace(Reads):
    """A workspace of one tenant, in the hands of one actor, who reads it and changes it."""

    fence: Fence | None = None

    def fenced(self, fence: Fence) -> Workspace:
        """The same workspace, whose every write fails once this claim is lost."""
        return replace(self, fence=fence)

    def as_actor(self, actor: Actor) -> Workspace:
        """The same workspace in another actor's hands and the same role; this handle stays."""
        access = None if self.access is None else replace(self.access, actor=actor)
        return replace(self, actor=actor, access=access)

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
        sender = self._sender(command_id, body_sha256)
        order = Order(tuple(items), origin, sender, fence or self.fence, also, is_batch=True)
        about: telemetry.Attributes = {**telemetry.about(self), "artifactr.batch.size": len(items)}
        with telemetry.span("artifactr.batch", about):
            for item in items:
                self.require(item.type, item)
            done = self._done(order, wait)
        return Batch(done.outcomes, done.change_set_id, done.last_seq)

    def once(
        self,
        work: Callable[[], AnyOutcome],
        *,
        command_id: str | None = None,
        body_sha256: str | None = None,
    ) -> AnyOutcome:
        """Do work of another app that the log has no part in; a repeated `command_id` gives its
        first result. It waits for no command that is being carried out (PostgreSQL)."""
        return carry_out_aside(work, self._sender(command_id, body_sha256))

    def tried(self, command: AnyCommand, *, actor: Actor) -> tuple[State, CommitResult | Rejection]:
        """What a commit by `actor` would look at, and what it would save or be refused with, as
        far as this caller may see it; nothing is written."""
        return tried(replace(self._terms(), actor=actor, require=None), command)

    @contextmanager
    def transaction(self, *, fence: Fence | None = None) -> Iterator[WriteTransaction]:
        """A block for a host's own rows beside `tx.commit(command)` and `tx.record(fact)`.

        One transaction, the workspace locked from its beginning; reactions run after COMMIT.
        """
        with (
            telemetry.span("artifactr.transaction", telemetry.about(self)),
            open_transaction(self._terms(), fence=fence or self.fence) as tx,
        ):
            yield tx

    def _one(
        self, item: Item, sender: Sender | None, fence: Fence | None, also: Also, wait: bool
    ) -> AnyOutcome:
        order = Order((item,), "command", sender, fence or self.fence, also)
        with telemetry.span("artifactr.command", self._about(item)):
            self.require(item.type, item)
            return self._done(order, wait).outcomes[0]

    def _about(self, item: Item) -> dict[str, str]:
        """What the span of a command or fact tells of it: whose thread and run, and its type."""
        thread_id, run_id = (
            getattr(item, name, None) or getattr(self.actor, name, None)
            for name in ("thread_id", "run_id")
        )
        place = telemetry.about(self, thread_id=thread_id, run_id=run_id)
        return {**place, "artifactr.command.type": item.type}

    def _done(self, order: Order, wait: bool) -> Done:
        return (carry_out_waiting if wait else carry_out)(self._terms(), order)

    def _sender(self, command_id: str | None, body_sha256: str | None) -> Sender | None:
        if command_id is None:
            return None
        _check_name("command_id", command_id, most=conf.limits().id_chars)
        return Sender(self.pk, self.actor, command_id, body_sha256 or "")

    def _terms(self) -> Terms:
        settings, access = conf.settings(), self.access
        return Terms(
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

    # Following the log

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
    acursor, asave_cursor, averify = twin(cursor), twin(save_cursor), twin(verify)
    aacquire_lease, arenew_lease = twin(acquire_lease), twin(renew_lease)
    arelease_lease, atried = twin(release_lease), twin(tried)


def open_workspace(
    workspace_id: str, *, actor: Actor, tenant_id: str | None = None, access: Access | None = None
) -> Workspace:
    """A workspace for `actor`; another tenant's is `not_found`, as an unknown one."""
    found = database().one(OPEN, (workspace_id,)).rows if is_id(workspace_id) else []
    if not found or tenant_id not in (None, found[0][1]):
        raise NotFound("workspace", workspace_id)
    [(pk, tenant)] = found
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
    "Database",
    "Fence",
    "LeaseLost",
    "Window",
    "Workspace",
    "WriteTransaction",
    "aopen_workspace",
    "as_moment",
    "database",
    "group_name",
    "is_passing",
    "on_append",
    "open_workspace",
    "poll_seconds",
    "purge_receipts",
    "reaches_others",
    "write_alone",
]
