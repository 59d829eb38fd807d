"""What a turn writes beside its facts, in their transaction: asked, taken, and the history."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db.models import Max

from artifacts import core
from artifacts.extensions import Committed, Transaction
from threads import models

MOST_BYTES = 5 * 1024 * 1024  # of one segment


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of history to store; without bytes it only says why something is not there."""

    data: bytes
    reason: str | None = None


def mark_asked(tx: Transaction, committed: Committed) -> None:
    """A participant: a message by anyone but the thread's own agent wants an answer."""
    for thread_id, seq in asked_by(committed).items():
        models.Thread.objects.filter(
            workspace_id=tx.workspace_pk, public_id=thread_id, asked_seq__lt=seq
        ).update(asked_seq=seq)


def asked_by(committed: Committed) -> dict[str, int]:
    """The threads that a commit asks for a turn, each with the seq of its last message."""
    asked = {}
    for event, stored in zip(committed.result.events, committed.envelopes, strict=True):
        if not isinstance(event, core.MessagePosted) or event.kind != "message":
            continue
        own_agent = core.AgentActor(thread_id=event.thread_id)
        if committed.actor.participant != own_agent.participant:
            asked[event.thread_id] = stored.seq
    return asked


def taking(thread_pk: int, *, up_to_seq: int) -> Callable[[Transaction], None]:
    """What marks the messages of a thread as taken, with the fact that ends their turn."""

    def mark_taken(tx: Transaction) -> None:
        models.Thread.objects.filter(pk=thread_pk, taken_seq__lt=up_to_seq).update(
            taken_seq=up_to_seq
        )

    return mark_taken


def appending(
    thread_pk: int, *, run_id: str, seen_seq: int, segments: Sequence[Segment]
) -> Callable[[Transaction], None]:
    """What stores pieces of history, with the fact that ends their part of the run."""

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
                usable=segment.reason is None,
                reason=segment.reason,
                saved_at=tx.now,
            )
            for number, segment in enumerate(segments, start=last + 1)
        )

    return append
