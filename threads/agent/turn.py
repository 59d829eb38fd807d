"""One turn, from claim to hand-over: the agent runs between `turns.begin` and `turns.end`."""

from __future__ import annotations

import logging
import uuid
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, UsageLimits, capture_run_messages
from pydantic_ai.messages import ModelMessage
from pydantic_ai.usage import RunUsage
from pydantic_core import to_json

from artifacts import conf, core
from artifacts.workspace import LeaseLost, open_workspace
from threads.services import turns

from . import agents, history, loop
from .failures import CannotPause, EmptyReply, TurnStuck, explained
from .models import chosen_model
from .session import Session

log = logging.getLogger(__name__)

# After its own limit a turn is cancelled; by then it has ended, or something on its loop is stuck.
GRACE_SECONDS = 30.0


def take_turn(workspace_id: str, thread_id: str) -> None:
    """Answer what waits in a thread, unless somebody else is at it."""
    workspace = open_workspace(workspace_id, actor=turns.SYSTEM)
    with turns.claimed(workspace, thread_id) as claim:
        if claim is None:
            return
        turn = turns.begin(claim, thread_id)
        if turn is not None:
            _run(turn)
    turns.hand_over(workspace, thread_id)


def _run(turn: turns.Turn) -> None:
    try:
        _end(turn, _waited_for(turn))
    except LeaseLost:
        # Whoever holds the thread now records what became of this run.
        log.warning("run %s lost its claim before it ended", turn.run_id)


def _waited_for(turn: turns.Turn) -> turns.Ending:
    """How the agent ended, or that it did not: a tool may swallow its cancellation, or block."""
    work = loop.submit(_answer(turn))
    turn.claim.when_lost(work.cancel)
    try:
        return work.result(conf.settings().TURN_SECONDS + GRACE_SECONDS)
    except CancelledError as error:
        if turn.claim.is_lost:
            raise LeaseLost from error
        return _failed(error)
    except TimeoutError:
        log.exception("run %s does not end; its loop is left behind", turn.run_id)
        work.cancel()
        loop.leave_behind()
        return _failed(TurnStuck())


def _end(turn: turns.Turn, ending: turns.Ending) -> None:
    try:
        turns.end(turn, ending)
    except LeaseLost:
        raise
    except core.Rejection as error:
        reason, sentence = explained(error)
        turns.end(turn, replace(ending, status="failed", reply=None, reason=reason, error=sentence))


async def _answer(turn: turns.Turn) -> turns.Ending:
    """Run the agent; whatever happens, there is an ending."""
    attempt = uuid.uuid4().hex  # pydantic-ai's id of this attempt: a run may have several
    usage = RunUsage()
    with capture_run_messages() as captured:
        try:
            hosted = agents.hosted(turn.thread.agent)
            reply = await _reply(turn, hosted, attempt, usage)
            ending = turns.Ending(status="completed", reply=reply)
        except LeaseLost:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            log.exception("run %s failed", turn.run_id)
            ending = _failed(error)
    return _complete(ending, usage, [each for each in captured if each.run_id == attempt])


def _failed(error: BaseException) -> turns.Ending:
    reason, sentence = explained(error)
    return turns.Ending(status="failed", reason=reason, error=sentence)


async def _reply(turn: turns.Turn, hosted: agents.Hosted, attempt: str, usage: RunUsage) -> str:
    settings = conf.settings()
    with Agent.parallel_tool_call_execution_mode("sequential"):
        result: Any = await hosted.agent.run(
            _prompt(turn),
            message_history=history.unpacked(turn.history),
            deps=Session(turn.workspace, turn.thread.id, turn.run_id, hosted.app),
            model=chosen_model(),
            conversation_id=turn.thread.id,
            run_id=attempt,
            usage=usage,
            usage_limits=UsageLimits(
                request_limit=settings.TURN_REQUESTS, tool_calls_limit=settings.TURN_TOOL_CALLS
            ),
            timeout=settings.TURN_SECONDS,
        )
    output = result.output
    if isinstance(output, DeferredToolRequests):
        raise CannotPause
    reply = output if isinstance(output, str) else to_json(output).decode()
    if not reply.replace("\0", "").strip():
        raise EmptyReply
    return reply


def _prompt(turn: turns.Turn) -> list[str]:
    """What changed since the thread last looked, then what was said, oldest first."""
    notes = [f"<workspace-changes>\n{turn.notes}\n</workspace-changes>"] if turn.notes else []
    return notes + [
        each.event.content for each in turn.messages if isinstance(each.event, core.MessagePosted)
    ]


def _complete(ending: turns.Ending, usage: RunUsage, messages: list[ModelMessage]) -> turns.Ending:
    """The ending with what was used and what the model has to remember."""
    used = {
        "requests": usage.requests,
        "tool_calls": usage.tool_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
    return replace(ending, usage=used, segments=history.packed(messages))
