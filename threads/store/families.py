"""How threads, runs and used message ids are loaded for the rules and saved for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from artifacts import core
from artifacts.extensions import Transaction
from threads import models, selectors


def load_threads(tx: Transaction, ids: frozenset[str]) -> Mapping[str, core.Thread | None]:
    rows = models.Thread.objects.filter(workspace_id=tx.workspace_pk, public_id__in=ids)
    return {**dict.fromkeys(ids), **{row.public_id: selectors.thread_of(row) for row in rows}}


def save_threads(
    tx: Transaction, entities: Sequence[core.Thread], result: core.CommitResult
) -> None:
    created = {each.thread_id for each in result.events if isinstance(each, core.ThreadCreated)}
    for each in entities:
        values: dict[str, Any] = {
            "title": each.title,
            "mode": each.mode,
            "focus": json.dumps(each.focus),
            "agent": each.agent,
        }
        if each.id in created:
            models.Thread.objects.create(
                workspace_id=tx.workspace_pk, public_id=each.id, created_at=tx.now, **values
            )
        else:
            models.Thread.objects.filter(workspace_id=tx.workspace_pk, public_id=each.id).update(
                **values
            )


def load_runs(tx: Transaction, ids: frozenset[str]) -> Mapping[str, core.Run | None]:
    rows = models.Run.objects.filter(
        workspace_id=tx.workspace_pk, public_id__in=ids
    ).select_related("thread")
    return {**dict.fromkeys(ids), **{row.public_id: selectors.run_of(row) for row in rows}}


def save_runs(tx: Transaction, entities: Sequence[core.Run], result: core.CommitResult) -> None:
    """Save the runs whose life went on; a tool's call and return change no row."""
    facts = _facts_by_run(result)
    for each in entities:
        own = facts.get(each.id, [])
        values = _columns(tx, each, own)
        started = next((fact for fact in own if isinstance(fact, core.RunStarted)), None)
        if started and started.trigger != "resume":
            models.Run.objects.create(
                workspace_id=tx.workspace_pk,
                thread=models.Thread.objects.get(
                    workspace_id=tx.workspace_pk, public_id=each.thread_id
                ),
                public_id=each.id,
                retry_of=started.retry_of,
                started_at=tx.now,
                **values,
            )
        elif own:
            models.Run.objects.filter(workspace_id=tx.workspace_pk, public_id=each.id).update(
                **values
            )


def _facts_by_run(result: core.CommitResult) -> dict[str, list[Any]]:
    facts: dict[str, list[Any]] = {}
    for event in result.events:
        if isinstance(
            event, core.RunStarted | core.RunPaused | core.DeferredAnswered | core.RunEnded
        ):
            facts.setdefault(event.run_id, []).append(event)
    return facts


def _columns(tx: Transaction, run: core.Run, facts: Sequence[Any]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "status": run.status,
        "pending": to_json(run.pending, exclude_none=True).decode(),
        "answers": to_json(run.answers, exclude_none=True).decode(),
        "trace_ids": json.dumps(run.trace_ids),
    }
    for fact in facts:
        if isinstance(fact, core.RunEnded):
            values |= {"ended_at": tx.now, "reason": fact.reason}
    return values


def load_messages(tx: Transaction, ids: frozenset[str]) -> Mapping[str, str | bool]:
    used = models.MessageId.objects.filter(
        workspace_id=tx.workspace_pk, public_id__in=ids
    ).values_list("public_id", "thread_id")
    return {**dict.fromkeys(ids, False), **dict(used)}


def save_messages(tx: Transaction, ids: Sequence[str], result: core.CommitResult) -> None:
    models.MessageId.objects.bulk_create(
        models.MessageId(
            workspace_id=tx.workspace_pk, public_id=event.message_id, thread_id=event.thread_id
        )
        for event in result.events
        if isinstance(event, core.MessagePosted)
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
