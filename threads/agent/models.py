"""Which model answers, and models made of a function for tests and offline use."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)

from artifacts import conf

PIECES = re.compile(r"\S+\s*|\s+")
ARGS_CHARS = 40  # of a tool's arguments that are streamed at once

Respond = Callable[[list[ModelMessage], AgentInfo], ModelResponse | Awaitable[ModelResponse]]
Piece = str | DeltaToolCalls | DeltaThinkingCalls


def chosen_model() -> Model | None:
    """The model that the host's settings name, or None to leave it to the agent."""
    name = conf.settings().MODEL
    return None if name is None else named(name)


@cache
def named(name: str) -> Model:
    """One model and so one client of its provider for each name, however many turns there are."""
    try:
        return infer_model(name)
    except ImportError as error:
        raise UserError(f"the model {name!r} needs a package that is not installed") from error


def function_model(
    respond: Respond, *, name: str = "scripted", pace_seconds: float = 0.0
) -> FunctionModel:
    """A model that answers with what `respond` returns, whole or streamed word by word.

    Runs of a thread are streamed. With `pace_seconds` between the pieces, people can watch.
    """

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        response = respond(messages, info)
        return await response if inspect.isawaitable(response) else response

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Piece]:
        response = await answer(messages, info)
        is_empty = True
        for place, part in enumerate(response.parts):
            for piece in _pieces(place, part):
                is_empty = False
                yield piece
                if pace_seconds:
                    await asyncio.sleep(pace_seconds)
        if is_empty:  # a stream has at least one item
            yield ""

    return FunctionModel(answer, stream_function=stream, model_name=name)


def _pieces(place: int, part: ModelResponsePart) -> list[Piece]:
    match part:
        case TextPart(content=content):
            return list(PIECES.findall(content))
        case ThinkingPart(content=content):
            return [{place: DeltaThinkingPart(content=word)} for word in PIECES.findall(content)]
        case ToolCallPart():
            args = part.args_as_json_str()
            cuts = range(ARGS_CHARS, len(args), ARGS_CHARS)
            first = DeltaToolCall(part.tool_name, args[:ARGS_CHARS], tool_call_id=part.tool_call_id)
            rest = [DeltaToolCall(json_args=args[at : at + ARGS_CHARS]) for at in cuts]
            return [{place: each} for each in (first, *rest)]
    return []
