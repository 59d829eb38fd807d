"""What ends a turn from below its model: tools that would end the process, agents not there."""

import asyncio
import threading
from typing import Any

import pytest
from pydantic_ai import RunContext

from artifacts import core
from tests.support.models import Script, agent_with, call, hosting, say
from tests.support.racing import Background
from tests.threads.conftest import Chat
from threads.agent import failures, running


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
@pytest.mark.parametrize("is_async", [True, False])
def test_a_tool_that_would_end_the_process_ends_its_turn(
    chat: Chat, error: type[BaseException], is_async: bool
) -> None:
    async def leave_async(ctx: RunContext[Any]) -> str:
        raise error

    def leave(ctx: RunContext[Any]) -> str:
        raise error

    tool = leave_async if is_async else leave
    chat.post("Try")
    with hosting(agent_with(Script(call(tool.__name__)).model, tools=[tool])):
        Background(chat.run_turn).result()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "internal_error")
    chat.post("Again")
    with hosting(Script(say("Fine."))):
        Background(chat.run_turn).result()
    assert chat.said()[-1] == "Fine."


def test_a_tool_that_never_lets_go_ends_its_turn_and_holds_up_no_other(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    async def block(ctx: RunContext[Any]) -> str:
        go_on.wait(60)
        return "too late"

    monkeypatch.setattr(running, "GRACE_SECONDS", 0.5)
    chat.post("Try")
    with hosting(
        agent_with(Script(call("block"), say("late")).model, tools=[block]), TURN_SECONDS=1
    ):
        Background(chat.run_turn).result()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "turn_timeout")
    chat.post("Again")
    with hosting(Script(say("Fine."))):
        Background(chat.run_turn).result()
    go_on.set()
    assert chat.said() == ["Try", "Again", "Fine."]


def test_an_agent_that_is_not_there_ends_the_turn(chat: Chat) -> None:
    chat.post("Hello?")
    with hosting(Script(), AGENTS={}):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert ended.reason == "agent_unknown"


def test_every_reason_is_a_code_and_a_sentence() -> None:
    for reason, sentence in failures.REASONS.values():
        assert reason.replace("_", "").isalpha()
        assert sentence[0].isupper()
        assert sentence.endswith(".")
