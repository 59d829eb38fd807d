"""`ArtifactWorkspace`: the capability that makes a pydantic-ai agent work on shared artifacts.

It gives the agent the generic tools and says what it follows, records each tool call and return in
the log, and turns what the workspace refuses into something the model can act on.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry, ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_core import to_json

from artifacts import conf, core
from artifacts.core.values import is_id
from artifacts.pool import in_pool
from threads import selectors

from . import tools
from .failures import RequestTimedOut, ToolCrashed
from .session import Session

log = logging.getLogger(__name__)

SUMMARY_CHARS = 500  # of a tool's arguments or result in the log
TOOL_RETRIES = 3
REPAIRABLE = (core.VersionConflict, core.PatchFailed, core.ValidationFailed)

Context = RunContext[Session[Any]]


@dataclass
class ArtifactWorkspace(AbstractCapability[Session[Any]]):
    """Work on artifacts of these types; the generic tools refuse every other."""

    types: Sequence[type[core.Artifact]] = ()

    def get_toolset(self) -> FunctionToolset[Session[Any]]:
        generic = tools.GenericTools({each.artifact_kind: each for each in self.types})
        return FunctionToolset(generic.all(), max_retries=TOOL_RETRIES)

    def get_instructions(self) -> Any:
        return _instructions

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
        tool = _Tool(ctx.deps, call)
        await tool.called(args)
        try:
            result = await handler(args)
        except (ModelRetry, ToolRetryError) as error:
            await tool.returned("retry", str(error))
            raise
        except (ToolFailed, ToolFailedError) as error:
            await tool.returned("error", str(error))
            raise
        except ToolCrashed:
            await tool.returned("error", "The tool failed.")
            raise
        await tool.returned("ok", result)
        return result

    async def on_tool_execute_error(
        self,
        ctx: Context,
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        error: Exception,
    ) -> Any:
        match error:
            case core.Rejection() if isinstance(error, REPAIRABLE):
                raise ModelRetry(await _with_fresh_state(ctx.deps, error, args)) from error
            case core.Rejection() | core.Unavailable():
                raise ToolFailed(f"{error.code}: {error.message}") from error
        log.error("tool %s failed", call.tool_name, exc_info=error)
        raise ToolCrashed(call.tool_name) from error


@dataclass(frozen=True, slots=True)
class _Tool:
    """One tool call, as the log is told of it."""

    session: Session[Any]
    call: ToolCallPart

    async def called(self, args: dict[str, Any]) -> None:
        await self.session.record(
            core.ToolCalled(
                run_id=self.session.run_id,
                thread_id=self.session.thread_id,
                tool_call_id=logged_id(self.call.tool_call_id),
                tool_name=self.call.tool_name,
                args_summary=_summary(args),
            )
        )

    async def returned(self, status: Any, result: Any) -> None:
        await self.session.record(
            core.ToolReturned(
                run_id=self.session.run_id,
                thread_id=self.session.thread_id,
                tool_call_id=logged_id(self.call.tool_call_id),
                tool_name=self.call.tool_name,
                status=status,
                summary=_summary(result),
            )
        )


def logged_id(tool_call_id: str) -> str:
    """A provider's id of a call in the form the log's ids have, always the same one."""
    if is_id(tool_call_id):
        return tool_call_id
    digest = hashlib.sha256(tool_call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"call_{digest[:32]}"


def _summary(value: Any) -> str:
    """A few characters for people; the whole is in the model's history."""
    text = value if isinstance(value, str) else to_json(value, fallback=repr).decode()
    flat = " ".join(text.replace("\0", "").encode("utf-8", "replace").decode().split())
    return flat if len(flat) <= SUMMARY_CHARS else flat[: SUMMARY_CHARS - 2] + " …"


async def _with_fresh_state(
    session: Session[Any], error: core.ArtifactrError, args: dict[str, Any]
) -> str:
    """What went wrong, and how the artifact in question looks now."""
    told = f"{error.code}: {error.message}"
    artifact_id = getattr(error, "artifact_id", None) or args.get("artifact_id")
    if not isinstance(artifact_id, str):
        return told
    try:
        current = await session.workspace.aartifact(artifact_id)
    except core.Rejection:
        return told
    return f"{told}\nIt is now:\n{tools.shown(current)}"


async def _instructions(ctx: Context) -> str:
    """Fresh for each request, from names and numbers alone: what people wrote stays out of it."""
    thread = await in_pool(selectors.thread, ctx.deps.workspace, ctx.deps.thread_id)
    lines = ["You work with people on shared artifacts. Every change you make is logged as yours."]
    if thread.mode == "suggest":
        lines.append("This thread is in suggest mode: every change becomes a proposal.")
    followed = [await ctx.deps.workspace.aartifact(id) for id in thread.focus]
    if followed:
        lines.append("You follow these artifacts:")
        lines += [f"- {each.id} ({each.kind}, version {each.version})" for each in followed]
    return "\n".join(lines)
