"""A run that its host drives itself: `agent.run(…, deps=Session.start(workspace, thread_id))`.

The log, the history and the claim on the thread are those of any other turn, and so is what cuts
it short; only who calls the agent differs, and that nobody takes it again should the process die.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext

from artifacts import core, telemetry
from artifacts.core.events import AnyFact
from artifacts.pool import at_all_events, in_pool
from artifacts.workspace import LeaseLost, Workspace
from threads.services import openings, steps, turns, watching
from threads.services.endings import Ending
from threads.services.watching import Why

from . import history, pauses
from .attempt import Attempt, counted
from .failures import failed
from .forward import NullChannel
from .session import own_runs_with
from .tool_threads import ToolThreads
from .turn import end, settle


class OwnTurn:
    """The port of such a run; its attempt is there from when the agent runs."""

    def __init__(self, workspace: Workspace, thread_id: str) -> None:
        self._workspace, self.thread_id = workspace, thread_id
        assert isinstance(workspace.actor, core.AgentActor)
        self.actor = workspace.actor
        self.live = NullChannel()
        self._attempt: Attempt | None = None

    @property
    def workspace(self) -> Workspace:
        """Once the run has begun, what is written through it needs the claim, also afterwards."""
        return self._workspace if self._attempt is None else self._attempt.workspace

    async def around(
        self, ctx: RunContext[Any], handler: Callable[[], Awaitable[AgentRunResult[Any]]]
    ) -> AgentRunResult[Any]:
        if self._attempt is not None:  # an agent that a tool runs
            return await handler()
        held = ExitStack()
        claimed = turns.claimed(self._workspace, self.thread_id)
        try:
            claim = await in_pool(held.enter_context, claimed)
            if claim is None:
                raise core.InvalidState("another turn of this thread is going on")
            await in_pool(settle, claim, self.thread_id)
            turn = await in_pool(openings.own_turn, claim, self.thread_id, self.actor)
            await in_pool(steps.start, turn, telemetry.current().trace_id)
            calls = history.open_calls_of(turn.history)
            self._attempt = Attempt(turn, self.live, id=ctx.run_id, open_calls=calls)
            cutting = Cutting(ctx, turn)
            with watching.watched(cutting):
                claim.when_lost(lambda: cutting.cancel("lost"))
                return await self._run(ctx, self._attempt, handler)
        finally:
            # A claim is renewed until it is let go, so nothing may keep it from that.
            await at_all_events(held.close)

    async def _run(
        self,
        ctx: RunContext[Any],
        attempt: Attempt,
        handler: Callable[[], Awaitable[AgentRunResult[Any]]],
    ) -> AgentRunResult[Any]:
        with capture_run_messages() as messages, Agent.using_thread_executor(ToolThreads()):
            try:
                result = await handler()
                ending = pauses.ending_of(result.output)
            except LeaseLost:
                raise  # whoever holds the thread now says what became of the run
            except BaseException as error:
                is_cut = isinstance(error, asyncio.CancelledError)
                await self._end(
                    ctx, attempt, Ending("stopped") if is_cut else failed(error), messages
                )
                raise
            await self._end(ctx, attempt, ending, messages)
        return result

    async def _end(
        self,
        ctx: RunContext[Any],
        attempt: Attempt,
        ending: Ending,
        messages: list[ModelMessage],
    ) -> None:
        used = replace(ending, usage=counted(ctx.usage))
        await at_all_events(end, attempt.turn, attempt, used, list(messages))

    async def record(self, fact: AnyFact) -> None:
        await self._going_on.record(fact)

    async def before_request(
        self, ctx: RunContext[Any], request: ModelRequestContext, *, notices: bool = False
    ) -> ModelRequestContext:
        return await self._going_on.before_request(ctx, request, notices=notices)

    async def may_execute(self, call: ToolCallPart) -> None:
        await self._going_on.may_execute(call)

    async def tool_called(
        self, ctx: RunContext[Any], call: ToolCallPart, fact: core.ToolCalled
    ) -> None:
        await self._going_on.tool_called(ctx, call, fact)

    async def tool_returned(
        self, ctx: RunContext[Any], call: ToolCallPart, fact: core.ToolReturned, content: Any
    ) -> None:
        await self._going_on.tool_returned(ctx, call, fact, content)

    @property
    def _going_on(self) -> Attempt:
        if self._attempt is None:
            raise core.InvalidState("this run has not begun, or its agent has no ArtifactWorkspace")
        return self._attempt


class Cutting:
    """What cuts such a run short: a stop that somebody asked for, or the loss of its claim.

    Whoever called the agent gets `RunCancelled`. That the process ends is its host's own affair.
    """

    def __init__(self, ctx: RunContext[Any], turn: openings.Turn) -> None:
        self.key = turn.workspace.pk, turn.run_id
        self._ctx, self._loop = ctx, asyncio.get_running_loop()

    def cancel(self, why: Why) -> None:
        if why != "handed_over":
            with suppress(RuntimeError):  # its loop is closed
                self._loop.call_soon_threadsafe(self._ctx.cancel)


own_runs_with(OwnTurn)
