"""Which model answers, and models made of a function for tests and offline use."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from artifacts import conf

WORDS = re.compile(r"\S+\s*|\s+")

Respond = Callable[[list[ModelMessage], AgentInfo], ModelResponse | Awaitable[ModelResponse]]


def chosen_model() -> str | None:
    """The model that the host's settings name, or None to leave it to the agent."""
    return conf.settings().MODEL


def function_model(respond: Respond, *, name: str = "scripted") -> FunctionModel:
    """A model that answers with what `respond` returns, whole or streamed word by word."""

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        response = respond(messages, info)
        return await response if inspect.isawaitable(response) else response

    async def stream(
        messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        response = await answer(messages, info)
        for index, part in enumerate(response.parts):
            if isinstance(part, TextPart):
                for word in WORDS.findall(part.content):
                    yield word
            elif isinstance(part, ToolCallPart):
                yield {
                    index: DeltaToolCall(
                        name=part.tool_name,
                        json_args=part.args_as_json_str(),
                        tool_call_id=part.tool_call_id,
                    )
                }

    return FunctionModel(answer, stream_function=stream, model_name=name)
