"""Turns that run on a recipe: each binds a use, and feedback on it becomes a signal on that use.

A use is found again by the key it was bound under, which names the run. A run that paused and went
on was told a text at each start; feedback on it is about the last one, feedback on a message about
the one that the message was said on.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from pydantic import ValidationError

from artifacts.core.actors import Actor, AgentActor, EvaluatorActor, SystemActor
from artifacts.core.commands import MessageTarget, TurnTarget
from artifacts.core.errors import Rejection
from artifacts.core.events import FeedbackGiven, MessagePosted
from artifacts.core.feedback import registered_feedback_types
from artifacts.extensions import Committed, StoredEvent, Transaction
from artifacts.workspace import Workspace, WriteTransaction
from feedback import selectors, telemetry
from feedback.core.signals import COLLECTION, Signal
from feedback.fluent import USUAL_SOURCE
from feedback.models import ArtifactUse
from feedback.store.messages import link_message
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
    rows = ArtifactUse.objects.select_related("target").filter(
        workspace_id=workspace_pk,
        sender=_sender(thread_id),
        idempotency_key__startswith=_prefix(run_id),
    )
    return rows.order_by("-pk").first()


def use_of_message(workspace_pk: int, message_id: str) -> ArtifactUse | None:
    """The use that a message was said on; people's messages have none."""
    rows = ArtifactUse.objects.select_related("target").filter(
        messages__workspace_id=workspace_pk, messages__message_id=message_id
    )
    return next(iter(rows[:1]), None)


def link_messages(tx: Transaction, committed: Committed) -> None:
    """A participant: what a run says is linked to the use it is said on."""
    for event in committed.result.events:
        if isinstance(event, MessagePosted) and event.run_id is not None:
            link_message(
                tx,
                event.message_id,
                sender=_sender(event.thread_id),
                prefix=_prefix(event.run_id),
            )


def _prefix(run_id: str) -> str:
    return f"run:{run_id}:"


def _sender(thread_id: str) -> str:
    """Who binds the uses of a thread's runs: its agent."""
    return AgentActor(thread_id=thread_id).participant


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
    """The use of what was judged: a run, or a message of one."""
    target = event.target
    if isinstance(target, MessageTarget):
        return use_of_message(tx.workspace_pk, target.message_id)
    if isinstance(target, TurnTarget) and event.thread_id is not None:
        return use_of_run(tx.workspace_pk, event.thread_id, target.run_id)
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
