"""What a turn writes beside its facts, in their transaction: asked, taken, tries and history."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F

from artifacts import core
from artifacts.extensions import Committed, Transaction
from artifacts.workspace import database
from threads import models, selectors

MOST_BYTES = 5 * 1024 * 1024  # of one segment

MARK_ASKED = """
    UPDATE artifactr_threads_thread SET asked_seq = %s
    WHERE workspace_id = %s AND public_id = %s AND asked_seq < %s"""
STEERED_FROM = """
    UPDATE artifactr_threads_run SET from_seq = %s WHERE workspace_id = %s AND public_id = %s"""
MARK_TAKEN = """
    UPDATE artifactr_threads_thread SET taken_seq = %s, taken_ahead = %s WHERE id = %s"""
DONE_TRYING = "UPDATE artifactr_threads_thread SET not_before = NULL, tries = 0 WHERE id = %s"
# The workspace is locked, so nobody else takes the number.
APPEND = """
    INSERT INTO artifactr_threads_historysegment (thread_id, number, run_id, data, sha256, seen_seq,
        told, usable, reason, saved_at)
    VALUES (%s, (SELECT COALESCE(MAX(number), 0) + 1 FROM artifactr_threads_historysegment
        WHERE thread_id = %s), %s, %s, %s, %s, %s, %s, %s, %s)"""

Write = Callable[[Transaction], None]


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of history to store; without bytes it only says why something is not there."""

    data: bytes
    reason: str | None = None


def mark_asked(tx: Transaction, committed: Committed) -> None:
    """A participant: a message by anyone but the thread's own agent wants an answer, and a run
    whose last request was answered wants to go on."""
    for thread_id, seq in asked_by(committed).items():
        tx.execute(MARK_ASKED, (seq, tx.workspace_pk, thread_id, seq))


def asked_by(committed: Committed) -> dict[str, int]:
    """The threads that a commit asks for a turn, each with the seq that does."""
    asked = {}
    answered = {run.id for run in committed.result.runs if run.is_answered}
    for event, stored in zip(committed.result.events, committed.envelopes, strict=True):
        match event:
            case core.MessagePosted(kind="message", thread_id=thread_id):
                own_agent = core.AgentActor(thread_id=thread_id)
                if committed.actor.participant != own_agent.participant:
                    asked[thread_id] = stored.seq
            case core.DeferredAnswered(run_id=run_id, thread_id=thread_id) if run_id in answered:
                asked[thread_id] = stored.seq
    return asked


def steering_from(run_id: str, *, seq: int) -> Write:
    """What says which messages steer a run, with the fact that starts it."""

    def write(tx: Transaction) -> None:
        tx.execute(STEERED_FROM, (seq, tx.workspace_pk, run_id))

    return write


def taking(thread_pk: int, seqs: Iterable[int]) -> Write:
    """What marks messages of a thread as taken, with the fact that ends or pauses their turn.

    The mark moves on over all that is taken; beyond a message that still waits, each is noted.
    """

    def mark_taken(tx: Transaction) -> None:
        row = selectors.standing(thread_pk)
        ahead = {*row.taken_ahead, *seqs}
        waits = next(selectors.unread(row, also_taken=ahead), None)
        taken_seq = max(row.taken_seq, row.asked_seq if waits is None else waits.seq - 1)
        rest = json.dumps(sorted(seq for seq in ahead if seq > taken_seq))
        tx.execute(MARK_TAKEN, (taken_seq, rest, thread_pk))

    return mark_taken


def trying_again(thread_pk: int, *, not_before: datetime | None, counts: bool) -> Write:
    """What says when a turn that its process left behind may be taken again."""

    def write(tx: Transaction) -> None:
        models.Thread.objects.filter(pk=thread_pk).update(
            not_before=not_before, tries=F("tries") + (1 if counts else 0)
        )

    return write


def done_trying(thread_pk: int) -> Write:
    """What forgets earlier attempts, with the fact that ends or pauses a turn for good."""

    def write(tx: Transaction) -> None:
        tx.execute(DONE_TRYING, (thread_pk,))

    return write


def appending(
    thread_pk: int,
    *,
    run_id: str,
    seen_seq: int,
    segments: Sequence[Segment],
    told: Iterable[int] = (),
) -> Write:
    """What stores pieces of history, with the fact that they belong to; `told` are the seqs of the
    messages in them."""

    def row(tx: Transaction, segment: Segment, told: Iterable[int]) -> tuple[Any, ...]:
        return (
            thread_pk, thread_pk, run_id, segment.data, hashlib.sha256(segment.data).hexdigest(),
            seen_seq, json.dumps(sorted(told)), segment.reason is None, segment.reason,
            database().moment(tx.now),
        )  # fmt: skip

    def append(tx: Transaction) -> None:
        tx.execute_all(
            [
                (APPEND, row(tx, each, told if place == 0 else ()))
                for place, each in enumerate(segments)
            ]
        )

    return append
