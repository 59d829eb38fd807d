"""An agent for test servers whose stream waits in the middle, until the test lets it go on.

The message names a file; the stream goes on once it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from pydantic_ai import Agent, CustomEvent, RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from tests.support.kinds import Paper
from threads.agent import ArtifactDraft, ArtifactWorkspace, Session

PATIENCE_SECONDS = 120


@dataclass(kw_only=True)
class Progress(CustomEvent, name="e2e.progress"):
    done: int


async def draw(ctx: RunContext[Session[None]], upto: int) -> str:
    """Show a draft that grows."""
    for number in range(1, upto + 1):
        await ctx.emit(Progress(done=number))
        await ctx.emit(ArtifactDraft(kind="paper", snapshot={"text": "x" * number}))
    return "drawn"


async def stream(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    requests = [part for each in messages if isinstance(each, ModelRequest) for part in each.parts]
    if not any(isinstance(part, ToolReturnPart) for part in requests):
        yield {0: DeltaToolCall("draw", '{"upto":', tool_call_id="call_1")}
        yield {0: DeltaToolCall(json_args="2}")}
        return
    yield "One "
    yield "two "
    (asked,) = [part for part in requests if isinstance(part, UserPromptPart)]
    await _there(Path(settings.STATE_DIR) / str(asked.content[0]))
    yield "three."


async def _there(file: Path) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await asyncio.to_thread(file.exists):  # noqa: ASYNC110 - made elsewhere
            await asyncio.sleep(0.02)


agent: Agent[Any, Any] = Agent(
    FunctionModel(stream_function=stream),
    deps_type=Session,
    tools=[draw],
    capabilities=[ArtifactWorkspace(types=[Paper])],
)
