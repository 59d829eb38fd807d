"""What a turn writes beside its facts, in their transaction: asked, taken, tries and history."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Max

from artifacts import core
from artifacts.extensions import Committed, Transaction
from threads import models, selectors

MOST_BYTES = 5 * 1024 * 1024  # of one segment

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
        models.Thread.objects.filter(
            workspace_id=tx.workspace_pk, public_id=thread_id, asked_seq__lt=seq
        ).update(asked_seq=seq)


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
        models.Run.objects.filter(workspace_id=tx.workspace_pk, public_id=run_id).update(
            from_seq=seq
        )

    return write


def taking(thread_pk: int, seqs: Iterable[int]) -> Write:
    """What marks messages of a thread as taken, with the fact that ends or pauses their turn.

    The mark moves on over all that is taken; beyond a message that still waits, each is noted.
    """

    def mark_taken(tx: Transaction) -> None:
        row = models.Thread.objects.get(pk=thread_pk)
        ahead = {*json.loads(row.taken_ahead), *seqs}
        waits = next(selectors.unread(row, also_taken=ahead), None)
        row.taken_seq = max(row.taken_seq, row.asked_seq if waits is None else waits.seq - 1)
        row.taken_ahead = json.dumps(sorted(seq for seq in ahead if seq > row.taken_seq))
        row.save(update_fields=["taken_seq", "taken_ahead"])

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
        models.Thread.objects.filter(pk=thread_pk).update(not_before=None, tries=0)

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

    def append(tx: Transaction) -> None:
        stored = models.HistorySegment.objects.filter(thread_id=thread_pk)
        last = stored.aggregate(last=Max("number"))["last"] or 0
        models.HistorySegment.objects.bulk_create(
            models.HistorySegment(
                thread_id=thread_pk,
                number=number,
                run_id=run_id,
                data=segment.data,
                sha256=hashlib.sha256(segment.data).hexdigest(),
                seen_seq=seen_seq,
                told=json.dumps(sorted(told)) if number == last + 1 else "[]",
                usable=segment.reason is None,
                reason=segment.reason,
                saved_at=tx.now,
            )
            for number, segment in enumerate(segments, start=last + 1)
        )

    return append
