"""How threads, runs and used message ids are loaded for the rules and saved for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from artifacts import core
from artifacts.extensions import OneStatement, Transaction
from artifacts.workspace import database
from threads import models
from threads.rows import RUN_COLUMNS, THREAD_COLUMNS, as_run, as_thread

Rows = list[tuple[Any, ...]]

THREADS = f"""
    SELECT {THREAD_COLUMNS} FROM artifactr_threads_thread t
    WHERE t.workspace_id = %s AND t.public_id {{any}}"""
RUNS = f"""
    SELECT {RUN_COLUMNS} FROM artifactr_threads_run r
    JOIN artifactr_threads_thread t ON t.id = r.thread_id
    WHERE r.workspace_id = %s AND r.public_id {{any}}"""
UPDATE_THREAD = """
    UPDATE artifactr_threads_thread SET title = %s, mode = %s, focus = %s, agent = %s
    WHERE workspace_id = %s AND public_id = %s"""
INSERT_RUN = """
    INSERT INTO artifactr_threads_run (workspace_id, thread_id, public_id, status, pending, answers,
        trace_ids, retry_of, from_seq, started_at)
    SELECT workspace_id, id, %s, %s, %s, %s, %s, %s, 0, %s FROM artifactr_threads_thread
    WHERE workspace_id = %s AND public_id = %s"""
UPDATE_RUN = """
    UPDATE artifactr_threads_run SET status = %s, pending = %s, answers = %s, trace_ids = %s
    WHERE workspace_id = %s AND public_id = %s"""
END_RUN = """
    UPDATE artifactr_threads_run SET status = %s, pending = %s, answers = %s, trace_ids = %s,
        ended_at = %s, reason = %s
    WHERE workspace_id = %s AND public_id = %s"""
INSERT_MESSAGE = """
    INSERT INTO artifactr_threads_messageid (workspace_id, public_id, thread_id)
    VALUES (%s, %s, %s)"""
MESSAGES = """
    SELECT public_id, thread_id FROM artifactr_threads_messageid
    WHERE workspace_id = %s AND public_id {any}"""


def _by_id(sql: str, found: Callable[[Rows], Mapping[str, Any]]) -> OneStatement:
    def asking(tx: Transaction, ids: frozenset[str]) -> tuple[str, Sequence[Any]]:
        db = database()
        return db.spelled(sql), (tx.workspace_pk, db.array(sorted(ids)))

    return OneStatement(asking, found)


load_threads = _by_id(THREADS, lambda rows: {row[0]: as_thread(*row) for row in rows})
load_runs = _by_id(RUNS, lambda rows: {row[0]: as_run(*row) for row in rows})
load_messages = _by_id(MESSAGES, dict)


def save_threads(
    tx: Transaction, entities: Sequence[core.Thread], result: core.CommitResult
) -> None:
    created = {each.thread_id for each in result.events if isinstance(each, core.ThreadCreated)}
    for each in entities:
        focus = json.dumps(each.focus)
        if each.id in created:
            models.Thread.objects.create(
                workspace_id=tx.workspace_pk, public_id=each.id, created_at=tx.now,
                title=each.title, mode=each.mode, focus=focus, agent=each.agent,
            )  # fmt: skip
        else:
            values = (each.title, each.mode, focus, each.agent)
            tx.execute(UPDATE_THREAD, (*values, tx.workspace_pk, each.id))


def save_runs(tx: Transaction, entities: Sequence[core.Run], result: core.CommitResult) -> None:
    """Save the runs whose life went on; a tool's call and return change no row."""
    facts = _facts_by_run(result)
    for each in entities:
        own = facts.get(each.id, [])
        values, now = _columns(each), database().moment(tx.now)
        key = (tx.workspace_pk, each.id)
        ended = next((fact for fact in own if isinstance(fact, core.RunEnded)), None)
        started = next((fact for fact in own if isinstance(fact, core.RunStarted)), None)
        if started and started.trigger != "resume":
            row = (each.id, *values, started.retry_of, now)
            tx.execute(INSERT_RUN, (*row, tx.workspace_pk, each.thread_id))
        elif own and not ended:
            tx.execute(UPDATE_RUN, (*values, *key))
        if ended:  # in the same change set, perhaps
            tx.execute(END_RUN, (*values, now, ended.reason, *key))


def _facts_by_run(result: core.CommitResult) -> dict[str, list[Any]]:
    facts: dict[str, list[Any]] = {}
    for event in result.events:
        if isinstance(
            event, core.RunStarted | core.RunPaused | core.DeferredAnswered | core.RunEnded
        ):
            facts.setdefault(event.run_id, []).append(event)
    return facts


def _columns(run: core.Run) -> tuple[str, str, str, str]:
    return (
        run.status,
        to_json(run.pending, exclude_none=True).decode(),
        to_json(run.answers, exclude_none=True).decode(),
        json.dumps(run.trace_ids),
    )


def save_messages(tx: Transaction, ids: Sequence[str], result: core.CommitResult) -> None:
    tx.execute_all(
        [
            (INSERT_MESSAGE, (tx.workspace_pk, event.message_id, event.thread_id))
            for event in result.events
            if isinstance(event, core.MessagePosted)
        ]
    )


def _ids_of(model: type[models.Thread | models.Run | models.MessageId]) -> Callable[[int], Any]:
    def ids(workspace_pk: int) -> Iterator[str]:
        rows = model._default_manager.filter(workspace_id=workspace_pk)
        return rows.values_list("public_id", flat=True).iterator(chunk_size=1_000)

    return ids


# Name, load, save and all ids of each.
ALL = (
    ("threads", load_threads, save_threads, _ids_of(models.Thread)),
    ("runs", load_runs, save_runs, _ids_of(models.Run)),
    ("messages", load_messages, save_messages, _ids_of(models.MessageId)),
)
