"""`ArtifactWorkspace`: the capability that makes a pydantic-ai agent work on shared artifacts.

It gives the agent the generic tools and says what it follows, records each tool call and return in
the log, and turns what the workspace refuses into something the model can act on. It keeps nothing
between runs: what a run needs stands in its `Session`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from artifacts import conf, core
from artifacts.pool import in_pool
from artifacts.workspace import LeaseLost

from . import asking, focus
from .calls import LoggedCall, logged_id
from .failures import RequestTimedOut, ToolCrashed
from .repairs import refusal
from .session import Session
from .showing import SHOWN_CHARS
from .tools import GenericTools
from .unstreamed import streaming

__all__ = ["ArtifactWorkspace", "logged_id"]

log = logging.getLogger(__name__)

TOOL_RETRIES = 3

Context = RunContext[Session[Any]]


@dataclass
class ArtifactWorkspace(AbstractCapability[Session[Any]]):
    """Work on artifacts of these types; the generic tools refuse every other."""

    types: Sequence[type[core.Artifact]] = ()
    ask: bool | None = None
    """Give it `ask_user`, which pauses the run; by default to agents whose output can pause."""
    notices: bool = False
    """Tell it of others' notices in its thread, as of changes."""
    listed: int = 100
    """Artifacts that one listing shows."""
    shown_chars: int = SHOWN_CHARS
    """Characters of one artifact that are shown."""
    followed: int = 30
    """Artifacts it follows that are named in its instructions, of more the newest."""

    @classmethod
    def of(cls, agent: AbstractAgent[Any, Any]) -> Self | None:
        """The capability of this agent, if it has one."""
        found: list[AbstractCapability[Any]] = []
        agent.root_capability.apply(found.append)
        return next((each for each in found if isinstance(each, cls)), None)

    def for_agent(self, agent: AbstractAgent[Session[Any], Any]) -> ArtifactWorkspace:
        if self.ask is not None:
            return self
        return replace(self, ask=asking.can_pause(agent.output_type))

    def get_toolset(self) -> FunctionToolset[Session[Any]]:
        generic = GenericTools(
            {each.artifact_kind: each for each in self.types},
            most_listed=self.listed,
            most_chars=self.shown_chars,
        )
        toolset = FunctionToolset[Session[Any]](generic.all(), max_retries=TOOL_RETRIES)
        if self.ask:
            toolset.add_tool(asking.question_tool())
        return toolset

    def get_instructions(self) -> Any:
        return self._instructions

    async def _instructions(self, ctx: Context) -> str:
        """Fresh for each request, from names and numbers alone: what people wrote stays out."""
        session = ctx.deps
        now = await in_pool(
            focus.followed, session.workspace, session.thread_id, most=self.followed
        )
        lines = [
            "You work with people on shared artifacts. Every change you make is logged as yours.",
            *(
                f"- kind {each.artifact_kind}: {', '.join(each.model_fields)}"
                for each in self.types
            ),
        ]
        if now.mode == "suggest":
            lines.append("This thread is in suggest mode: every change becomes a proposal.")
        if now.shown:
            lines.append("You follow these artifacts:")
            lines += [f"- {id} ({kind}, version {version})" for id, kind, version in now.shown]
        if now.more:
            lines.append(f"- and {now.more} more")
        return "\n".join(lines)

    async def wrap_run(self, ctx: Context, *, handler: Any) -> AgentRunResult[Any]:
        return await ctx.deps.turn.around(ctx, handler)

    async def before_model_request(
        self, ctx: Context, request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if request_context.streaming:
            request_context.model = streaming(request_context.model)
        turn = ctx.deps.turn
        return await turn.before_request(ctx, request_context, notices=self.notices)

    async def wrap_model_request(
        self, ctx: Context, *, request_context: ModelRequestContext, handler: Any
    ) -> ModelResponse:
        limit = asyncio.timeout(conf.settings().REQUEST_SECONDS)
        try:
            async with limit:
                response: ModelResponse = await handler(request_context)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise RequestTimedOut from error
        return response

    async def wrap_tool_execute(
        self,
        ctx: Context,
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Any,
    ) -> Any:
        if asking.is_question(tool_def):
            return await handler(args)
        return await LoggedCall(ctx, call).execute(handler, args)

    async def on_tool_execute_error(
        self,
        ctx: Context,
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        error: Exception,
    ) -> Any:
        if isinstance(error, LeaseLost):
            raise error
        if isinstance(error, core.Rejection | core.Unavailable):
            raise await refusal(ctx.deps, error, args) from error
        log.error("tool %s failed", call.tool_name, exc_info=error)
        raise ToolCrashed(call.tool_name) from error
