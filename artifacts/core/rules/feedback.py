"""Feedback: a typed judgement of something that exists."""

from __future__ import annotations

from artifacts.core.commands import (
    ArtifactTarget,
    GiveFeedback,
    MessageTarget,
    Target,
    ThreadTarget,
    TurnTarget,
)
from artifacts.core.errors import NotFound
from artifacts.core.events import FeedbackGiven
from artifacts.core.feedback import validated_feedback
from artifacts.core.json_input import check_json
from artifacts.core.outcomes import Recorded
from artifacts.core.state import CommitResult, revision_key

from .case import Case, wanted


def needs_target(target: Target) -> dict[str, set[str]]:
    """What the judged thing hangs on."""
    match target:
        case ArtifactTarget():
            return wanted(artifacts=target.artifact_id)
        case ThreadTarget():
            return wanted(threads=target.thread_id)
        case TurnTarget():
            return wanted(runs=target.run_id)
        case MessageTarget():
            return wanted(messages=target.message_id, threads=target.thread_id, runs=target.run_id)


def give_feedback(case: Case, command: GiveFeedback) -> CommitResult:
    """Log a judgement as its type validated it."""
    check_json(command.value, limits=case.limits, field="value")
    value = validated_feedback(command.feedback_type, command.target.kind, command.value)
    thread_id, run_id = _existing(case, command.target)
    event = FeedbackGiven(
        feedback_type=command.feedback_type,
        target=command.target,
        value=value,
        thread_id=thread_id,
        run_id=run_id,
    )
    return CommitResult(outcome=Recorded(), events=(event,))


def _existing(case: Case, target: Target) -> tuple[str | None, str | None]:
    """The thread and run a target belongs to; a target that is not there is `not_found`."""
    match target:
        case ArtifactTarget():
            # Versions are never skipped, so a version exists if it is not above the head.
            if target.version > case.artifact(target.artifact_id).version:
                raise NotFound("revision", revision_key(target.artifact_id, target.version))
            return None, None
        case ThreadTarget():
            return case.thread(target.thread_id).id, None
        case TurnTarget():
            run = case.run(target.run_id)
            return run.thread_id, run.id
        case MessageTarget():
            case.thread(target.thread_id)
            used = case.state.messages.get(target.message_id, False)
            if used is not True and used != target.thread_id:
                raise NotFound("message", target.message_id)
            if target.run_id is not None:
                case.run_of(target.run_id, target.thread_id)
            return target.thread_id, target.run_id
