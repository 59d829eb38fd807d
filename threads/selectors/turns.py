"""What a turn reads of its thread on its way, in SQL of its own: this is done for each request to a
model, and to put a query together costs more than to ask it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from artifacts import core
from artifacts.core.events import WORKSPACE_WIDE
from artifacts.workspace import database
from threads import models
from threads.rows import THREAD_COLUMNS, as_thread

STANDING = f"""
    SELECT w.head_seq, t.asked_seq, t.taken_seq, t.taken_ahead, t.workspace_id, {THREAD_COLUMNS}
    FROM artifactr_threads_thread t JOIN artifactr_workspace w ON w.id = t.workspace_id
    WHERE t.id = %s"""
# Two halves, so that each is read from an index of its own; an order would bring SQLite off them.
NOTED = """
    SELECT seq, text FROM artifactr_event
    WHERE workspace_id = %s AND artifact_id {any} AND seq > %s AND seq <= %s AND type {any}
    UNION
    SELECT seq, text FROM artifactr_event
    WHERE workspace_id = %s AND thread_id = %s AND seq > %s AND seq <= %s AND type {any}"""
UNREAD = """
    SELECT seq, text FROM artifactr_event
    WHERE workspace_id = %s AND thread_id = %s AND type = 'message_posted' AND actor_key <> %s
        AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s"""
CREATED = """
    SELECT artifact_id FROM artifactr_event
    WHERE workspace_id = %s AND thread_id = %s AND type = 'artifact_created'"""
REMEMBERED = """
    SELECT seen_seq, run_id, usable, data FROM artifactr_threads_historysegment
    WHERE thread_id = %s ORDER BY number"""
PAGE = 100
MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Standing:
    """A thread, which of its messages are taken, and where the log ends, at one moment."""

    workspace_pk: int
    head_seq: int
    asked_seq: int
    taken_seq: int
    taken_ahead: frozenset[int]
    thread: core.Thread


def standing(thread_pk: int) -> Standing:
    rows = database().one(STANDING, (thread_pk,)).rows
    head_seq, asked_seq, taken_seq, ahead, workspace_pk, *columns = rows[0]
    return Standing(
        workspace_pk=workspace_pk,
        head_seq=head_seq,
        asked_seq=asked_seq,
        taken_seq=taken_seq,
        taken_ahead=frozenset(json.loads(ahead)),
        thread=as_thread(*columns),
    )


def created_in(workspace_pk: int, thread_id: str) -> frozenset[str]:
    """The artifacts that were created in a thread."""
    rows = database().one(CREATED, (workspace_pk, thread_id)).rows
    return frozenset(id for (id,) in rows if id)


def noted(
    workspace_pk: int,
    thread_id: str,
    *,
    follows: frozenset[str],
    after_seq: int,
    up_to_seq: int,
    notices: bool = False,
) -> list[core.Envelope]:
    """The part of the log that change notes for a thread's agent are made of."""
    db, places = database(), (after_seq, up_to_seq)
    # What everybody is told of is what can become a note, besides notices.
    types = sorted(WORKSPACE_WIDE)
    in_thread = [*types, "message_posted"] if notices else types
    params = (
        workspace_pk, db.array(sorted(follows)), *places, db.array(types),
        workspace_pk, thread_id, *places, db.array(in_thread),
    )  # fmt: skip
    rows = db.one(db.spelled(NOTED), params).rows
    return [core.Envelope.model_validate_json(text) for _, text in sorted(rows)]


def unread(
    row: models.Thread | Standing,
    *,
    also_taken: Collection[int] = (),
    after_seq: int = 0,
    up_to_seq: int | None = None,
) -> Iterator[core.Envelope]:
    """The messages of a thread that no turn took, oldest first. Notices are for people alone."""
    if isinstance(row, Standing):
        workspace_pk, thread_id, ahead = row.workspace_pk, row.thread.id, row.taken_ahead
    else:
        workspace_pk, thread_id = row.workspace_id, row.public_id
        ahead = frozenset(json.loads(row.taken_ahead))
    own_agent = core.AgentActor(thread_id=thread_id).participant
    taken, start = {*ahead, *also_taken}, max(row.taken_seq, after_seq)
    db, up_to = database(), MOST if up_to_seq is None else up_to_seq
    while True:
        rows = db.one(UNREAD, (workspace_pk, thread_id, own_agent, start, up_to, PAGE)).rows
        for seq, text in rows:
            if seq in taken:
                continue
            envelope = core.Envelope.model_validate_json(text)
            if isinstance(envelope.event, core.MessagePosted) and envelope.event.kind == "message":
                yield envelope
        if len(rows) < PAGE:
            return
        start = rows[-1][0]


def is_taken(row: models.Thread, seq: int) -> bool:
    """Whether a turn that ended or paused took the message at this place."""
    return seq <= row.taken_seq or seq in json.loads(row.taken_ahead)


def segments(row: models.Thread) -> QuerySet[models.HistorySegment]:
    """The stored model history of a thread, oldest first, what is not usable included."""
    return models.HistorySegment.objects.filter(thread=row).order_by("number")


@dataclass(frozen=True, slots=True)
class Remembered:
    """The stored history that can be used, and how far it has told the agent what changed."""

    seen_seq: int
    pieces: tuple[tuple[str, bytes], ...]  # of which run

    @property
    def chunks(self) -> tuple[bytes, ...]:
        return tuple(data for _, data in self.pieces)

    def of_run(self, run_id: str) -> tuple[bytes, ...]:
        return tuple(data for run, data in self.pieces if run == run_id)


def remembered(row: models.Thread) -> Remembered:
    found = database().one(REMEMBERED, (row.pk,)).rows
    return Remembered(
        seen_seq=found[-1][0] if found else 0,
        pieces=tuple((run_id, bytes(data)) for _, run_id, usable, data in found if usable and data),
    )


def told_by(row: models.Thread, run_ids: Collection[str]) -> frozenset[int]:
    """The seqs of the messages that these runs' stored history holds."""
    lists = models.HistorySegment.objects.filter(thread=row, run_id__in=run_ids, usable=True)
    return frozenset(
        seq for told in lists.values_list("told", flat=True) for seq in json.loads(told)
    )
