"""Models that do not stream: a turn asks them plainly, and its watchers see the answer whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import RequestUsage

from artifacts import core
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from threads.agent.unstreamed import streaming
from threads.services.door import watch

STEPS = [
    ModelResponse(parts=[TextPart("I look."), ToolCallPart("list_artifacts", {})]),
    ModelResponse(parts=[TextPart("Nothing yet.")], usage=RequestUsage(output_tokens=7)),
]


class Plain(Model):
    """A model as a host may write one: `request` and no more."""

    def __init__(self, *steps: ModelResponse) -> None:
        super().__init__()
        self.steps = list(steps)

    model_name = "plain"
    system = "test"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: Any,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        return self.steps.pop(0)


def whole_function() -> FunctionModel:
    steps = list(STEPS)

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return steps.pop(0)

    return FunctionModel(respond)


MODELS: dict[str, Callable[[], Any]] = {
    "a function": whole_function,
    "a model of the host's own": lambda: Plain(*STEPS),
    "a wrapped one": lambda: WrapperModel(Plain(*STEPS)),
    "one of several": lambda: FallbackModel(Plain(*STEPS), Script(say("Never asked.")).model),
}


@pytest.mark.parametrize("kind", MODELS)
def test_it_answers_and_can_be_watched(chat: Chat, kind: str) -> None:
    chat.post("What is there?")
    with hosting(agent_with(MODELS[kind]())):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert ended.status == "completed", ended
    assert chat.said()[-1] == "Nothing yet."
    assert [each.status for each in chat.events(core.ToolReturned)] == ["ok"]
    assert ended.usage["requests"] == 2
    assert ended.usage["output_tokens"] >= 7

    async def seen() -> list[Any]:
        return [each async for each in watch(chat.workspace, ended.run_id)]

    frames = async_to_sync(seen)()
    kinds = [each.part_kind for each in frames if each.type == "part_started"]
    assert kinds == ["text", "tool_call", "text"]
    text = "".join(each.delta for each in frames if each.type == "text_delta")
    assert text == "I look.Nothing yet."


def test_a_long_answer_comes_in_frames_of_a_bounded_size(chat: Chat) -> None:
    """Of one that is longer than what is kept, watchers have the end."""
    chat.post("Tell me all")
    with hosting(agent_with(Plain(say("y" * 1_500_000)))):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)

    async def seen() -> list[Any]:
        return [each async for each in watch(chat.workspace, ended.run_id)]

    deltas = [each.delta for each in async_to_sync(seen)() if each.type == "text_delta"]
    assert 500_000 < sum(map(len, deltas)) < 1_500_000
    assert max(map(len, deltas)) <= 16_384


def test_its_failure_is_a_models_failure(chat: Chat) -> None:
    """Nothing about streaming is in the way of the reason."""
    chat.post("What is there?")
    with hosting(agent_with(Plain())):  # it has no answer, and breaks
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "internal_error")
    chat.post("Again")
    with hosting(agent_with(Plain(say("Here.")))):
        chat.run_turn()
    assert chat.said()[-1] == "Here."


def test_what_streams_is_left_as_it_is() -> None:
    model = Script(call("list_artifacts")).model
    assert streaming(model) is model
    wrapped = WrapperModel(model)
    assert streaming(wrapped) is wrapped
