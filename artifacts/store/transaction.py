"""One open write transaction: lock, load, decide, save. `commit` opens, repeats and closes it.

Everything decided in it is saved once, at its end, as one change set. Lock order everywhere:
workspace row, then leases, then rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from pydantic_core import from_json

from .. import clock, extensions, telemetry
from .. import core as rules
from ..core.actors import Actor
from ..core.errors import InvalidState, NotFound, Rejection
from ..core.events import AnyFact
from ..core.ids import new_id
from ..core.limits import Limits
from ..core.outcomes import AnyOutcome
from ..core.state import CommitResult, Needs, State, merged
from ..extensions import (
    REGISTRABLE,
    Committed,
    Item,
    OneStatement,
    Participant,
    Statement,
    StoredEvent,
)
from . import leases, load, log, receipts
from .database import Database, Result, as_moment
from .load import Query, Seen
from .receipts import Done, Sender
from .save import Saving

# The head stands on the row that is locked, so it is read by the statement that locks it.
LOCK = """
    SELECT head_seq, head_chain, last_event_at, kinds FROM artifactr_workspace WHERE id = %s """


class Moved(Exception):
    """A row is not as it was loaded, although the workspace is locked: somebody went round it."""


class Refused(Exception):
    """The rules said no; nothing was written, and the first result of the command is known."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.message)
        self.rejection = rejection


@dataclass(frozen=True, slots=True)
class Terms:
    """Whose transaction it is, and by which bounds its items are decided.

    `require` refuses what the caller's role may not do, `refuse_hidden` what it may not see.
    """

    workspace_pk: int
    workspace_id: str
    tenant_id: str
    actor: Actor
    limits: Limits
    kinds: frozenset[str] | None = None
    agents: frozenset[str] | None = None
    require: Callable[[Item], None] | None = None
    refuse_hidden: Callable[[State], None] | None = None


