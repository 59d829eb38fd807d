"""One turn, from claim to hand-over: the agent runs between `openings` and `endings`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage

from artifacts import conf, core, telemetry
from artifacts.pool import replace_dead_connections
from artifacts.workspace import LeaseLost, open_workspace
from threads.services import endings, leases, openings, steps, turns, watching
from threads.services.endings import Ending
from threads.services.live import RunLive, open_run

from . import agents, history, pauses
from .attempt import Attempt
from .failures import explained, failed
from .instructions import instructed
from .running import Running
from .session import Session

log = logging.getLogger(__name__)


def take_turn(workspace_id: str, thread_id: str) -> None:
    """Do what waits in a thread, unless somebody else is at it."""
    if watching.is_draining():
        turns.wake_thread(workspace_id, thread_id)  # somebody else, who takes it at once
        return
    workspace = open_workspace(workspace_id, actor=turns.SYSTEM)
    with turns.claimed(workspace, thread_id) as claim:
        if claim is None:
            return
        try:
            settle(claim, thread_id)
            turn = openings.next_turn(claim, thread_id)
            if turn is not None:
                _take(turn)
        except LeaseLost:
            # Whoever holds the thread now records what became of its run.
            log.warning("the claim on thread %s was lost", thread_id, exc_info=True)
            return
    turns.hand_over(workspace, thread_id)


def settle(claim: leases.Claim, thread_id: str) -> None:
    """End what a dead process left, or what stops while it is paused."""
    left = endings.leftover(claim, thread_id)
    if left is not None:
        closing = history.closing_of(
            left.history, in_doubt=left.in_doubt, keeps_open=left.keeps_open
        )
        endings.settle(claim, left, closing)


def _take(turn: openings.Turn) -> None:
    """One attempt, in a span of its own that goes on with the trace of whoever asked."""
    place = telemetry.about(turn.workspace, thread_id=turn.thread.id, run_id=turn.run_id)
    with telemetry.span("artifactr.turn", place, parent=turn.traceparent) as span:
        steps.start(turn, telemetry.current().trace_id)
        for fact in pauses.returns_of(turn):
            turn.workspace.record(fact)
        live = open_run(turn.workspace, turn.run_id)
        attempt = Attempt(turn, live, open_calls=history.open_calls_of(turn.history))
        try:
            ended = _ended(turn, attempt, live)
        finally:
            live.close()
        span.set_attribute("artifactr.turn.status", ended.status)
        if ended.reason is not None:
            span.set_attribute("artifactr.turn.reason", ended.reason)
        _tell(span, ended)


def _ended(turn: openings.Turn, attempt: Attempt, live: RunLive) -> endings.Ended:
    """Run the agent in the host's context, and write how that ended."""
    try:
        hosted = agents.hosted(turn.thread.agent)
    except Exception as error:
        log.exception("run %s has no agent", turn.run_id)
        return end(turn, attempt, failed(error))
    session = Session(turn.thread.id, turn.run_id, hosted.app, attempt)
    with _host_context(session) as refused:
        if refused is not None:
            return end(turn, attempt, failed(refused))
        with instructed(hosted, session) as told:
            if told.refused is not None:
                return end(turn, attempt, failed(told.refused))
            running = Running(attempt, hosted, session, told.text)
            with watching.watched(running):
                turn.claim.when_lost(lambda: running.cancel("lost"))
                ending = running.wait()
            replace_dead_connections()  # while the agent was at work, ours had nothing to do
            live.close()  # what was sent can be watched before the log says that it is over
        return end(turn, attempt, ending, list(running.messages))


def end(
    turn: openings.Turn, attempt: Attempt, ending: Ending, messages: Sequence[ModelMessage] = ()
) -> endings.Ended:
    """Write how an attempt ended; what the log refuses to hold ends it with that reason."""
    attempt.close()
    ending = pauses.in_all(turn, ending)
    asked = [each.tool_call_id for each in ending.requests]
    try:
        return endings.end(
            turn, replace(ending, piece=attempt.rest(messages, asked)), attempt.taken
        )
    except LeaseLost:
        raise
    except core.Rejection as error:
        log.warning("run %s ended with what is refused", turn.run_id, exc_info=True)
        reason, sentence = explained(error)
        refused = Ending("failed", reason=reason, error=sentence, usage=ending.usage)
        return endings.end(turn, replace(refused, piece=attempt.rest(messages)), attempt.taken)


@contextmanager
def _host_context(session: Session[Any]) -> Iterator[Exception | None]:
    """What the host puts around a turn; gives why that failed, should it."""
    make = conf.function("TURN_CONTEXT")
    if make is None:
        yield None
        return
    try:
        context = make(session)
        context.__enter__()
    except Exception as error:
        log.exception("TURN_CONTEXT failed before run %s", session.run_id)
        yield error
        return
    try:
        yield None
    finally:
        # By now the turn has ended and is written; nothing in here may undo that.
        try:
            context.__exit__(None, None, None)
        except Exception:
            log.exception("TURN_CONTEXT failed after run %s", session.run_id)


def _tell(span: Any, ended: endings.Ended) -> None:
    """Call the host's functions with a turn that ended; what they raise is noted and no more."""
    for path, tell in conf.functions("TURN_ENDED"):
        try:
            tell(ended)
        except Exception as error:
            telemetry.note_error(span, error)
            log.exception("%s failed with run %s", path, ended.run_id)
