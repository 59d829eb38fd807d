"""Odd tools: whatever one gives or raises, its turn ends with a reason and the thread goes on."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests, RunContext
from pydantic_ai.exceptions import ApprovalRequired

from artifacts import core
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from tests.threads.test_retries import returns
from threads import models
from threads.agent.calls import NO_JSON


class Undescribed:
    def __repr__(self) -> str:
        raise RuntimeError("nor this")


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


NO_JSONS: dict[str, Callable[[], Any]] = {
    "an object": object,
    "what cannot be described": Undescribed,
    "half a character": lambda: "\ud800",
    "half a character inside": lambda: {"\ud800": ["\ud800"]},
    "a circle": circle,
    "what is nested too deep to be written": lambda: nested(5_000),
    "what is nested too deep to be read again": lambda: nested(220),
    "a number too long to be read again": lambda: 10**5_000,
}
JSONS: dict[str, Callable[[], Any]] = {
    "bytes": lambda: {"raw": b"\xff\0"},
    "NUL": lambda: {"a": "\0"},
    "no number": lambda: float("nan"),
    "nothing": lambda: None,
}


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("name", NO_JSONS)
def test_what_is_no_json_is_the_tools_failure(chat: Chat, name: str, is_async: bool) -> None:
    script = Script(call("give"), say("Fine."))
    run_with(chat, giving(NO_JSONS[name], is_async), script)
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "tool_failed")
    (returned,) = chat.events(core.ToolReturned)
    assert (returned.status, returned.summary) == ("error", NO_JSON)
    assert list(goes_on(chat).values()) == [NO_JSON]


@pytest.mark.parametrize("name", JSONS)
def test_other_odd_values_are_told(chat: Chat, name: str) -> None:
    run_with(chat, giving(JSONS[name], True), Script(call("give"), say("Fine.")))
    (ended,) = chat.events(core.RunEnded)
    assert ended.status == "completed"
    assert len(goes_on(chat)) == 1


RAISED: dict[str, BaseException] = {
    "a StopIteration": StopIteration(),
    "an exit": SystemExit(1),
    "a closed generator's": GeneratorExit(),
}


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("name", RAISED)
def test_whatever_a_tool_raises_costs_its_own_turn(chat: Chat, name: str, is_async: bool) -> None:
    def raises() -> None:
        raise RAISED[name]

    run_with(chat, giving(raises, is_async), Script(call("give"), say("Fine.")))
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) in (("failed", "tool_failed"), ("failed", "internal_error"))
    assert models.Run.objects.get().reason == ended.reason
    assert len(goes_on(chat)) == 1


@pytest.mark.parametrize("said", [nested(40), 2**64, "x" * 1_100_000], ids=["deep", "big", "long"])
def test_what_a_tool_says_when_it_asks_is_bounded(chat: Chat, said: Any) -> None:
    async def give(ctx: RunContext[Any]) -> str:
        raise ApprovalRequired(metadata={"about": said})

    run_with(chat, give, Script(call("give"), say("Fine.")))
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "rejected")
    assert len(goes_on(chat)) == 1
    assert chat.workspace.verify() == []


def giving(give_it: Callable[[], Any], is_async: bool) -> Callable[..., Any]:
    async def give(ctx: RunContext[Any]) -> Any:
        return give_it()

    def give_plainly(ctx: RunContext[Any]) -> Any:
        return give_it()

    give_plainly.__name__ = "give"
    return give if is_async else give_plainly


def run_with(chat: Chat, tool: Callable[..., Any], script: Script) -> None:
    chat.post("Go")
    output = [str, DeferredToolRequests]
    with hosting(agent_with(script.model, tools=[tool], output_type=output)):
        chat.run_turn()


def goes_on(chat: Chat) -> dict[str, Any]:
    """Answer the next message; what the model is then told of the calls before."""
    script = Script(say("Again."))
    chat.post("And now?")
    with hosting(script):
        chat.run_turn()
    assert chat.said()[-1] == "Again."
    return returns(script.requests[-1])