class WriteTransaction:
    """The transaction that families, participants and a host's own code are given."""

    def __init__(self, db: Database, terms: Terms, *, fence: leases.Fence | None = None) -> None:
        self.db, self.terms, self.fence = db, terms, fence
        self.workspace_pk, self.workspace_id = terms.workspace_pk, terms.workspace_id
        self.tenant_id, self.actor = terms.tenant_id, terms.actor
        self.trace = telemetry.current()
        self.state, self.seen = State(), Seen()
        self.items: list[Item] = []
        self.results: list[CommitResult] = []
        self._applied = 0
        self.outcomes: list[AnyOutcome] = []
        self._own_participants: list[Participant] = []
        self.now: datetime = clock.now()
        self.head_seq, self.head_chain = 0, b""
        self.kinds = terms.kinds

    @property
    def connection(self) -> BaseDatabaseWrapper:
        return self.db.connection

    def execute(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with `%s` placeholders and give its rows."""
        return self.db.one(sql, params).rows

    def execute_all(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Run statements in order, in one round trip where the driver can; the rows of each."""
        return [result.rows for result in self.db.run(statements)] if statements else []

    def participate(self, participant: Participant) -> None:
        """Run `participant` after the save of this transaction, beside those of every one."""
        self._own_participants.append(participant)

    # Lock and load

    def begin(self, first: Item | None, sender: Sender | None = None) -> Done | None:
        """Lock the workspace; with it, ask for what is known to be needed. A known first result
        is returned or raised, and nothing else then happens."""
        needs = Needs() if first is None else self._needs(first)
        asked = self._queries(needs)
        checks: list[Statement] = [self._lock_statement(sender)]
        if self.fence is not None:
            checks.append(leases.check(self.db, self.workspace_pk, self.fence))
        if sender is not None:
            checks.append((receipts.SELECT, sender.key))
        results = self.db.run([*checks, *(query.statement for query in asked)])
        self._locked(results[0], sender)
        known = sender.repeated(results[len(checks) - 1].rows) if sender is not None else None
        if known is None:
            if self.fence is not None and not results[1].rows:
                raise leases.LeaseLost(f"the claim on {self.fence.key!r} was lost")
            self._take(asked, results[len(checks) :])
        return known

    def _lock_statement(self, sender: Sender | None) -> Statement:
        if sender is None or not self.db.try_lock:
            return LOCK + self.db.lock, (self.workspace_pk,)
        return LOCK + self.db.try_lock, (self.workspace_pk, sender.lock_key)

    def _locked(self, result: Result, sender: Sender | None) -> None:
        if not result.rows:
            if sender is not None and self.db.try_lock and self._exists():
                raise receipts.CommandRunning
            raise NotFound("workspace", self.workspace_id)
        head_seq, head_chain, last_event_at, kinds = result.rows[0]
        self.head_seq, self.head_chain = head_seq, bytes(head_chain)
        self.now = max(clock.now(), as_moment(last_event_at) or self.now)
        allowed = from_json(kinds) if isinstance(kinds, str) else kinds
        if allowed is not None:
            self.kinds = frozenset(allowed)

    def _exists(self) -> bool:
        return bool(self.execute(LOCK, (self.workspace_pk,)))

    def _needs(self, item: Item) -> Needs:
        return rules.needs(item, actor=self.actor, state=self.state, limits=self.terms.limits)

    def _load_for(self, item: Item) -> None:
        while missing := self._needs(item):
            if asked := self._queries(missing):
                self._take(asked, self.db.run([query.statement for query in asked]))
            self._load_others(missing)
        if self.terms.refuse_hidden is not None:
            self.terms.refuse_hidden(self.state)

    def _queries(self, needs: Needs) -> list[Query]:
        """What is asked together: the store's own families, and others that need one statement."""
        asked = load.queries(self.db, self.workspace_pk, needs, self.actor.participant)
        for name in REGISTRABLE:
            ids: frozenset[str] = getattr(needs, name)
            family = extensions.family(name) if ids else None
            if family is not None and isinstance(family.load, OneStatement):
                asked.append(load.of_family(name, ids, family.load, self))
        return asked

    def _take(self, asked: Sequence[Query], results: Sequence[Result]) -> None:
        found: dict[str, dict[str, Any]] = {}
        for query, result in zip(asked, results, strict=True):
            found.setdefault(query.family, {}).update(query.found(result.rows, self.seen))
        for family, entities in found.items():
            self.state = self.state.with_loaded(family, entities)

    def _load_others(self, missing: Needs) -> None:
        for name in REGISTRABLE:
            ids: frozenset[str] = getattr(missing, name)
            if not ids:
                continue
            family = extensions.family(name)
            if family is not None and isinstance(family.load, OneStatement):
                continue
            found: dict[str, Any] = dict.fromkeys(ids, load.ABSENT.get(name))
            if family is not None:
                found.update(family.load(self, ids))
            self.state = self.state.with_loaded(name, found)

    # Decide

    def commit(self, item: Item) -> AnyOutcome:
        """Decide a command or fact in a host's block. Saved, with all others, when the block ends;
        a rejection leaves what was decided before it."""
        if self.terms.require is not None:
            self.terms.require(item)
        try:
            return self.decide(item)
        except Refused as refused:
            raise refused.rejection from None

    record = commit

    def decide(self, item: Item) -> AnyOutcome:
        """Let the rules decide one item on what all before it have left; saved at the end."""
        self._catch_up()
        self._load_for(item)
        try:
            result = self._decided(item)
        except Rejection as rejection:
            raise Refused(rejection) from rejection
        self._check_families(result)
        self.items.append(item)
        self.results.append(result)
        last_seq = self.head_seq + sum(len(each.events) for each in self.results)
        outcome = result.outcome.model_copy(update={"seq": last_seq})
        self.outcomes.append(outcome)
        return outcome

    def _catch_up(self) -> None:
        """Bring the state up to the last decision; a single one, the usual case, needs it not."""
        if self._applied < len(self.results):
            self.state = self.state.after(self.results[-1])
            self._applied += 1

    def _decided(self, item: Item) -> CommitResult:
        terms = self.terms
        if isinstance(item, AnyFact):
            return rules.record(item, self.state, actor=self.actor, limits=terms.limits)
        return rules.commit(
            item, self.state, actor=self.actor, limits=terms.limits, kinds=self.kinds,
            agents=terms.agents,
        )  # fmt: skip

    def _check_families(self, result: CommitResult) -> None:
        for name in REGISTRABLE:
            if getattr(result, name) and extensions.family(name) is None:
                raise InvalidState(f"no installed app keeps {name}")

    # Save

    def save(self, origin: str, sender: Sender | None = None) -> Committed:
        """Write everything that was decided, events and receipt included, and tell participants."""
        result = merged(self.results) if len(self.results) > 1 else self.results[0]
        change_set_id = new_id("chs") if result.revisions else None
        place = self._place(change_set_id, is_shown=len(result.revisions) > 1)
        last_seq = self.head_seq + len(result.events)
        saving = Saving(self.db, place, self.seen, trace_id=self.trace.trace_id)
        rest = list(saving.rest(result))
        if change_set_id is not None:
            rest.append(saving.change_set(change_set_id, origin=origin, last_seq=last_seq))
        if sender is not None:
            done = Done(tuple(self.outcomes), change_set_id, last_seq).as_json()
            at = self.db.moment(clock.now())
            rest.append(sender.receipt(done, last_seq=last_seq, at=at))
        stored, inserts = log.appended(self.db, place, result.events)
        self._write(saving.first(result), rest, inserts, rows=len(stored))
        committed = self._committed(result, stored, change_set_id)
        self.head_seq = last_seq
        self._save_others(result)
        for participant in (*extensions.participants(), *self._own_participants):
            participant(self, committed)
        return committed

    def _place(self, change_set_id: str | None, *, is_shown: bool) -> log.Place:
        return log.Place(
            self.workspace_pk, self.workspace_id, self.head_seq, self.head_chain, self.now,
            self.actor, self.trace.traceparent, change_set_id, is_shown,
        )  # fmt: skip

    def remember(self, rejection: Rejection, sender: Sender) -> None:
        """Keep a refusal as the command's first result; it used no number of the log."""
        at = self.db.moment(clock.now())
        text = receipts.rejection_text(rejection)
        self._write([], [sender.receipt(text, last_seq=self.head_seq, at=at)])

    def _write(
        self,
        first: Sequence[Statement],
        rest: Sequence[Statement],
        inserts: Sequence[Statement] = (),
        *,
        rows: int = 0,
    ) -> None:
        """Each statement writes one row, those that append events `rows` together."""
        expected = len(first) + len(rest) + rows
        if len(inserts) == 1:  # several must run in their order
            rest, inserts = [*rest, *inserts], ()
        if self.db.write(first, rest, inserts) != expected:
            raise Moved

    def _save_others(self, result: CommitResult) -> None:
        for name in REGISTRABLE:
            entities = getattr(result, name)
            family = extensions.family(name)
            if entities and family is not None:
                family.save(self, entities, result)

    def _committed(
        self, result: CommitResult, stored: list[StoredEvent], change_set_id: str | None
    ) -> Committed:
        return Committed(
            workspace_id=self.workspace_id,
            workspace_pk=self.workspace_pk,
            tenant_id=self.tenant_id,
            actor=self.actor,
            items=tuple(self.items),
            result=self._stamped(result),
            outcomes=tuple(self.outcomes),
            envelopes=tuple(stored),
            first_seq=self.head_seq + 1,
            last_seq=self.head_seq + len(stored),
            change_set_id=change_set_id,
        )

    def _stamped(self, result: CommitResult) -> CommitResult:
        trace_id = self.trace.trace_id
        if trace_id is None:
            return result
        revisions = (each.model_copy(update={"trace_id": trace_id}) for each in result.revisions)
        return replace(result, revisions=tuple(revisions))
