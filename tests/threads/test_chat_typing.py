"""`manage.py chat` at a keyboard: what is typed while the agent works, and text as it comes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from queue import Queue
from typing import Any

import pytest
from django.core.management import call_command
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from artifacts import core
from artifacts.workspace import Workspace
from tests.support.cast import BEN
from tests.support.models import PATIENCE, Gate, Script, agent_with, call, hosting, say
from tests.support.racing import Background
from tests.support.sites import wait_until
from tests.threads.test_chat import logged
from threads.management.chat.screen import Screen
from threads.management.chat.session import Interrupt


class Keyboard:
    """Where a person types, whatever goes on."""

    waits = False

    def __init__(self) -> None:
        self._keys: Queue[str | type[Interrupt] | None] = Queue()
        self.prompts: list[str] = []

    def type(self, line: str | None) -> None:
        self._keys.put(line)

    def interrupt(self) -> None:
        self._keys.put(Interrupt)

    async def next(self, prompt: Callable[[], str]) -> str | None:
        pressed = await asyncio.to_thread(self._keys.get)
        self.prompts.append(prompt())
        if isinstance(pressed, type):
            raise pressed
        return pressed


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Keyboard:
    made = Keyboard()
    monkeypatch.setattr("threads.management.commands.chat.Lines", lambda: made)
    return made


@contextmanager
def chatting(workspace: Workspace, keyboard: Keyboard) -> Iterator[StringIO]:
    """What is shown; the person leaves at the end of the block."""
    out = StringIO()
    talk = Background(lambda: call_command("chat", workspace.id, stdout=out))
    try:
        wait_until(lambda: "Planning (thr_1)" in out.getvalue())
        yield out
    finally:
        keyboard.type(None)
        talk.result()


class Slow:
    """A model that stops in the middle of its first answer, and then uses a tool."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.requests: list[list[ModelMessage]] = []

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.requests.append(messages)
        if len(self.requests) > 1:
            yield "All done."
            return
        yield "One two"
        assert await asyncio.to_thread(self.opened.wait, PATIENCE), "nobody opened it"
        yield " three."
        yield {1: DeltaToolCall("list_artifacts", "{}", tool_call_id="c1")}

    def told(self) -> list[str]:
        parts = [p for m in self.requests[-1] if isinstance(m, ModelRequest) for p in m.parts]
        return [str(part.content) for part in parts if part.part_kind == "user-prompt"]


def test_text_of_a_run_that_somebody_else_began_is_shown_as_it_comes(
    ana: Workspace, keyboard: Keyboard
) -> None:
    slow = Slow()
    agent = agent_with(FunctionModel(stream_function=slow))
    with hosting(agent, EXECUTOR="threads"), chatting(ana, keyboard) as out:
        ben = ana.as_actor(BEN)
        ben.commit(core.PostMessage(thread_id="thr_1", content="What is there?"))
        wait_until(lambda: "assistant:\nOne two" in out.getvalue())
        assert logged(ana, core.RunEnded) == []
        assert "three" not in out.getvalue()
        slow.opened.set()
        wait_until(lambda: "All done." in out.getvalue())
        wait_until(lambda: bool(logged(ana, core.RunEnded)))
    shown = out.getvalue()
    assert "Ben:\nWhat is there?" in shown
    # What the log tells may overtake text that is on its way.
    assert shown.index("One two") < shown.index(" three.") < shown.index("All done.")
    assert shown.count("All done.") == 1


def test_what_is_typed_while_the_agent_works_steers_it(ana: Workspace, keyboard: Keyboard) -> None:
    slow = Slow()
    agent = agent_with(FunctionModel(stream_function=slow))
    with hosting(agent, EXECUTOR="threads"), chatting(ana, keyboard) as out:
        keyboard.type("What is there?")
        wait_until(lambda: "One two" in out.getvalue())
        keyboard.type("And be quick")
        wait_until(lambda: len(logged(ana, core.MessagePosted)) == 2)
        assert logged(ana, core.RunEnded) == []
        slow.opened.set()
        wait_until(lambda: "All done." in out.getvalue())
        wait_until(lambda: bool(logged(ana, core.RunEnded)))
    assert len(logged(ana, core.RunStarted)) == 1
    assert any("And be quick" in each for each in slow.told())


def test_a_question_that_comes_meanwhile_is_what_the_next_line_answers(
    ana: Workspace, keyboard: Keyboard
) -> None:
    ask = call("ask_user", question="Who hears of it?", choices=["All", "Some"])
    gate = Gate(ask)
    script = Script(gate, say("Fine."))
    agent = agent_with(script.model, output_type=[str, DeferredToolRequests])
    with hosting(agent, EXECUTOR="threads"), chatting(ana, keyboard) as out:
        keyboard.type("Publish it")
        assert gate.reached.wait(PATIENCE)
        gate.opened.set()
        wait_until(lambda: "Who hears of it?" in out.getvalue())
        keyboard.type("2")
        wait_until(lambda: "Fine." in out.getvalue())
    assert keyboard.prompts == ["you> ", "answer> ", "you> "]
    assert [each.answer for each in logged(ana, core.DeferredAnswered)] == ["Some"]
    assert [each.content for each in logged(ana, core.MessagePosted)] == ["Publish it", "Fine."]


def test_ctrl_c_at_the_prompt_stops_what_goes_on_and_leaves_where_nothing_does(
    ana: Workspace, keyboard: Keyboard
) -> None:
    gate = Gate(say("Never said."))
    out = StringIO()
    with hosting(Script(gate), EXECUTOR="threads"):
        talk = Background(lambda: call_command("chat", ana.id, stdout=out))
        keyboard.type("Begin")
        assert gate.reached.wait(PATIENCE)
        keyboard.interrupt()
        wait_until(lambda: "run stopped" in out.getvalue())
        keyboard.interrupt()
        talk.result()
        gate.opened.set()
    assert "Never said." not in out.getvalue()
    assert [each.status for each in logged(ana, core.RunEnded)] == ["stopped"]


def test_a_second_ctrl_c_leaves_at_once(ana: Workspace, keyboard: Keyboard) -> None:
    release = threading.Event()

    async def stubborn(messages: list[ModelMessage]) -> ModelResponse:
        begun.set()
        while not release.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
        return say("Late.")

    begun = threading.Event()
    out = StringIO()
    with hosting(Script(stubborn), EXECUTOR="threads"):
        talk = Background(lambda: call_command("chat", ana.id, stdout=out))
        keyboard.type("Begin")
        assert begun.wait(PATIENCE)
        keyboard.interrupt()
        keyboard.interrupt()
        talk.result()
        release.set()
    assert "Ctrl-C again leaves" in out.getvalue()


def test_where_somebody_types_running_text_comes_by_whole_lines() -> None:
    written: list[str] = []
    screen = Screen(written.append, width=lambda: 12)
    for piece in ["One ", "two ", "three four", " five\nsix", "", "seveneightnineten", " x"]:
        screen.piece(piece)
    assert all(each.endswith("\n") for each in written)
    screen.line("next")
    assert "".join(written) == "One two\nthree four five\nsixseveneigh\ntnineten x\nnext\n"
