"""Feedback on a use: what came of a render, kept as a learning signal, an ordinary record.

    submit(workspace, use_id, {"kind": "thumbs_down", "source": "end_user", "comment": "…"})

A signal is ready at its commit: no queue stands between it and whoever learns from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import StringConstraints, ValidationError

from artifacts import conf
from artifacts.core.artifact import validation_failed
from artifacts.core.values import FilledText, Id, Value
from artifacts.pool import twin
from artifacts.workspace import Workspace, WriteTransaction
from feedback import selectors
from feedback.core.errors import ArtifactUseExpired, LearningSignalsUnavailable
from feedback.core.signals import COLLECTION, Bounds, Signal, UseIdentity, signal_content
from feedback.models import ArtifactUse
from feedback.store.uses import SignalOnUse
from learning.core.errors import RequestSchema
from learning.core.records import RecordInput
from learning.services.records import ingest_in

from .routing import KeptSignal, follow_policy
from .uses import find_use


class Submission(Signal):
    """Feedback as it is sent; a key makes sending it again harmless."""

    dedupe_key: Annotated[FilledText, StringConstraints(max_length=200)] | None = None


class Submitted(Value):
    """The record of a signal. `duplicate`: it was there before, `erased`: and has been emptied."""

    record_id: Id
    duplicate: bool = False
    erased: bool | None = None


def submit(
    workspace: Workspace, use_id: str, feedback: Submission | Mapping[str, Any]
) -> Submitted:
    """Say what came of a use. It must exist, then be open, then the feedback is looked at."""
    return submit_on(workspace, open_use(workspace, use_id), _checked(feedback))


def open_use(workspace: Workspace, use_id: str) -> ArtifactUse:
    """A use that takes feedback from this caller, or why it does not."""
    workspace.require("give_feedback", use_id)
    return _still_open(find_use(workspace, use_id))


def submit_on(workspace: Workspace, use: ArtifactUse, submission: Submission) -> Submitted:
    """The same for a use that `open_use` gave."""
    with workspace.transaction() as tx:
        return keep_signal(tx, use, submission, dedupe_key=submission.dedupe_key)


asubmit = twin(submit)


def keep_signal(
    tx: WriteTransaction, use: ArtifactUse, signal: Signal, *, dedupe_key: str | None = None
) -> Submitted:
    """Write a signal on a use inside an open transaction; the caller has asked who may.

    `dedupe_key` is one of this use's own, so it meets no other use's and no record's.
    """
    beside = SignalOnUse(_still_open(use).public_id)
    settings = conf.settings()
    bounds = Bounds(settings.FEEDBACK_COMMENT_MAX_CHARS, settings.FEEDBACK_EVIDENCE_MAX_CHARS)
    record = _record(selectors.identity(use), signal.cut(bounds), dedupe_key)
    try:
        [taken] = ingest_in(tx, [record], namespace=f"feedback:{use.public_id}", beside=beside)
    except RequestSchema as refused:
        if _is_about_collection(refused):
            raise LearningSignalsUnavailable from None
        raise
    assert taken.record_id is not None
    if not taken.duplicate:
        follow_policy(tx, KeptSignal(taken.record_id, signal.kind, record.text, record.content))
    return Submitted(
        record_id=taken.record_id, duplicate=taken.duplicate, erased=taken.erased or None
    )


def _is_about_collection(refused: RequestSchema) -> bool:
    """Whether the catalog has no such collection; everything else in it is our own doing."""
    return [each["loc"][-1] for each in refused.errors] == ["collection"]


def _still_open(use: ArtifactUse) -> ArtifactUse:
    if selectors.is_over(selectors.ends_at(use)):
        raise ArtifactUseExpired
    return use


def _record(use: UseIdentity, signal: Signal, dedupe_key: str | None) -> RecordInput:
    content = signal_content(use, signal)
    return RecordInput(
        collection=COLLECTION,
        entity=use.entity,
        type=signal.kind,
        text=content["text"],
        content=content,
        derived_from=() if use.snapshot_id is None else (use.snapshot_id,),
        dedupe_key=dedupe_key,
    )


def _checked(feedback: Submission | Mapping[str, Any]) -> Submission:
    if isinstance(feedback, Submission):
        return feedback
    try:
        return Submission.model_validate(feedback)
    except ValidationError as error:
        raise RequestSchema.of(validation_failed(error)) from None
