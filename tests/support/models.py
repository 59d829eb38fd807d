"""Scripted models and agents for tests: what a model says is a list of steps, and nothing else.

`hosting(agent)` makes an agent the installation's default for a block.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.test import override_settings
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.support.kinds import Board, Paper
from threads.agent import ArtifactWorkspace, Hosted, Session, function_model

PATIENCE = 120

Step = ModelResponse | Callable[[list[ModelMessage]], Any]

_hosted: Hosted | None = None


def say(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def call(tool_name: str, **args: Any) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(tool_name, args)])


class Script:
    """A model that takes its steps one by one, and remembers what it was sent."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[list[ModelMessage]] = []

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(list(messages))
        step = self.steps.pop(0)
        if isinstance(step, ModelResponse):
            return step
        result = step(messages)
        found: ModelResponse = await result if asyncio.iscoroutine(result) else result
        return found

    @property
    def model(self) -> FunctionModel:
        return function_model(self)

    def prompts(self, request: int) -> list[str]:
        """The user prompts of a request, each text of its own."""
        found: list[str] = []
        for message in self.requests[request]:
            if isinstance(message, ModelRequest):
                for part in message.parts:
                    if part.part_kind == "user-prompt":
                        content = part.content
                        found += [content] if isinstance(content, str) else map(str, content)
        return found


class Gate:
    """A step at which a turn waits until the test lets it go on."""

    def __init__(self, then: ModelResponse) -> None:
        self.then = then
        self.reached, self.opened = threading.Event(), threading.Event()

    async def __call__(self, messages: list[ModelMessage]) -> ModelResponse:
        self.reached.set()
        assert await asyncio.to_thread(self.opened.wait, PATIENCE), "nobody opened the gate"
        return self.then


def agent_with(model: Model, **kwargs: Any) -> Agent[Any, Any]:
    """An agent that works on the tests' kinds."""
    kwargs.setdefault("capabilities", [ArtifactWorkspace(types=[Paper, Board])])
    return Agent(model, deps_type=Session, **kwargs)


def hosted() -> Hosted:
    """What the setting names."""
    assert _hosted is not None, "no agent is hosted"
    return _hosted


@contextmanager
def hosting(
    agent: Agent[Any, Any] | Script | Hosted, *, app: Any = None, **changed: Any
) -> Iterator[None]:
    """Answer with this agent inside the block, in every thread of the process."""
    global _hosted
    if isinstance(agent, Script):
        agent = agent_with(agent.model)
    before, _hosted = _hosted, agent if isinstance(agent, Hosted) else Hosted(agent, app)
    ours = {**settings.ARTIFACTR, "AGENTS": {"default": f"{__name__}.hosted"}, **changed}
    try:
        with override_settings(ARTIFACTR=ours):
            yield
    finally:
        _hosted = before
