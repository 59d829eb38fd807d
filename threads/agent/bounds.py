"""How much a model may say at once: a stream that does not end costs its turn, not the memory."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from pydantic_ai import AgentStreamEvent, RunContext
from pydantic_ai.agent import EventStreamHandler
from pydantic_ai.messages import (
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from artifacts import conf

from .calls import as_text
from .failures import ResponseTooLarge


def bounded(handler: EventStreamHandler[Any]) -> EventStreamHandler[Any]:
    """The handler, and the end of a response that has more than `RESPONSE_CHARS`."""

    async def handle(ctx: RunContext[Any], events: AsyncIterable[AgentStreamEvent]) -> None:
        await handler(ctx, _counted(events, most=conf.settings().RESPONSE_CHARS))

    return handle


async def _counted(
    events: AsyncIterable[AgentStreamEvent], *, most: int
) -> AsyncIterator[AgentStreamEvent]:
    left = most
    async for event in events:
        left -= _chars(event)
        if left < 0:
            raise ResponseTooLarge
        yield event


def _chars(event: AgentStreamEvent) -> int:
    match event:
        case PartDeltaEvent(delta=TextPartDelta() as delta):
            return len(delta.content_delta)
        case PartDeltaEvent(delta=ThinkingPartDelta() as delta):
            return len(delta.content_delta or "")
        case PartDeltaEvent(delta=ToolCallPartDelta() as delta):
            return _chars_of_args(delta.args_delta)
        case PartStartEvent(part=TextPart() | ThinkingPart() as part):
            return len(part.content)
        case PartStartEvent(part=ToolCallPart() as part):
            return _chars_of_args(part.args)
    return 0


def _chars_of_args(args: str | dict[str, Any] | None) -> int:
    return 0 if args is None else len(as_text(args))
