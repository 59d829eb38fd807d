"""A turn cut short at every point at which it waits: what is stored can always be gone on with."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)

from artifacts import core
from tests.support.models import Script, agent_with, hosting, say
from tests.support.racing import Background
from tests.support.sites import wait_until
from tests.threads.conftest import Chat
from threads import models
from threads.agent import loop, running

MOST = 400  # waits of one turn; it has far fewer


class Counted(Coroutine[Any, Any, Any]):
    """A coroutine that tells each time it waits."""

    def __init__(self, inner: Coroutine[Any, Any, Any], waits: Callable[[], None]) -> None:
        self._inner, self._waits = inner, waits

    def send(self, value: Any) -> Any:
        waited_for = self._inner.send(value)
        self._waits()
        return waited_for

    def throw(self, *error: Any) -> Any:
        waited_for = self._inner.throw(*error)
        self._waits()
        return waited_for

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Any:
        return self._inner.__await__()


@contextmanager
def cut_at(wait: int) -> Iterator[Callable[[], bool]]:
    """Stop the one turn of the block as it waits for this time, in any of its tasks."""
    agents = loop._running()
    count, cut, turns = 0, threading.Event(), list[running.Running]()

    def waits() -> None:
        nonlocal count
        if not turns:  # it cannot be cut short before it is there
            return
        count += 1
        if count == wait:
            cut.set()
            turns[0].cancel("stopped")

    def factory(on: asyncio.AbstractEventLoop, inner: Any, **kwargs: Any) -> asyncio.Task[Any]:
        return asyncio.Task(Counted(inner, waits), loop=on, **kwargs)

    class Noted(running.Running):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            turns.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("threads.agent.turn.Running", Noted)
        agents.call_soon_threadsafe(agents.set_task_factory, factory)
        try:
            yield cut.is_set
        finally:
            agents.call_soon_threadsafe(agents.set_task_factory, None)


def write(ctx: RunContext[Any]) -> str:
    ctx.deps.workspace.commit(core.CreateArtifact(kind="paper", data={"text": "One"}))
    return "written"


def two_calls() -> ModelResponse:
    return ModelResponse(
        parts=[ToolCallPart("list_artifacts", {}, "c1"), ToolCallPart("write", {}, "c2")]
    )


def check_history(chat: Chat) -> None:
    """Each call has one answer after it, and each answer its call."""
    segments = models.HistorySegment.objects.filter(thread__public_id=chat.id).order_by("number")
    unanswered: Counter[str] = Counter()
    for segment in segments:
        assert segment.usable
        for message in ModelMessagesTypeAdapter.validate_json(bytes(segment.data)):
            if isinstance(message, ModelResponse):
                assert not +unanswered, f"{segment.number}: a response before all answers"
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    unanswered[part.tool_call_id] += 1
                elif isinstance(part, ToolReturnPart):
                    unanswered[part.tool_call_id] -= 1
                    assert unanswered[part.tool_call_id] >= 0, "an answer without its call"
    assert not +unanswered, "a call without an answer"


@pytest.mark.parametrize("first", [1, 2, 3])
def test_it_is_stopped_whole_wherever_it_waits(open_chat: Callable[[], Chat], first: int) -> None:
    """Each third of the places by itself, as there are many."""
    statuses: Counter[str] = Counter()
    for wait in range(first, MOST, 3):
        chat = open_chat()
        chat.post("Begin")
        script = Script(two_calls(), say("Done."))
        with hosting(agent_with(script.model, tools=[write])), cut_at(wait) as was_cut:
            Background(chat.run_turn).result()
            if not was_cut():
                break
            wait_until(lambda: not asyncio.all_tasks(loop._running()))  # nothing is left behind
        (run,) = chat.runs()
        statuses[run.status] += 1
        check_history(chat)
        tools = chat.events(core.ToolCalled, core.ToolReturned)
        facts = [each for each in tools if each.thread_id == chat.id]
        assert all(a.type != b.type for a, b in pairwise(facts)), (wait, facts)

        chat.post("And now?")
        after = Script(say("Fine."))
        with hosting(after):
            Background(chat.run_turn).result()
        assert chat.said()[-1] == "Fine.", f"unusable after wait {wait}"
        assert after.prompts(0)[-1] == "And now?"
        check_history(chat)
    else:
        raise AssertionError("it waits without end")
    assert statuses["stopped"] > 10, statuses
    assert chat.workspace.verify() == []
