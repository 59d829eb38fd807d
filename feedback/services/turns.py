"""Turns that run on a recipe: each binds a use, and feedback on it becomes a signal on that use.

A use is found again by the key it was bound under, which names the run. A run that paused and went
on was told a text at each start; feedback on it is about the last one.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from pydantic import ValidationError
from pydantic_core import from_json

from artifacts.core.actors import Actor, AgentActor, EvaluatorActor, SystemActor
from artifacts.core.commands import MessageTarget, TurnTarget
from artifacts.core.errors import Rejection
from artifacts.core.events import FeedbackGiven
from artifacts.core.feedback import registered_feedback_types
from artifacts.extensions import Committed, StoredEvent, Transaction
from artifacts.models import Event
from artifacts.workspace import Workspace, WriteTransaction
from feedback import selectors, telemetry
from feedback.core.signals import COLLECTION, Signal
from feedback.fluent import USUAL_SOURCE
from feedback.models import ArtifactUse
from learning.selectors.catalog import collections_in_force

from .signals import keep_signal
from .uses import bind

log = logging.getLogger(__name__)


# A turn binds


@contextmanager
def instructions(
    workspace: Workspace, run_id: str, recipe: str, parameters: Mapping[str, Any]
) -> Iterator[str]:
    """The text that one attempt of a run is told; the spans of the block say of which use it is."""
    key = f"{_prefix(run_id)}{secrets.token_hex(8)}"
    bound = bind(workspace, recipe, parameters, idempotency_key=key)
    trace.get_current_span().set_attributes(dict(bound.telemetry_attributes))
    with telemetry.marked(bound.telemetry_attributes):
        yield bound.content


def use_of_run(workspace_pk: int, thread_id: str, run_id: str) -> ArtifactUse | None:
    """The use whose text a run was told last."""
    agent = AgentActor(thread_id=thread_id)
    rows = ArtifactUse.objects.select_related("target").filter(
        workspace_id=workspace_pk,
        sender=agent.participant,
        idempotency_key__startswith=_prefix(run_id),
    )
    return rows.order_by("-pk").first()


def _prefix(run_id: str) -> str:
    return f"run:{run_id}:"


# Feedback on a turn


def signal_feedback(tx: Transaction, committed: Committed) -> None:
    """A participant: the signal of feedback on a turn is written with the feedback, or neither."""
    for event, stored in zip(committed.result.events, committed.envelopes, strict=True):
        if isinstance(event, FeedbackGiven):
            _signal(tx, committed.actor, event, stored)


def _signal(tx: Transaction, actor: Actor, event: FeedbackGiven, stored: StoredEvent) -> None:
    """Feedback stands whatever comes of its signal: what keeps that from being made is logged."""
    use = _judged_use(tx, event)
    if use is None or selectors.is_over(selectors.ends_at(use)):
        return
    signal = _as_signal(actor, event)
    if signal is None:
        return
    if COLLECTION not in collections_in_force(tx.workspace_pk, [COLLECTION]):
        log.warning("feedback %s is no signal: no collection %s", stored.id, COLLECTION)
        return
    assert isinstance(tx, WriteTransaction)
    try:
        keep_signal(tx, use, signal, dedupe_key=f"evt:{stored.id}")
    except Rejection:
        log.warning("feedback %s is no signal", stored.id, exc_info=True)


def _judged_use(tx: Transaction, event: FeedbackGiven) -> ArtifactUse | None:
    """The use of the run that was judged, itself or by what it said."""
    match event.target:
        case TurnTarget(run_id=run_id):
            thread_id = event.thread_id
        case MessageTarget(thread_id=thread_id, message_id=message_id, run_id=run_id):
            run_id = run_id or _run_of_message(tx.workspace_pk, thread_id, message_id)
        case _:
            return None
    if thread_id is None or run_id is None:
        return None
    return use_of_run(tx.workspace_pk, thread_id, run_id)


def _run_of_message(workspace_pk: int, thread_id: str, message_id: str) -> str | None:
    """The run that said a message; people's have none."""
    events = Event.objects.filter(
        workspace_id=workspace_pk,
        thread_id=thread_id,
        type="message_posted",
        run_id__isnull=False,
        text__contains=message_id,
    )
    for text, run_id in events.order_by("-seq").values_list("text", "run_id").iterator():
        if from_json(text)["event"]["message_id"] == message_id:
            return str(run_id)
    return None


def _as_signal(actor: Actor, event: FeedbackGiven) -> Signal | None:
    """What the feedback's type says of it; a type that is gone, or says nothing, makes none."""
    cls = registered_feedback_types().get(event.feedback_type)
    if cls is None:
        return None
    try:
        fields = cls.model_validate(event.value).to_signal()
        if fields is None:
            return None
        usual = _usual_source(actor, fields.get("kind"))
        return Signal.model_validate({"source": usual, **fields})
    except ValidationError:
        log.exception("to_signal of feedback type %s is no signal", event.feedback_type)
    except Exception:
        log.exception("to_signal of feedback type %s failed", event.feedback_type)
    return None


def _usual_source(actor: Actor, kind: Any) -> str | None:
    match actor:
        case EvaluatorActor():
            return "evaluator"
        case SystemActor() | AgentActor():
            return "application"
    return USUAL_SOURCE.get(kind)
