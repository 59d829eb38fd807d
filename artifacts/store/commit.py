"""The write path from BEGIN to after COMMIT: opens the transaction, repeats it once where another
writer was first, and tells those who wait only when everything is durable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from django.db import IntegrityError

from .. import clock
from ..core.errors import Forbidden, InvalidState, Rejection
from ..core.outcomes import AnyOutcome
from ..extensions import Committed, Item, Transaction
from ..pool import raise_if_cancelled
from . import publish, receipts
from .database import Database, database
from .leases import Fence
from .receipts import CommandRunning, Done, Sender, numbered
from .transaction import Moved, Refused, Terms, WriteTransaction

T = TypeVar("T")
Also = Sequence[Callable[[Transaction], None]]

OUR_CONSTRAINTS = "artifactr_"
UNIQUE_VIOLATION = "23505"
WAIT_SECONDS, WAIT_STEP = 10.0, 0.02


@dataclass(frozen=True, slots=True)
class Order:
    """Items to decide in one transaction, and what goes with them."""

    items: tuple[Item, ...]
    origin: str
    sender: Sender | None = None
    fence: Fence | None = None
    also: Also = ()
    is_batch: bool = False


def carry_out(terms: Terms, order: Order) -> Done:
    """Do all of an order or nothing; the outcomes, or the rejection, raised."""
    done, committed = _repeated_once(lambda: _attempt(terms, order))
    if committed is not None:
        publish.after_commit(committed)
    return done


def carry_out_waiting(terms: Terms, order: Order) -> Done:
    """The same, but wait while another process still carries out this very command."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return carry_out(terms, order)
        except CommandRunning:
            if time.monotonic() > deadline:
                raise
            time.sleep(WAIT_STEP)


def carry_out_aside(work: Callable[[], AnyOutcome], sender: Sender | None) -> AnyOutcome:
    """Do what the log has no part in, once under its sender's id, and without the workspace's lock:
    on PostgreSQL no command that holds it is waited for. On SQLite every write waits for others.
    """
    return _repeated_once(lambda: _attempt_aside(work, sender))


def _attempt_aside(work: Callable[[], AnyOutcome], sender: Sender | None) -> AnyOutcome:
    db = database()
    refusal: Rejection | None = None
    with db.writing(durable=True):
        known = _known_aside(db, sender)
        if known is not None:
            return known.outcomes[0]
        try:
            outcome = work()
            result = Done((outcome,), None, last_seq=0).as_json()
        except Forbidden:
            raise  # the role may be another one tomorrow
        except Rejection as rejection:
            refusal, result = rejection, receipts.rejection_text(rejection)
        if sender is not None:
            at = db.moment(clock.now())
            db.run([sender.receipt(result, last_seq=0, at=at)])
        raise_if_cancelled()
    if refusal is not None:
        raise refusal
    return outcome


def _known_aside(db: Database, sender: Sender | None) -> Done | None:
    if sender is None:
        db.run(db.patience)
        return None
    return sender.repeated(db.run([*db.patience, (receipts.SELECT, sender.key)])[-1].rows)


@contextmanager
def open_transaction(terms: Terms, *, fence: Fence | None = None) -> Iterator[WriteTransaction]:
    """A block that decides items beside a host's own rows; all are saved when it ends."""
    db = database()
    committed: Committed | None = None
    with db.writing(durable=True):
        tx = WriteTransaction(db, terms, fence=fence)
        tx.begin(None)
        yield tx
        if tx.items:
            committed = tx.save("batch" if len(tx.items) > 1 else "command")
        raise_if_cancelled()
    if committed is not None:
        publish.after_commit(committed)


def _attempt(terms: Terms, order: Order) -> tuple[Done, Committed | None]:
    db = database()
    refusal: Rejection | None = None
    with db.writing(durable=True):
        tx = WriteTransaction(db, terms, fence=order.fence)
        try:
            known = tx.begin(order.items[0], order.sender)
            if known is not None:
                return known, None
            _decide_all(tx, order)
        except Refused as refused:
            # Nothing was written, so the refusal is remembered where it was decided.
            refusal = refused.rejection
            if order.sender is not None:
                tx.remember(refusal, order.sender)
        except Rejection as rejection:
            refusal = rejection
        else:
            committed = tx.save(order.origin, order.sender)
            for extra in order.also:
                extra(tx)
        raise_if_cancelled()
    if refusal is not None:
        raise refusal
    return Done(committed.outcomes, committed.change_set_id, committed.last_seq), committed


def _decide_all(tx: WriteTransaction, order: Order) -> None:
    for index, item in enumerate(order.items):
        try:
            tx.decide(item)
        except (Refused, Rejection) as error:
            rejection = error.rejection if isinstance(error, Refused) else error
            numbered(rejection, index if order.is_batch else None)
            raise


def _repeated_once(attempt: Callable[[], T]) -> T:
    """Another writer was first with a unique key: look again, then say so."""
    try:
        return attempt()
    except (IntegrityError, Moved) as error:
        if not _is_ours(error):
            raise
    try:
        return attempt()
    except (IntegrityError, Moved) as error:
        if not _is_ours(error):
            raise
        raise InvalidState("something else took this place at the same moment") from error


def _is_ours(error: Exception) -> bool:
    if isinstance(error, Moved):
        return True
    cause = error.__cause__
    if getattr(cause, "sqlstate", None) is not None:
        constraint = getattr(getattr(cause, "diag", None), "constraint_name", None) or ""
        return getattr(cause, "sqlstate", "") == UNIQUE_VIOLATION and constraint.startswith(
            OUR_CONSTRAINTS
        )
    return str(cause).startswith(f"UNIQUE constraint failed: {OUR_CONSTRAINTS}")
