"""The agent at work on a turn: it runs on the process's one loop, and is waited for and cut short
from outside of it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent, UsageLimits, capture_run_messages
from pydantic_ai.messages import ModelMessage, ModelResponse, UserContent
from pydantic_ai.usage import RunUsage

from artifacts import conf, core
from artifacts.workspace import LeaseLost
from threads.services.endings import Ending
from threads.services.openings import Turn
from threads.services.watching import Why

from . import agents, history, loop, pauses
from .attempt import Attempt, counted, workspace_changes
from .bounds import bounded
from .failures import TurnStuck, failed
from .forward import forward_live
from .models import chosen_model
from .session import Session
from .tool_threads import ToolThreads

log = logging.getLogger(__name__)

# After its own limit a turn is cancelled; by then it has ended, or something on its loop is stuck.
GRACE_SECONDS = 30.0
# What is cut short may finish its statement in flight; what takes longer is left behind.
CUT_SECONDS = 5.0
# Besides every `Exception`; what else there is ends the process, and the turn is taken again.
RAISED_BY_TOOLS = (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)


class Running:
    """One attempt, from its first request to its ending."""

    def __init__(
        self,
        attempt: Attempt,
        hosted: agents.Hosted,
        session: Session[Any],
        instructions: str | None = None,
    ) -> None:
        self.attempt, self.hosted, self.session = attempt, hosted, session
        self.instructions = instructions  # besides the agent's own
        self.messages: list[ModelMessage] = []  # of the agent's run, as far as it got
        self.usage = RunUsage()
        self._changed = threading.Condition()
        self._why: Why | None = None
        self._until = time.monotonic() + conf.settings().TURN_SECONDS + GRACE_SECONDS
        self._work = loop.submit(self._run())
        self._work.done.add_done_callback(self._notice)

    @property
    def key(self) -> tuple[int, str]:
        return self.session.workspace.pk, self.session.run_id

    def cancel(self, why: Why) -> None:
        """Cut it short; the first reason counts, unless the claim is lost."""
        with self._changed:
            if self._why is not None and why != "lost":
                return
            self._why = why
            self._until = min(self._until, time.monotonic() + CUT_SECONDS)
            self._changed.notify_all()
        self._work.cancel()

    def wait(self) -> Ending:
        """How it ended, or that it did not: a tool may swallow its cancellation, or block."""
        with self._changed:
            while not self._work.done.done():
                left = self._until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
        ending = self._of_work() if self._work.done.done() else self._left_behind()
        return replace(ending, usage=counted(self.usage))

    def _notice(self, _: Future[Ending]) -> None:
        with self._changed:
            self._changed.notify_all()

    def _of_work(self) -> Ending:
        try:
            return self._work.done.result()
        except LeaseLost:
            raise
        except loop.Cancelled as error:  # before it began
            log.warning("run %s was cancelled: %s", self.session.run_id, self._why)
            return self._cut() or failed(error)

    def _left_behind(self) -> Ending:
        log.error("run %s does not end; it is left behind", self.session.run_id)
        self._work.cancel()
        if loop.is_stuck(self._work.loop, within_seconds=1.0):
            loop.leave_behind(self._work.loop)
        return self._cut() or failed(TurnStuck())

    def _cut(self) -> Ending | None:
        """The ending of what was cut short."""
        match self._why:
            case "lost":
                raise LeaseLost(f"the claim of run {self.session.run_id} was lost")
            case "stopped":
                return Ending("stopped")
            case "handed_over":
                return Ending("abandoned")
        return None

    async def _run(self) -> Ending:
        """Run the agent; whatever happens, there is an ending."""
        tools = ToolThreads()
        with capture_run_messages() as self.messages, Agent.using_thread_executor(tools):
            try:
                return pauses.ending_of(await self._output())
            except LeaseLost:
                raise
            except (Exception, *RAISED_BY_TOOLS) as error:
                await self.attempt.leave_tasks()
                await tools.ended()
                cut = self._cut()
                if cut is not None:
                    return cut
                log.exception("run %s failed", self.session.run_id)
                return failed(error)

    async def _output(self) -> Any:
        turn, settings = self.attempt.turn, conf.settings()
        messages, results = _history(turn)
        with Agent.parallel_tool_call_execution_mode("sequential"):
            result: Any = await self.hosted.agent.run(
                _prompt(turn) or None,
                message_history=messages,
                deferred_tool_results=results,
                instructions=self.instructions,
                deps=self.session,
                model=chosen_model(),
                # The thread is the conversation; a run of ours may be several of pydantic-ai's.
                conversation_id=turn.thread.id,
                run_id=self.attempt.id,
                usage=self.usage,
                usage_limits=UsageLimits(
                    request_limit=settings.TURN_REQUESTS,
                    tool_calls_limit=settings.TURN_TOOL_CALLS,
                ),
                timeout=settings.TURN_SECONDS,
                event_stream_handler=bounded(
                    forward_live(self.attempt.live, first_part=_parts_before(turn))
                ),
            )
        return result.output


def _history(turn: Turn) -> tuple[list[ModelMessage], Any]:
    """What is remembered, and the answers to the calls that it ends with."""
    if turn.resumption is not None:
        messages = history.unpacked(turn.history, keeps_open=True)
        results = pauses.results_of(turn.resumption, history.open_calls(messages))
        if results is not None:
            return messages, results
    return history.unpacked(turn.history), None


def _prompt(turn: Turn) -> list[UserContent]:
    """What changed since the thread last looked, what an earlier attempt did, and what was said."""
    prompt: list[UserContent] = [workspace_changes(turn.notes)] if turn.notes else []
    if turn.retold:
        prompt.append(turn.retold)
    said = (each.event for each in turn.messages)
    return [*prompt, *(each.content for each in said if isinstance(each, core.MessagePosted))]


def _parts_before(turn: Turn) -> int:
    """How many parts the run has shown its watchers before it paused."""
    shown = history.unpacked(turn.own_history, keeps_open=True)
    return sum(len(each.parts) for each in shown if isinstance(each, ModelResponse))
