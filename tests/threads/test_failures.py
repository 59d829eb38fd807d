"""The worst models: each ends its turn with a reason people can read, and the thread goes on."""

import asyncio
import threading
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse

from artifacts import core
from tests.support.models import Script, agent_with, call, hosting, say
from tests.support.racing import Background
from tests.threads.conftest import Chat
from threads import models
from threads.agent import failures, running

SECRET = "sk-very-secret"


async def raises(messages: list[ModelMessage]) -> ModelResponse:
    raise RuntimeError(f"Traceback with {SECRET}")


async def provider_refuses(messages: list[ModelMessage]) -> ModelResponse:
    raise ModelHTTPError(503, "some-model", {"error": SECRET})


async def hangs(messages: list[ModelMessage]) -> ModelResponse:
    await asyncio.sleep(60)
    raise AssertionError("nobody stopped it")


async def dawdles(messages: list[ModelMessage]) -> ModelResponse:
    await asyncio.sleep(0.4)
    return call("list_artifacts")


WORST: dict[str, tuple[list[Any], str, dict[str, int]]] = {
    "raises": ([raises], "internal_error", {}),
    "provider refuses": ([provider_refuses], "model_failed", {}),
    "hangs": ([hangs], "model_timeout", {"REQUEST_SECONDS": 1}),
    "takes all day": ([dawdles] * 20, "turn_timeout", {"TURN_SECONDS": 1}),
    "loops on tools": ([call("list_artifacts")] * 30, "limit_exceeded", {"TURN_TOOL_CALLS": 5}),
    "loops on requests": ([call("list_artifacts")] * 9, "limit_exceeded", {"TURN_REQUESTS": 5}),
    "calls unknown tools": ([call("launch_rocket")] * 9, "model_misbehaved", {}),
    "sends malformed arguments": ([call("read_artifact", id=[1])] * 9, "model_misbehaved", {}),
    "returns nothing": ([ModelResponse(parts=[])] * 9, "model_misbehaved", {}),
    "returns blanks": ([say("  \n")], "empty_reply", {}),
    "returns NUL": ([say("\0 \0")], "empty_reply", {}),
}


@pytest.mark.parametrize("name", WORST)
def test_it_ends_with_a_reason_and_the_thread_is_usable(chat: Chat, name: str) -> None:
    steps, reason, limits = WORST[name]
    chat.post("Try")
    with hosting(Script(*steps), **limits):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", reason)
    assert ended.error.endswith(".")
    assert models.Run.objects.get().reason == reason
    text = "".join(chat.workspace.read_text())
    assert "Traceback" not in text
    assert SECRET not in text

    chat.post("Again")
    with hosting(Script(say("Fine."))):
        chat.run_turn()
    assert chat.said() == ["Try", "Again", "Fine."]


def test_a_crashing_tool_names_itself(chat: Chat) -> None:
    def lookup(ctx: RunContext[Any]) -> str:
        raise KeyError(SECRET)

    chat.post("Try")
    with hosting(agent_with(Script(call("lookup")).model, tools=[lookup])):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.reason, ended.error) == ("tool_failed", "The tool lookup failed.")
    (returned,) = chat.events(core.ToolReturned)
    assert (returned.status, returned.summary) == ("error", "The tool failed.")
    assert SECRET not in "".join(chat.workspace.read_text())


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


def test_a_reply_that_is_too_long_is_cut(chat: Chat) -> None:
    chat.post("Say much")
    with hosting(Script(say("é" * 100_000))):
        chat.run_turn()
    reply = chat.said()[-1]
    assert len(reply.encode()) <= 65_536
    assert reply.endswith("é …")


def test_a_reply_that_no_message_may_hold_is_cleaned(chat: Chat) -> None:
    chat.post("Say odd things")
    with hosting(Script(say("a\0b\ud800c"))):
        chat.run_turn()
    assert chat.said()[-1] == "ab?c"


def test_every_reason_is_a_code_and_a_sentence() -> None:
    for reason, sentence in failures.REASONS.values():
        assert reason.replace("_", "").isalpha()
        assert sentence[0].isupper()
        assert sentence.endswith(".")
